# SPDX-License-Identifier: GPL-2.0-only
#
# /proc/shield of a kernel with irqpath. On other kernels these tests are
# skipped; most need two CPUs. Sourced by run.sh.

S=/proc/shield
CPU1=/sys/devices/system/cpu/cpu1/online
# What a kernel of one CPU could not show.
BOTH=0-1

affinity() {
	awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status"
}

# affinity_is PID LIST WHEN
affinity_is() {
	[ "$(affinity "$1")" = "$2" ] ||
		fail "$3: a task has $(affinity "$1"), not $2"
}

# The affinity of every thread that lives through the test; irq threads follow
# their interrupt, which may stay where a shield has sent it, and workers of
# workqueues come and go between their pools.
affinities() {
	cat /proc/[0-9]*/task/[0-9]*/status 2> /dev/null | awk '
		$1 == "Name:" { name = $2 }
		$1 == "Pid:" { pid = $2 }
		$1 == "Cpus_allowed:" && name !~ /^(irq\/|kworker)/ {
			print pid, name, $2 }'
}

asked_of_irqs() {
	grep . /proc/irq/*/smp_affinity
}

shield() {
	[ "$SHIELD" != no ] || skip "SHIELD=no"
	[ -d $S ] || skip "no $S: a kernel without CONFIG_IRQPATH_SHIELD"
	[ "$(cat /sys/devices/system/cpu/online)" = $BOTH ] ||
		skip "CPUs $(cat /sys/devices/system/cpu/online): not two"
	trap clean_up EXIT
	sleep 1000 &
	task=$!
	affinities > /tmp/affinities
	asked_of_irqs > /tmp/irqs
}

# For the next test, however this one ends.
clean_up() {
	kill $(jobs -p) 2> /dev/null
	wait
	echo 1 2> /dev/null > $CPU1
	echo 0 > $S/irqs
	echo 0 > $S/procs
}

# set_shield FILE MASK: is taken and read back.
set_shield() {
	echo "$2" > "$S/$1" || fail "$1 refuses $2"
	[ "$(cat "$S/$1")" = "$2" ] || fail "$1 is '$(cat $S/$1)', not $2"
}

# Everything has back what it had. A task that has ended since is none of ours.
lifted() {
	echo 0 > $S/irqs
	echo 0 > $S/procs
	affinities > /tmp/after
	awk 'NR == FNR { now[$1 " " $2] = $3; next }
	     ($1 " " $2) in now && now[$1 " " $2] != $3 {
		     print "# " $0 " has " now[$1 " " $2]; wrong = 1 }
	     END { exit wrong }' /tmp/after /tmp/affinities ||
		fail "$1: an affinity did not come back"
	asked_of_irqs | cmp -s - /tmp/irqs ||
		fail "$1: an interrupt's affinity did not come back"
}

# shield_refuses FILE MASK: EINVAL, and nothing changes.
shield_refuses() {
	now=$(cat "$S/$1")
	if message=$( (echo "$2" > "$S/$1") 2>&1); then
		fail "$1 takes $2"
	fi
	case $message in
	*"Invalid argument"*) ;;
	*) fail "$1 refuses $2 with: $message" ;;
	esac
	[ "$(cat "$S/$1")" = "$now" ] || fail "$1 changed with $2"
}

test_shield_files() {
	shield
	for file in procs irqs; do
		[ "$(cat $S/$file)" = 0 ] || fail "$file is not 0 at first"
		shield_refuses $file 3
		set_shield $file 2
		shield_refuses $file 3
		set_shield $file 1
		set_shield $file 0
	done
	shield_refuses all 3
	if echo x 2> /dev/null > $S/procs || echo 100 2> /dev/null > $S/procs; then
		fail "procs takes what is no mask of this machine's CPUs"
	fi
	lifted "after bad values"
}

# Whoever could run elsewhere leaves, whoever could not stays, before or after.
test_shield_tasks() {
	shield
	taskset 2 sleep 1000 & bound=$!
	set_shield procs 2
	affinity_is $task 0 "shielded"
	affinity_is $bound 1 "bound to the shielded CPU before"
	affinity_is $$ 0 "the shell itself"
	sleep 1000 & child=$!
	affinity_is $child 0 "forked by a shielded task"
	# What is asked for now holds later.
	taskset -p 3 $bound > /dev/null || fail "taskset failed"
	affinity_is $bound 0 "asked for both"
	taskset -p 2 $child > /dev/null || fail "taskset failed"
	affinity_is $child 1 "asked for the shielded CPU"
	echo 0 > $S/procs
	affinity_is $bound $BOTH "asked for both"
	affinity_is $child 1 "asked for CPU 1"
	kill $child $bound
	lifted "after tasks"
}

# A shield that moves to the other CPU takes from nobody what it asked for.
test_shield_moves() {
	shield
	taskset 1 sleep 1000 & first=$!
	for mask in 2 1 2 1; do
		set_shield procs $mask
		affinity_is $first 0 "bound to CPU 0, shield $mask"
		affinity_is $task $((2 - mask)) "shield $mask"
	done
	kill $first
	lifted "after a shield that moved"
}

# everybody_has LIST WHEN: every program, but not those that end meanwhile.
everybody_has() {
	cat /proc/[0-9]*/status 2> /dev/null | awk -v cpus="$1" '
		$1 == "Name:" { name = $2 }
		$1 == "Kthread:" { user = !$2 }
		$1 == "Cpus_allowed_list:" && user && $2 != cpus {
			print "# " name " has " $2; wrong = 1 }
		END { exit wrong }' || fail "$2: not every task has $1"
}

