# SPDX-License-Identifier: GPL-2.0-or-later
# The job of Debian 13 beside what other people run. After common.sh.
touch failures checks

note() { echo "== $*" >> seen; }

# What a container of podman, or of the kubelet by containerd, is made of.
make_image() {
	mkdir -p /run/rootfs/bin /usr/share/containers/oci/hooks.d /etc/containers
	cp /usr/bin/busybox /run/rootfs/bin/
	# The guest has no overlayfs.
	printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' \
		> /etc/containers/storage.conf
	cat > /usr/share/containers/oci/hooks.d/irqpath.json <<- 'END'
	{ "version": "1.0.0",
	  "hook": { "path": "/usr/bin/irqpath", "args": ["irqpath", "shield", "hook", "--allow", "2-3"] },
	  "when": { "annotations": { "^org\\.irqpath\\.shield(\\..*)?$": ".*" } },
	  "stages": ["createRuntime", "poststop"] }
	END
	tar -C /run/rootfs -c . | podman import --change 'CMD ["/bin/busybox", "sleep", "100000"]' - busy > output 2>&1 \
		|| fail "podman import: $(cat output)"
}

# start_container NAME [CPUS]
start_container() {
	podman run -d --name "$1" --network none ${2:+--annotation org.irqpath.shield="$2"} busy > "/run/$1.log" 2>&1
}
has_container() { start_container "$@" || fail "podman run $*: $(cat "/run/$1.log")"; }
container_pid() { podman inspect -f '{{.State.Pid}}' "$1"; }
container_partition() { cat "/sys/fs/cgroup/machine.slice/libpod-$(podman inspect -f '{{.Id}}' "$1").scope/cpuset.cpus.partition"; }
exec_in() { podman exec "$@"; }

podman_containers() {
	beside_each_other
	podman rm -f three > /dev/null 2>&1
	run_ok podman restart -t 0 one
	expect 'CPU of one, restarted' "$(affinity "$(container_pid one)")" 3
	run_ok podman rm -f -t 0 one
	expect 'CPU of two, alone' "$(affinity "$(container_pid two)")" 2
	expect 'CPUs of another container, after one' "$(affinity "$(container_pid plain)")" 0-1,3
	# It dies by itself.
	kill -KILL "$(container_pid two)"
	wait_for 20 eval '[ "$(podman inspect -f "{{.State.Status}}" two)" = exited ]'
	run_ok podman rm two
	same 'after containers of podman' contained
	run_ok podman rm -f -t 0 plain
}

# What irqbalance says of itself, by its socket.
banned() {
	python3 -c '
import glob, socket
s = socket.socket(socket.AF_UNIX)
s.connect(glob.glob("/run/irqbalance/irqbalance*.sock")[0])
s.send(b"setup")
print(s.recv(4096).decode().split("BANNED ")[1].split(",")[-1])'
}
bans() { [ "$(banned | sed 's/^0*\(.\)/\1/')" = "$1" ]; }

beside_irqbalance() {
	systemctl start irqbalance
	wait_for 20 bans 0
	hoststate balanced
	run_ok irqpath shield set --cpus 2-3
	wait_for 30 bans c || fail "irqbalance leaves CPUs '$(banned)' alone"
	no_drift || fail "drift beside irqbalance: $(cat verify.txt)"
	# Two of its rounds.
	sleep 21
	no_drift || fail "drift after rounds of irqbalance: $(cat verify.txt)"
	check 'irqbalance leaves shielded CPUs alone'
	run_ok irqpath shield reset
	wait_for 30 bans 0 || fail "irqbalance still leaves CPUs '$(banned)' alone"
	systemctl stop irqbalance
	hoststate balanced 0-3 > diff.out 2>&1
	note "after irqbalance: $(cat diff.out)"
	check 'after irqbalance'
}

