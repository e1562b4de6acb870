# SPDX-License-Identifier: GPL-2.0-or-later
# What the jobs of pid1 share. What must not be goes into failures, each check into checks.

boot=1
# The console is there also where the guest has to be ended.
fail() { echo "boot $boot: $*" | tee -a failures > /dev/console; }
check() { echo "$(cut -d ' ' -f 1 /proc/uptime) boot $boot: $*" | tee -a checks > /dev/console; }
# A minimal Debian has no kmod.
insmod() { run_ok busybox insmod "$@"; }
rmmod() { run_ok busybox rmmod "$@"; }
# expect WHAT FOUND WANTED
expect() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }
# run_ok COMMAND...: its output is kept if it fails.
run_ok() { "$@" > output 2>&1 || fail "$*: $(cat output)"; }
uptime_s() { cut -d . -f 1 /proc/uptime; }
# wait_for SECONDS COMMAND...
wait_for() {
	end=$(($(uptime_s) + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$(uptime_s)" -lt $end ] || { fail "never: $*"; return 1; }
		sleep 0.2
	done
}
# same WHAT FILE: the machine is as it was.
same() {
	hoststate "${2:-before}" 0-3 > diff.out 2>&1 || fail "$1: $(cat diff.out)"
	[ -e /var/lib/irqpath/shield.journal ] && fail "$1: a journal is left"
	check "$1"
}

affinity() { awk '/^Cpus_allowed_list:/ { print $2 }' "/proc/$1/status"; }
main_pid() { systemctl show -p MainPID --value "$1"; }
is_active() { [ "$(systemctl is-active "$1")" = active ]; }
mask() { cat /proc/irq/default_smp_affinity; }
mask_is() { [ "$(mask)" = "$1" ]; }
partition() { cat "/sys/fs/cgroup/system.slice/$1/cpuset.cpus.partition" 2> /dev/null; }
no_drift() { irqpath shield verify -d 100ms > verify.txt 2>&1; }

begin() {
	timeout 100 systemctl is-system-running --wait > running
	[ "$(cat running)" = running ] || fail "$(cat running): $(systemctl --failed --no-legend)"
	check 'systemd is running'
}

# Two containers with CPUs beside one without, and one that is refused. A runtime's part of the job has
# start_container, has_container, container_pid, container_partition and exec_in.
beside_each_other() {
	has_container plain
	hoststate contained
	has_container one 3
	expect 'partition of one' "$(container_partition one)" isolated
	expect 'CPU of one' "$(affinity "$(container_pid one)")" 3
	expect 'CPUs of another container' "$(affinity "$(container_pid plain)")" 0-2
	exec_in one /bin/busybox grep Cpus_allowed_list /proc/self/status > exec.txt 2>&1
	expect 'CPU of a second process of one' "$(awk '{ print $2 }' exec.txt)" 3
	has_container two 2
	expect 'CPU of two' "$(affinity "$(container_pid two)")" 2
	expect 'CPUs of another container, then' "$(affinity "$(container_pid plain)")" 0-1
	start_container three 1 && fail 'a container takes a CPU that it may not have'
	# crun does not say why.
	journalctl -b -t irqpath -o cat | grep -q 'may not be shielded for containers' || fail 'no reason in the log'
	no_drift || fail "drift beside containers: $(cat verify.txt)"
	check 'containers have their CPUs'
}
