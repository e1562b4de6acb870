# SPDX-License-Identifier: GPL-2.0-or-later
# The job of Debian 12 and 13, a service of the guest's systemd; KILLS, SEED and TUNE come before it. It runs
# once a boot, and the disk keeps /results.

# A boot that QEMU spoiled is made again by the lab, and begins where that one began.
boot=$(cat next 2> /dev/null || echo 1)
if [ -e next ]; then cp first.failures failures; cp first.checks checks; else rm -f failures checks; fi
touch failures checks

# Both of its processes are there.
start_motor() {
	systemctl start motor
	wait_for 60 eval '[ "$(wc -l < /sys/fs/cgroup/system.slice/motor.service/cgroup.procs)" = 2 ]'
}

# One of its two processes has one thread, which goes alone; systemd restarts and kills both.
attached_thread() {
	alone=/sys/fs/cgroup/system.slice/motor.service/irqpath.cpu3
	start_motor
	run_ok irqpath shield attach motor --thread sh --cpus 3
	pid=$(main_pid motor)
	expect 'CPU of the thread' "$(affinity "$pid")" 3
	expect 'cgroup of the thread' "$(cat $alone/cgroup.threads)" "$pid"
	procs=$(wc -l < /sys/fs/cgroup/system.slice/motor.service/cgroup.procs)
	expect 'processes of motor beside a thread alone' "$procs" 2
	for change in daemon-reload 'set-property --runtime motor MemoryMax=48M' 'restart motor'; do
		# shellcheck disable=SC2086 # words of a command
		run_ok systemctl $change
		echo "after $change: thread '$(cat $alone/cpuset.cpus.partition 2> /dev/null)'" >> seen
		run_ok irqpath shield repair
		expect "partition after $change" "$(cat $alone/cpuset.cpus.partition)" isolated
		expect "thread after $change" "$(cat $alone/cgroup.threads)" "$(main_pid motor)"
	done
	check 'a thread alone, through a restart'
	systemctl kill -s KILL motor
	wait_for 20 eval '[ "$(systemctl is-active motor)" = failed ]'
	[ ! -e $alone ] || fail "a killed unit leaves $alone: $(cat $alone/cgroup.threads)"
	systemctl reset-failed motor
	run_ok irqpath shield reset
	same 'after a thread alone'
}

# The unit keeps its cgroup, its limits, its log, its kill.
attached_unit() {
	start_motor
	run_ok irqpath shield attach motor --cpus 3
	expect 'partition of motor' "$(partition motor.service)" isolated
	pid=$(main_pid motor)
	expect 'CPU of motor' "$(affinity "$pid")" 3
	expect 'cgroup of motor' "$(cat /proc/"$pid"/cgroup)" 0::/system.slice/motor.service
	expect 'systemctl show' "$(systemctl show -p ControlGroup --value motor)" /system.slice/motor.service
	expect 'limit' "$(cat /sys/fs/cgroup/system.slice/motor.service/memory.max)" 67108864
	systemctl kill -s USR1 --kill-whom=main motor
	wait_for 20 eval 'journalctl -u motor -o cat | grep -q told'
	check 'an attached unit is shown and logs as before'
	for change in daemon-reload daemon-reexec 'set-property --runtime motor MemoryMax=48M'; do
		# shellcheck disable=SC2086 # words of a command
		run_ok systemctl $change
		echo "after $change: partition $(partition motor.service)" >> seen
		run_ok irqpath shield repair
		expect "partition after $change" "$(partition motor.service)" isolated
		expect "CPU of motor after $change" "$(affinity "$pid")" 3
		check "attached, $change and a repair"
	done
	systemctl restart motor
	echo "restarted: partition '$(partition motor.service)'" >> seen
	run_ok irqpath shield repair
	pid=$(main_pid motor)
	expect 'partition after a restart' "$(partition motor.service)" isolated
	expect 'CPU of motor after a restart' "$(affinity "$pid")" 3
	check 'attached again after a restart'
	procs=$(wc -l < /sys/fs/cgroup/system.slice/motor.service/cgroup.procs)
	expect 'processes of motor' "$procs" 2
	systemctl kill -s KILL motor
	wait_for 20 eval '[ "$(systemctl is-active motor)" = failed ]'
	expect 'after a kill by cgroup' "$(cat /sys/fs/cgroup/system.slice/motor.service/cgroup.procs 2> /dev/null)" ''
	systemctl reset-failed motor
	check 'killed by cgroup'
	run_ok irqpath shield reset
	same 'after an attached unit'
}