fork_without_end() {
	while :; do
		for i in 1 2 3 4 5 6 7 8; do
			(sleep 0.01) &
		done
		wait
	done
}

# Tasks that are born while a shield comes and goes: nobody slips through, and
# nobody keeps less than it has a right to.
test_shield_forks() {
	shield
	fork_without_end & forker=$!
	for round in 1 2 3 4 5 6 7 8; do
		echo 2 > $S/procs
		everybody_has 0 "shielded in round $round"
		echo 0 > $S/procs
		everybody_has $BOTH "lifted in round $round"
	done
	kill $forker
	wait $forker 2> /dev/null
	lifted "after forks"
}

# A task that asks for one CPU and for both all the time gets what it asked for
# last, less the shield.
test_shield_setaffinity() {
	shield
	(while :; do
		taskset -p 1 $task
		taskset -p 2 $task
		taskset -p 3 $task
	done) > /dev/null & asker=$!
	for round in 1 2 3 4 5 6 7 8 9 10; do
		echo 2 > $S/procs
		sleep 0.05
		echo 0 > $S/procs
		sleep 0.05
	done
	kill $asker
	wait $asker 2> /dev/null
	set_shield procs 2
	taskset -p 3 $task > /dev/null
	affinity_is $task 0 "asked for both"
	echo 0 > $S/procs
	affinity_is $task $BOTH "asked for both"
	lifted "after a task that asked"
}

# The shield yields when its CPU is the last, and is there again with the other.
test_shield_hotplug() {
	shield
	[ -w $CPU1 ] || skip "CPU 1 cannot go"
	for mask in 1 2; do
		set_shield procs $mask
		set_shield irqs $mask
		echo 0 > $CPU1 || fail "CPU 1 does not go"
		cat $S/procs > /dev/null
		(: ) || fail "no task can run"
		affinity_is $$ "$([ $mask = 1 ] && echo 0-1 || echo 0)" \
			"CPU 1 is off, shield $mask"
		echo 1 > $CPU1 || fail "CPU 1 does not come"
		[ "$(cat $S/procs)" = $mask ] || fail "procs changed"
		affinity_is $$ $((mask - 1 ? 0 : 1)) "CPU 1 is back, shield $mask"
	done
	lifted "after hotplug"
}

# CPUs that go and come, forks, and writers of both kinds, all at once.
test_shield_storm() {
	shield
	[ -w $CPU1 ] || skip "CPU 1 cannot go"
	fork_without_end & one=$!
	(while :; do
		echo 0 > $CPU1
		echo 1 > $CPU1
	done) & two=$!
	(while :; do
		echo 1 > $S/procs
		echo 2 > $S/irqs
		echo 0 > $S/irqs
	done) 2> /dev/null & three=$!
	for round in 1 2 3 4 5 6 7 8 9 10; do
		echo 2 > $S/procs
		sleep 0.1
		echo 0 > $S/procs
		sleep 0.1
	done
	kill $one $two $three
	wait $one $two $three 2> /dev/null
	echo 1 2> /dev/null > $CPU1
	lifted "after a storm"
}

