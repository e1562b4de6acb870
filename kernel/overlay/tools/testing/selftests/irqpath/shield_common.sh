# SPDX-License-Identifier: GPL-2.0-only
#
# Sourced by the tests of /proc/shield, after common.sh. They need exactly two
# CPUs, because their masks name these.

S=/proc/shield
CPU1=/sys/devices/system/cpu/cpu1/online
BOTH=0-1

# Prints what these tests lack here, or nothing.
shield_lacks() {
	cpus=$(cat /sys/devices/system/cpu/online)
	if [ "$(id -u)" != 0 ]; then
		echo "not root"
	elif ! [ -d $S ]; then
		echo "no $S: a kernel without CONFIG_IRQPATH_SHIELD"
	elif [ "$cpus" != $BOTH ]; then
		echo "CPUs $cpus: not two; nr_cpus=2 at boot makes it so"
	elif grep -q '[1-9a-f]' $S/procs $S/irqs; then
		echo "a shield is set"
	elif ! command -v taskset > /dev/null; then
		echo "no program taskset"
	fi
}

# Begins a test: starts a task that may run anywhere, and notes all affinities.
shield() {
	lacks=$(shield_lacks)
	[ -z "$lacks" ] || skip "$lacks"
	T=$(mktemp -d) || fail "no temporary directory"
	ltmrs=$(cat $S/ltmrs)
	trap clean_up EXIT
	trap 'exit 1' INT TERM
	sleep 1000 &
	# shellcheck disable=SC2034 # for the test
	task=$!
	affinities > "$T/affinities"
	asked_of_irqs > "$T/irqs"
}

# Runs however the test ends. A test may add its own part in also_clean_up.
clean_up() {
	# By way of a file: $(jobs) is about the subshell's own in dash.
	jobs -p > "$T/jobs"
	# shellcheck disable=SC2046 # words are what is wanted
	kill $(cat "$T/jobs") 2> /dev/null
	wait
	echo 1 2> /dev/null > $CPU1
	echo 0 > $S/irqs
	echo 0 > $S/procs
	[ "$(cat $S/ltmrs)" = "$ltmrs" ] || echo "$ltmrs" > $S/ltmrs
	also_clean_up
	rm -f "$T"/*
	rmdir "$T"
}

also_clean_up() {
	:
}

affinity() {
	awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status"
}

# affinity_is PID LIST WHEN
affinity_is() {
	[ "$(affinity "$1")" = "$2" ] ||
		fail "$3: a task has $(affinity "$1"), not $2"
}

# Prints the affinity of every thread that lives through the test. Irq threads
# are left out, as they follow their interrupts, which may stay where a shield
# sent them. Kworkers are left out, as they move between their pools.
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

# set_shield FILE MASK: FILE takes MASK, and reads back as MASK.
set_shield() {
	takes "$S/$1" "$2"
}

# shield_refuses FILE MASK: FILE refuses MASK, and does not change.
shield_refuses() {
	refuses "$S/$1" "$2" "$EINVAL"
}

# Everything has its old affinity again. Tasks that ended since do not count.
lifted() {
	echo 0 > $S/irqs
	echo 0 > $S/procs
	affinities > "$T/after"
	awk 'NR == FNR { now[$1 " " $2] = $3; next }
	     ($1 " " $2) in now && now[$1 " " $2] != $3 {
		     print "# " $0 " has " now[$1 " " $2]; wrong = 1 }
	     END { exit wrong }' "$T/after" "$T/affinities" ||
		fail "$1: an affinity did not come back"
	asked_of_irqs | cmp -s - "$T/irqs" ||
		fail "$1: an interrupt's affinity did not come back"
}