# A service starts a program on a shielded CPU, which stays in the service.
kept_unit() {
	kept=/sys/fs/cgroup/system.slice/runner.service/irqpath.cpu3
	run_ok irqpath shield set --cpus 2-3
	run_ok systemd-run -q --unit=runner -p MemoryMax=64M \
		irqpath shield run --keep-unit --cpus 3 -p f:50 -- sh -c 'echo runs; while :; do sleep 1; done'
	wait_for 60 eval 'journalctl -u runner -o cat | grep -qx runs'
	pid=$(main_pid runner)
	expect 'CPU of the program' "$(affinity "$pid")" 3
	expect 'cgroup of the program' "$(cat /proc/"$pid"/cgroup)" 0::/system.slice/runner.service/irqpath.cpu3
	expect 'partition of the program' "$(cat $kept/cpuset.cpus.partition)" isolated
	expect 'CPUs of the shield beside it' "$(cat /sys/fs/cgroup/irqpath.shield/cpuset.cpus)" 2
	expect 'its limit' "$(cat /sys/fs/cgroup/system.slice/runner.service/memory.max)" 67108864
	no_drift || fail "drift beside a program in its unit: $(cat verify.txt)"
	systemd-run -q --wait irqpath shield run --keep-unit --cpus 3 -- true && fail 'a CPU of another unit is taken'
	run_ok systemctl stop runner
	[ ! -e $kept ] || fail "a stopped unit leaves $kept: $(cat $kept/cgroup.threads)"
	# The CPU is free again, by the next program or a repair.
	run_ok systemd-run -q --wait --unit=second \
		irqpath shield run --keep-unit --cpus 3 -- grep Cpus_allowed_list /proc/self/status
	wait_for 20 eval 'journalctl -u second -o cat | grep -q "Cpus_allowed_list:.*3$"'
	run_ok irqpath shield reset
	same 'after programs that keep their unit'
}

# CPUAffinity= inside of the unit's own partition: also after a restart.
affine_unit() {
	systemctl start pinned
	run_ok irqpath shield attach pinned --cpus 3
	expect 'CPU of pinned' "$(affinity "$(main_pid pinned)")" 3
	systemctl restart pinned || fail 'pinned does not start again'
	expect 'pinned' "$(systemctl is-active pinned)" active
	run_ok irqpath shield repair
	expect 'partition of pinned' "$(partition pinned.service)" isolated
	expect 'CPU of pinned after a restart' "$(affinity "$(main_pid pinned)")" 3
	run_ok irqpath shield reset
	expect 'CPU of pinned afterwards' "$(affinity "$(main_pid pinned)")" 3
	systemctl stop pinned
	same 'after a unit with CPUAffinity='
}

# A cgroup that is a partition already is used as it is; AllowedCPUs= stays.
given_partition() {
	systemctl start limited
	start_motor
	echo '+cpuset' > /sys/fs/cgroup/cgroup.subtree_control
	echo '+cpuset' > /sys/fs/cgroup/system.slice/cgroup.subtree_control
	motor=/sys/fs/cgroup/system.slice/motor.service
	for directory in /sys/fs/cgroup/system.slice $motor; do echo 3 > $directory/cpuset.cpus.exclusive; done
	echo root > $motor/cpuset.cpus.partition
	expect 'partition by hand' "$(partition motor.service)" root
	hoststate given
	irqpath shield attach motor --cpus 2 > output 2>&1 && fail 'a partition of somebody else is taken'
	grep -q CPUSetPartition output || fail "attach: $(cat output)"
	run_ok irqpath shield attach motor --cpus 3
	expect 'partition by hand, attached' "$(partition motor.service)" root
	expect 'CPUs of limited' "$(affinity "$(main_pid limited)")" 0-1
	run_ok irqpath shield reset
	same 'after a partition that was there' given
	echo member > $motor/cpuset.cpus.partition
	systemctl stop motor limited
	echo '' > /sys/fs/cgroup/system.slice/cpuset.cpus.exclusive
	echo '-cpuset' > /sys/fs/cgroup/system.slice/cgroup.subtree_control
	echo '-cpuset' > /sys/fs/cgroup/cgroup.subtree_control
	same 'after units with AllowedCPUs='
}