# A group of tasks may use what its cpuset and the shield leave. Both change.
test_shield_cpuset() {
	shield
	mkdir -p /tmp/cgroup
	mount -t cgroup2 none /tmp/cgroup || skip "no cgroups"
	if ! echo +cpuset 2> /dev/null > /tmp/cgroup/cgroup.subtree_control; then
		umount /tmp/cgroup
		skip "no cpusets"
	fi
	mkdir /tmp/cgroup/g
	echo 0-1 > /tmp/cgroup/g/cpuset.cpus
	(echo 0 > /tmp/cgroup/g/cgroup.procs; exec sleep 1000) & member=$!
	sleep 0.1
	set_shield procs 2
	affinity_is $member 0 "a member"
	# Forks in a group copy their parent's affinity once more.
	(echo 0 > /tmp/cgroup/g/cgroup.procs; sh -c 'sleep 1000 & echo $! > /tmp/pid; wait') &
	parent=$!
	sleep 0.2
	born=$(cat /tmp/pid)
	affinity_is "$born" 0 "born in the group"
	echo 1 > /tmp/cgroup/g/cpuset.cpus
	affinity_is $member 1 "a group on the shielded CPU"
	echo 0-1 > /tmp/cgroup/g/cpuset.cpus
	affinity_is $member 0 "a group on both CPUs"
	echo 0 > $S/procs
	affinity_is $member $BOTH "lifted"
	affinity_is "$born" $BOTH "lifted, born in the group"
	kill $member $parent "$born"
	wait $member $parent 2> /dev/null
	sleep 0.1
	rmdir /tmp/cgroup/g
	echo -cpuset > /tmp/cgroup/cgroup.subtree_control
	umount /tmp/cgroup
	lifted "after cpusets"
}

effective() {
	cat "/proc/irq/$line/effective_affinity_list"
}

# effective_is LIST ASKED WHEN
effective_is() {
	[ "$(effective)" = "$1" ] || fail "$3: the line goes to $(effective)"
	[ "$(cat "/proc/irq/$line/smp_affinity")" = "$2" ] ||
		fail "$3: it asks for $(cat "/proc/irq/$line/smp_affinity")"
}

# The test device's line takes the first CPU that it may.
test_shield_irqs() {
	shield
	needs waiter
	load_devices nr_devices=1
	line=$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)
	echo 3 > "/proc/irq/$line/smp_affinity"
	effective_is 0 3 "before"
	set_shield irqs 1
	effective_is 1 3 "shielded from it"
	waiter -n 50 -t 1000000 -p 80 -s read > /tmp/waiter.csv ||
		fail "waiter failed"
	thread=$(grep -l "^irq/$line-" /proc/[0-9]*/comm)
	[ "$(affinity "$(echo "$thread" | awk -F / '{ print $3 }')")" = 1 ] ||
		fail "the thread did not follow"
	echo 1 > "/proc/irq/$line/smp_affinity"
	effective_is 0 1 "asked onto the shielded CPU alone"
	echo 3 > "/proc/irq/$line/smp_affinity"
	effective_is 1 3 "asked onto both"
	if [ -w $CPU1 ]; then
		echo 0 > $CPU1
		effective_is 0 3 "the other CPU is gone"
		echo 1 > $CPU1
		cat $S/irqs > /dev/null
		effective_is 1 3 "the other CPU is back"
	fi
	set_shield irqs 2
	effective_is 0 3 "the shield moved"
	echo 0 > $S/irqs
	unload
	nothing_left
	lifted "after interrupts"
}

# Local timer interrupts of CPU 1 in half a second of computing there.
ticks() {
	taskset 2 sh -c 'while :; do :; done' & spinner=$!
	sleep 0.5
	awk '$1 == "LOC:" { print $3 }' /proc/interrupts > /tmp/ticks
	sleep 0.5
	awk 'NR == FNR { last = $1; next } $1 == "LOC:" { print $3 - last }' \
		/tmp/ticks /proc/interrupts
	kill $spinner
	wait $spinner 2> /dev/null
}

test_shield_ltmrs() {
	shield
	if ! [ "$(cat /sys/devices/system/cpu/nohz_full)" = 1 ]; then
		shield_refuses ltmrs 2
		shield_refuses all 2
		set_shield all 0
		lifted "after ticks"
		return
	fi
	[ "$(cat $S/ltmrs)" = 2 ] || fail "ltmrs is not nohz_full= at first"
	shield_refuses ltmrs 1
	without=$(ticks)
	[ "$without" -lt 50 ] || skip "the tick of this machine does not stop"
	set_shield ltmrs 0
	with=$(ticks)
	set_shield all 2
	[ "$(cat $S/procs)$(cat $S/irqs)$(cat $S/ltmrs)" = 222 ] ||
		fail "all is not all"
	again=$(ticks)
	echo "# ticks in half a second: $without, $with when asked for, $again"
	[ "$with" -gt $((without + 50)) ] || fail "no ticks when asked for"
	[ "$again" -lt $((with / 2)) ] || fail "the tick does not stop again"
	set_shield all 0
	set_shield ltmrs 2
	lifted "after ticks"
}
