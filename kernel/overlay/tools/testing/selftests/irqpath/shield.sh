#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests /proc/shield: which tasks it keeps off, that lifting it restores their
# affinities, and that no task escapes meanwhile. Needs root and two CPUs, and
# nohz_full=1 at boot for the tick. TESTS selects tests and their order.
#
# The tests of irqpath's module intsight, which has a device that raises
# interrupts, cover interrupts.

# shellcheck disable=SC2154 # shield() sets task
here=$(dirname "$(readlink -f "$0")")
. "$here/common.sh"
. "$here/shield_common.sh"

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
	# What is no mask of this machine's CPUs, whatever the error.
	for mask in x 100; do
		refuses $S/procs $mask ""
	done
	lifted "after bad values"
}

# Tasks that can run elsewhere leave, and others stay, in either order.
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

# A shield that moves to the other CPU leaves every task what it asked for.
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

# everybody_has LIST WHEN: every program that does not end meanwhile has LIST.
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
		for _ in 1 2 3 4 5 6 7 8; do
			(sleep 0.01) &
		done
		wait
	done
}

# Tasks are forked while a shield comes and goes. None escapes the shield, and
# none keeps a narrowed affinity.
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

# A task that keeps asking for one CPU or both gets what it asked for last,
# without the shielded CPU.
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

# The shield yields while its CPU is the last one, and then holds again.
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

# Makes a group with both CPUs. The hierarchy is mounted here, even if it is
# mounted elsewhere, and only the group is removed from it.
make_group() {
	mkdir "$T/cgroup"
	mount -t cgroup2 none "$T/cgroup" || skip "no cgroups"
	control=$T/cgroup/cgroup.subtree_control
	group=$T/cgroup/irqpath-selftest
	grep -q cpuset "$control" && had_cpusets=1
	echo +cpuset 2> /dev/null > "$control" || skip "no cpusets"
	mkdir "$group"
	echo $BOTH > "$group/cpuset.cpus"
}

also_clean_up() {
	[ -d "$T/cgroup" ] || return
	[ -z "$born" ] || kill "$born" 2> /dev/null
	tries=0
	while [ -d "$group" ] && ! rmdir "$group" 2> /dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || break
		sleep 0.01
	done
	[ -n "$had_cpusets" ] || echo -cpuset 2> /dev/null > "$control"
	umount "$T/cgroup" 2> /dev/null
	rmdir "$T/cgroup"
}

# A group's tasks use the CPUs that its cpuset and the shield leave. Both
# change.
test_shield_cpuset() {
	had_cpusets='' born='' group='' control=''
	shield
	make_group
	(echo 0 > "$group/cgroup.procs"; exec sleep 1000) & member=$!
	sleep 0.1
	set_shield procs 2
	affinity_is $member 0 "a member"
	# Forks in a group copy their parent's affinity once more.
	(echo 0 > "$group/cgroup.procs"
	sleep 1000 & echo $! > "$T/pid"
	wait) & parent=$!
	sleep 0.2
	born=$(cat "$T/pid")
	affinity_is "$born" 0 "born in the group"
	echo 1 > "$group/cpuset.cpus"
	affinity_is $member 1 "a group on the shielded CPU"
	echo $BOTH > "$group/cpuset.cpus"
	affinity_is $member 0 "a group on both CPUs"
	echo 0 > $S/procs
	affinity_is $member $BOTH "lifted"
	affinity_is "$born" $BOTH "lifted, born in the group"
	kill $member $parent "$born"
	wait $member $parent 2> /dev/null
	also_clean_up
	lifted "after cpusets"
}

# Counts local timer interrupts in half a second of computing on CPU 1: there,
# and on CPU 0, which keeps the time and its tick. A busy host loses some of
# both.
ticks() {
	taskset 2 sh -c 'while :; do :; done' & spinner=$!
	sleep 0.5
	awk '$1 == "LOC:" { print $2, $3 }' /proc/interrupts > "$T/ticks"
	sleep 0.5
	awk 'NR == FNR { zero = $1; one = $2; next }
	     $1 == "LOC:" { print $3 - one, $2 - zero }' "$T/ticks" /proc/interrupts
	kill $spinner
	wait $spinner 2> /dev/null
}

# stops TICKS OF_CPU_0
stops() {
	[ "$1" -lt $(($2 / 3)) ]
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
	# shellcheck disable=SC2086 # two words
	stops $without || skip "the tick of this machine does not stop: $without"
	set_shield ltmrs 0
	with=$(ticks)
	set_shield all 2
	[ "$(cat $S/procs)$(cat $S/irqs)$(cat $S/ltmrs)" = 222 ] ||
		fail "all is not all"
	again=$(ticks)
	echo "# ticks of CPU 1 and 0: $without, $with when asked for, $again"
	# shellcheck disable=SC2086
	stops $with && fail "no ticks when asked for"
	# shellcheck disable=SC2086
	stops $again || fail "the tick does not stop again"
	set_shield all 0
	set_shield ltmrs 2
	lifted "after ticks"
}

lacks=$(shield_lacks)
[ -z "$lacks" ] || skip_all "$lacks"
# shellcheck disable=SC2086 # words are what is wanted
run_tests ${TESTS:-shield_files shield_tasks shield_moves shield_forks \
	shield_setaffinity shield_hotplug shield_storm shield_cpuset shield_ltmrs}
