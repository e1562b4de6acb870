# SPDX-License-Identifier: GPL-2.0-or-later
# The job of systemd.rs: the units as systemd runs them. It is a manager of a user here, root, because the
# guest's first process is not systemd, and irqpath refuses to work in a namespace in which it would be. So it can be
# started, killed with all that it runs, as when the power goes, and started again, in one guest. Leaves `said`
# (a line for each step), and what the units said.
set -e
export XDG_RUNTIME_DIR=/run/user
# The second one says that a systemd is there.
mkdir -p $XDG_RUNTIME_DIR /run/systemd/system /etc/default
insmod /modules/intsight.ko

control() { systemctl --user "$@" 2>> systemctl.log; }

# Until it says that it has started everything.
begin_systemd() {
	/usr/bin/systemd --user --log-target=console > systemd.log 2>&1 &
	systemd=$!
	tries=0
	until control is-system-running > /dev/null || [ $tries = 300 ]; do
		tries=$((tries + 1))
		sleep 0.2
	done
	say "systemd is $(control is-system-running)"
}

# The power goes: nothing of it gets a chance to put anything back.
end_systemd() {
	kill -KILL "$systemd"
	killall -KILL irqpath 2> /dev/null || true
	wait "$systemd" || true
}

say() { echo "$*" >> said; }

# wait_for SECONDS COMMAND...: as soon as it succeeds; what it was is said if it never does.
wait_for() {
	tries=$(($1 * 5))
	shift
	until "$@" > /dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { say "never: $*"; return 0; }
		sleep 0.2
	done
}

mask() { cat /proc/irq/default_smp_affinity; }
mask_is() { [ "$(mask)" = "$1" ]; }
state() { control show -p ActiveState --value "$1"; }
main_pid() { control show -p MainPID --value "$1"; }
another_main() { [ "$(main_pid "$1")" != "$2" ] && [ "$(main_pid "$1")" != 0 ]; }

line_of() { awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts; }
thread_of() { grep -l "^irq/$(line_of "$1")-" /proc/[0-9]*/comm | cut -d / -f 3; }
priority() { sed 's/.*) //' "/proc/$(thread_of intsight0)/stat" | cut -d ' ' -f 38; }
priority_is() { [ "$(priority)" = "$1" ]; }

begin_systemd
hoststate before
say "mask $(mask) priority $(priority)"

control start irqpath-shield
say "without its file: $(state irqpath-shield), mask $(mask)"

echo 'SHIELD=--cpus 1' > /etc/default/irqpath-shield
control enable --now irqpath-shield
wait_for 60 mask_is 1
say "shield: $(state irqpath-shield), mask $(mask)"

killed=$(main_pid irqpath-shield)
control kill -s KILL --kill-whom=main irqpath-shield
wait_for 60 another_main irqpath-shield "$killed"
wait_for 60 mask_is 1
say "killed and restarted: $(state irqpath-shield), mask $(mask)"

waiter -d /dev/intsight0 -n 100000 -t 5000000 -p 80 > /dev/null 2>&1 &
task=$!
control enable --now irqpath-tune
wait_for 60 priority_is 81
say "tune: $(state irqpath-tune), priority $(priority)"

end_systemd
say "no power: mask $(mask), priority $(priority)"
begin_systemd
wait_for 60 mask_is 1
wait_for 60 priority_is 81
say "from boot on: $(state irqpath-shield), mask $(mask); $(state irqpath-tune), priority $(priority)"

control stop irqpath-tune
say "tune stopped: $(state irqpath-tune), priority $(priority)"
kill "$task"
wait "$task" || true
control stop irqpath-shield
say "shield stopped: $(state irqpath-shield), mask $(mask)"
hoststate before 0-1 > all || true
# systemd makes it for the first unit that it starts, and keeps it.
grep -v /sys/fs/cgroup/app.slice all > differences || say "everything is as before"
end_systemd
