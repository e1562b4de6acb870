# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of a task that runs handlers before its address space is loaded, while
# others change its memory or end its life. They use migrate, direct and las,
# and two devices (devmemory and devsegment of lab/guest). Sourced by run.sh.

SWAP=/dev/ram0

# scenes PROGRAM NAME...: runs each scene beside interrupts, three in five of
# which are for another task. The task thus runs handlers after right and after
# wrong predictions. `ran_lazily NAME` looks at the counts of each.
scenes() {
	program=$1
	shift
	[ -d $P ] || skip "no $P: a kernel without CONFIG_IRQPATH"
	needs "$program"
	echo 1 2> /dev/null > $P/migrate/las || skip "no lazy address space here"
	load_devices nr_devices=2
	for irq in $(awk '$NF ~ /^intsight[01]$/ { print $1 + 0 }' /proc/interrupts); do
		echo 1 > "/proc/irq/$irq/smp_affinity" || fail "cannot bind line $irq"
	done
	echo 1 > $P/migrate/enabled
	echo 1 > $P/direct/enabled
	for name in "$@"; do
		for count in lazy mm_switched mispredicted; do
			eval "before_$count=$(cat $P/migrate/$count)"
		done
		$program "$name" || fail "$program $name"
		for count in lazy mm_switched mispredicted; do
			now=$(cat $P/migrate/$count)
			eval "nr_$count=\$(($now - before_$count))"
		done
		echo "# $name: $nr_lazy lazily, $nr_mispredicted mispredicted, $nr_mm_switched switched"
		[ "$nr_mispredicted" -ge 50 ] || fail "$name: few were wrong"
		ran_lazily "$name"
		[ "$nr_mm_switched" -gt 0 ] || fail "$name: no address space was loaded"
	done
	echo 0 > $P/migrate/las
	echo 0 > $P/direct/enabled
	echo 0 > $P/migrate/enabled
	unload
	nothing_left
}

ran_lazily() {
	[ "$nr_lazy" -ge "$nr_mispredicted" ] || fail "$1: few ran lazily"
}

lazily() { scenes devmemory "$@"; }

test_irqpath_las_memory() {
	lazily tlb membarrier limited
}

test_irqpath_las_swap() {
	[ -e /proc/swaps ] || skip "a kernel without CONFIG_SWAP"
	[ -b $SWAP ] || skip "no $SWAP"
	mkswap $SWAP > /dev/null || fail "mkswap"
	swapon $SWAP || fail "cannot swap to $SWAP"
	# Not every kernel reports this in /proc/vmstat.
	(lazily swap) > /tmp/swap
	verdict=$?
	cat /tmp/swap
	swapoff $SWAP || fail "cannot stop swapping"
	[ $verdict = 0 ] || exit $verdict
	came=$(awk '/^# swapped in/ { print $4 }' /tmp/swap)
	[ "$came" -ge 500 ] || fail "$came pages swapped in"
}

test_irqpath_las_life() {
	lazily ptrace lenders threads killed exec
}

# A task with segments of its own needs its own table at each switch to it.
test_irqpath_las_segments() {
	[ -r /proc/config.gz ] || skip "the kernel does not say what it has"
	zcat /proc/config.gz | grep -q '^CONFIG_MODIFY_LDT_SYSCALL=y' ||
		skip "a kernel without CONFIG_MODIFY_LDT_SYSCALL"
	ran_lazily() {
		# Before it had a table, which it makes after the first round.
		[ "$nr_lazy" -le 5 ] || fail "$1: $nr_lazy ran lazily"
	}
	scenes devsegment segments
}