# Beside tuned, which comes with its profile after the shield, and whose profile ends before it.
beside_tuned() {
	run_ok systemctl start tuned NetworkManager
	wait_for 60 eval 'tuned-adm active | grep -q virtual-guest'
	hoststate tuned
	run_ok irqpath shield set --cpus 3
	irqpath shield status > status.txt
	for name in tuned NetworkManager; do grep -q "^  $name (" status.txt || fail "status without $name: $(cat status.txt)"; done
	echo 'isolated_cores=2' > /etc/tuned/realtime-variables.conf
	systemd-run -q --unit=watch irqpath shield verify --watch --interval 1s
	run_ok tuned-adm profile realtime
	sleep 15
	journalctl -b -u watch -o cat > watch.txt
	note "the watch beside tuned: $(cat watch.txt)"
	systemctl stop watch
	run_ok irqpath shield repair
	no_drift || fail "drift beside tuned: $(cat verify.txt)"
	check 'a shield beside tuned'
	run_ok tuned-adm profile virtual-guest
	sleep 3
	run_ok irqpath shield reset
	hoststate tuned 0-3 > diff.out 2>&1
	note "after tuned and the shield: $(cat output) $(cat diff.out)"
	systemctl stop tuned NetworkManager
}

# What the tools below may change: a task and a line that were bound to CPU 3 by hand, and a line that somebody
# sets while the tool is on. docs/shield-tools.md has what they do.
line_of() { awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts; }
cpus_of_line() { cat /proc/irq/"$1"/smp_affinity_list; }
marks() { echo "$(affinity "$victim") $(cpus_of_line "$bound") $(cpus_of_line "$other")"; }
# tool_alone NAME ON OFF WHILE_ON AFTERWARDS
tool_alone() {
	echo 3 > /proc/irq/"$bound"/smp_affinity_list
	taskset -p -c 3 $victim > /dev/null
	echo 0-3 > /proc/irq/"$other"/smp_affinity_list
	hoststate alone
	eval "$2" > output 2>&1
	note "$1: on ($?): $(tail -n 3 output)"
	echo 1 > /proc/irq/"$other"/smp_affinity_list
	expect "$1 while it is on" "$(marks)" "$4"
	eval "$3" > output 2>&1
	note "$1: off ($?): $(tail -n 3 output) $(hoststate alone 0-3 2>&1 | grep -v '^[0-9]*@')"
	expect "$1 afterwards" "$(marks)" "$5"
	check "$1 alone"
}
tools_alone() {
	sleep 100000 & victim=$!
	bound=$(line_of intsight0) other=$(line_of intsight1)
	tool_alone tuna 'tuna isolate --cpus 3' 'tuna include --cpus 3' '0-2 0-2 1' '0-3 0-3 1,3'
	tool_alone cset 'cset shield -c 3 -k on' 'cset shield -r' '3 3 1' '3 3 1'
	tool_alone rtirq '/etc/init.d/rtirq start' '/etc/init.d/rtirq stop' '3 3 1' '3 3 1'
	systemctl start tuned
	wait_for 60 eval 'tuned-adm active | grep -q virtual-guest'
	tuned-adm off
	echo 'isolated_cores=3' > /etc/tuned/realtime-variables.conf
	tool_alone tuned 'tuned-adm profile realtime; sleep 5' 'tuned-adm off; sleep 2' '0-2 0-2 1' '3 3 0-3'
	systemctl stop tuned
	IRQBALANCE_BANNED_CPULIST=3 tool_alone irqbalance 'irqbalance --foreground & balance=$!; sleep 25' \
		'kill $balance; sleep 1' '3 0-2 1' '3 0-2 1'
	tool_alone systemd 'systemd-run -q --unit=narrow -p AllowedCPUs=3 sleep 1000' 'systemctl stop narrow' '3 3 1' '3 3 1'
	kill $victim
}

begin
systemctl disable --now irqbalance tuned NetworkManager rtirq containerd > /dev/null 2>&1
insmod /intsight.ko
hoststate before
make_image
podman_containers
[ ! -e /usr/bin/kubelet ] || pods
beside_irqbalance
beside_tuned
tools_alone