# A shield while systemd reloads, is executed anew, and restarts units.
reloads() {
	systemctl start ordinary
	run_ok irqpath shield set --cpus 2-3
	for change in daemon-reload daemon-reexec 'restart ordinary' 'set-property --runtime ordinary CPUWeight=50'; do
		# shellcheck disable=SC2086
		run_ok systemctl $change
		run_ok irqpath shield repair
		no_drift || fail "drift after $change: $(cat verify.txt)"
		expect "a unit after $change" "$(affinity "$(main_pid ordinary)")" 0-1
		expect "the shield after $change" "$(cat /sys/fs/cgroup/irqpath.shield/cpuset.cpus.partition)" isolated
		check "shielded, $change"
	done
	systemctl stop ordinary
	run_ok irqpath shield reset
	run_ok systemctl daemon-reload
	same 'after reloads'
}

# Nothing of this script can be written meanwhile.
fill_disk() {
	for size in 1M 4k 1; do dd if=/dev/zero of=/full-$size bs=$size 2> /dev/null; done
}
disk_full() {
	fill_disk
	said=$(irqpath shield set --cpus 3 2>&1) && said="it was set: $said"
	state=$(hoststate before 0-3 2>&1)
	rm /full-*
	case $said in *"No space left on device"*) ;; *) fail "a set on a full disk: $said" ;; esac
	expect 'lines of that' "$(echo "$said" | wc -l)" 1
	[ -z "$state" ] || fail "after a set on a full disk: $state"
	same 'after a set on a full disk'
	run_ok irqpath shield set --cpus 3
	fill_disk
	said=$(irqpath shield reset 2>&1) || said="it failed: $said"
	state=$(hoststate before 0-3 2>&1)
	rm /full-*
	[ -z "$state" ] || fail "after a reset on a full disk: $said $state"
	same 'after a reset on a full disk'
}

# random LIMIT: from 1 to LIMIT, the same for a seed.
random() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	echo $((state / 65536 % $1 + 1)) > number
	number=$(cat number)
}

# Until the file is gone: what it has begun, it ends.
churn() {
	while [ -e churning ]; do
		systemctl start ordinary
		systemd-run -q --collect --unit=churn --property=CPUWeight=20 /bin/sh -c 'sleep 0.3 & sleep 0.2' 2> /dev/null
		systemctl stop ordinary
		start_container churned && runc delete -f churned
	done
}

random_kills() {
	state=$SEED
	round=0
	start_motor
	hoststate steady
	while [ $round -lt "$KILLS" ]; do
		round=$((round + 1))
		touch churning
		churn & churn=$!
		random 4
		case $number in
			1) set -- set --cpus 2-3 ;;
			2) set -- attach motor --cpus 3 ;;
			3) set -- set --cpus 3 --siblings keep ;;
			4)
				run_ok irqpath shield set --cpus 2-3
				set -- reset
				;;
		esac
		random 160
		at=$number
		killat "$at" irqpath shield "$@" > /dev/null 2>&1
		echo "kill $round: $* at $at: $?" >> kills
		[ "$1" = reset ] || [ $((round % 3)) != 0 ] || run_ok irqpath shield set --cpus 3
		run_ok irqpath shield reset
		rm churning
		wait $churn
		systemctl stop churn 2> /dev/null
		wait_for 20 eval '[ ! -e "$(scope churned)" ]'
		run_ok irqpath shield reset
		same "kill $round: $* at $at" steady
	done
	systemctl stop motor
	same 'after kills'
}

# Interrupt threads, where the kernel has them.
line_of() { awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts; }
thread_of() { grep -l "^irq/$(line_of "$1")-" /proc/[0-9]*/comm | cut -d / -f 3; }
priority_is() { [ "$(sed 's/.*) //' "/proc/$(thread_of intsight0)/stat" | cut -d ' ' -f 38)" = "$1" ]; }

# The handler of a line that is bound to a shielded CPU runs there, too.
bound_thread() {
	line=$(line_of intsight1)
	thread=$(grep -l "^irq/$line-" /proc/[0-9]*/comm | cut -d / -f 3)
	echo 3 > /proc/irq/"$line"/smp_affinity_list
	wait_for 20 thread_is 3
	start_motor
	for how in 'set --cpus 2-3' 'set --cpus 3' 'attach motor --cpus 2'; do
		# shellcheck disable=SC2086 # words of a command
		run_ok irqpath shield $how
		wait_for 20 thread_is 3 || fail "thread of a bound line after $how: $(affinity "$thread")"
	done
	# As after a partition of somebody else.
	taskset -p -c "$(affinity 2)" "$thread" > /dev/null
	irqpath shield status > status.txt
	grep -q "thread of irq $line (intsight1), now CPU 0-1" status.txt || fail "status: $(cat status.txt)"
	run_ok irqpath shield repair
	wait_for 20 thread_is 3 || fail "thread of a bound line after a repair: $(affinity "$thread")"
	run_ok irqpath shield reset
	wait_for 20 thread_is 3 || fail "thread of a bound line after a reset: $(affinity "$thread")"
	echo 0-3 > /proc/irq/"$line"/smp_affinity_list
	systemctl stop motor
	check 'the thread of a bound line stays with it'
}
thread_is() { [ "$(affinity "$thread")" = "$1" ]; }

# What the agent answers; no program of a minimal Debian asks by HTTP.
scrape() {
	# shellcheck disable=SC2016
	bash -c 'exec 3<> /dev/tcp/127.0.0.1/9464 && printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && cat <&3' > metrics.txt
}

# With the drop-in of docs/tune.md, for a NIC that comes later.
packets_of_a_service() {
	mkdir -p /etc/systemd/system/irqpath-tune.service.d
	printf '[Service]\nPrivateNetwork=no\nCapabilityBoundingSet=CAP_NET_ADMIN\n' \
		> /etc/systemd/system/irqpath-tune.service.d/packets.conf
	echo 'TUNE=--packets --learn 1s --interval 1s' > /etc/default/irqpath-tune
	systemctl daemon-reload
	run_ok systemctl start irqpath-tune
	wait_for 60 eval 'journalctl -b -u irqpath-tune -o cat | grep -q "real-time task"'
	rmmod intsight
	insmod /intsight.ko nic=1
	wait_for 60 threaded_is 1 && check 'tune serves a NIC that comes later'
	systemctl stop irqpath-tune
	wait_for 20 threaded_is 0
	rmmod intsight
	insmod /intsight.ko
	rm -r /etc/systemd/system/irqpath-tune.service.d /etc/default/irqpath-tune
	systemctl daemon-reload
}
threaded_is() { [ "$(cat /sys/class/net/isight0/threaded)" = "$1" ]; }

# Started by nobody but the boot, after one that ended in the middle of a set.
shipped_units() {
	grep -q 'the shield of an earlier boot ended with it' note || fail "the note: $(cat note)"
	for unit in shield agent tune; do wait_for 300 is_active irqpath-$unit; done
	wait_for 300 mask_is 7
	wait_for 300 no_drift || fail "drift: $(cat verify.txt)"
	wait_for 30 eval 'scrape; grep -q "^# TYPE irqpath_" metrics.txt'
	check 'the units shield, serve and learn from boot on'
	if [ "$TUNE" = 1 ]; then
		waiter -d /dev/intsight0 -n 100000 -t 5000000 -p 80 > /dev/null 2>&1 &
		waiter=$!
		wait_for 300 priority_is 81 && check 'tune serves the task'
		systemctl stop irqpath-tune
		wait_for 20 priority_is 50
		kill $waiter
		wait $waiter
	fi
	systemctl stop irqpath-shield irqpath-agent irqpath-tune
	[ "$TUNE" = 0 ] || packets_of_a_service
	same 'after the units of a boot' first
}

# systemd lets the machine sleep; what drifted meanwhile only the hook repairs.
sleep_hook() {
	run_ok irqpath shield set --cpus 3
	echo processors > /sys/power/pm_test
	echo f > /proc/irq/default_smp_affinity
	run_ok systemctl start systemd-suspend.service
	mask_is 7 || fail "nothing repaired after sleep: mask $(mask)"
	journalctl -b -u systemd-suspend -o cat > suspend.txt
	no_drift || fail "drift after sleep: $(cat verify.txt)"
	run_ok irqpath shield reset
	same 'after sleep' first
}

begin
[ "$TUNE" = 0 ] || insmod /intsight.ko
if [ $boot = 1 ]; then
	hoststate before
	# Tasks of the next boot are others, also with the same number and start.
	grep -v '^t' before > first
	attached_unit
	attached_thread
	kept_unit
	affine_unit
	given_partition
	[ "$TUNE" = 0 ] || bound_thread
	contained
	reloads
	disk_full
	random_kills
	echo 'SHIELD=--cpus 3' > /etc/default/irqpath-shield
	run_ok systemctl enable irqpath-shield irqpath-agent irqpath-tune note
	cp failures first.failures
	cp checks first.checks
	echo 2 > next
	sync
	killat 160 irqpath shield set --cpus 2-3 > /dev/null 2>&1
	mask_is 3 || { fail "the set was not in its middle: mask $(mask)"; cp failures first.failures; sync; }
	# Not what the disk does not have yet.
	echo b > /proc/sysrq-trigger
	sleep 1000
fi
shipped_units
sleep_hook
journalctl -b --no-pager > journal.txt
