# SPDX-License-Identifier: GPL-2.0-only
#
# Each safety rule has a test that fails without the rule. Where the kernel can
# suspend a rule (CONFIG_IRQPATH_FAULTS), these tests prove it. Sourced by
# run.sh.

# needs_rule BITS TEST: TEST fails while the rules of these bits are suspended.
needs_rule() {
	[ -e $P/faults/suspended ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	mask=0
	for bit in $1; do
		mask=$((mask | 1 << bit))
	done
	echo $mask > $P/faults/suspended
	("test_$2")
	verdict=$?
	rule_again "$2"
	[ $verdict != 4 ] || skip "with its test"
	[ $verdict = 1 ] || fail "$2 ends with $verdict without its rule"
	# The suspended rule leaves nothing behind.
	policy migrate
	wait_for 20
	policy_off migrate
}

# Restores the rules after a test that broke off.
rule_again() {
	pidof waiter urgent tracer netjob netsink harass | xargs -r kill -9 2> /dev/null
	sleep 0.1
	echo 0 > $P/faults/suspended
	echo 0 > $P/faults/drop_every
	echo 200 > $P/migrate/watchdog_us
	echo 0 > $P/migrate/enabled
	echo 0 > $P/direct/enabled
	echo 0 > $P/selective/enabled
	echo 0 > $P/netprio/enabled
	rmmod intsight 2> /dev/null
	! grep -q ^intsight /proc/modules || fail "after $1 the module does not go"
}

# In the order of enum rule in kernel/irqpath/faults.c.
test_irqpath_needs_forced() { needs_rule 0 irqpath_forced_only; }
test_irqpath_needs_token() { needs_rule 1 irqpath_one_token; }
test_irqpath_needs_runner() { needs_rule 2 irqpath_one_runner; }
test_irqpath_needs_unmask() { needs_rule 3 irqpath_unmasks; }
test_irqpath_needs_drain() { needs_rule 4 irqpath_drains; }
test_irqpath_needs_own() { needs_rule 5 irqpath_own_softirqs; }
test_irqpath_needs_foreign() { needs_rule 6 irqpath_foreign_softirqs; }
# Suspends bit 8 too: with that rule the task would hand the offer back.
test_irqpath_needs_priority() { needs_rule "7 8" irqpath_respects_priority; }
test_irqpath_needs_fit() { needs_rule 8 irqpath_hands_back; }
test_irqpath_needs_traced() { needs_rule 9 irqpath_traced; }
test_irqpath_needs_affinity() { needs_rule 10 irqpath_moved; }
test_irqpath_needs_order() { needs_rule 11 irqpath_most_urgent_first; }
test_irqpath_needs_outranked() { needs_rule 13 irqpath_outranked; }
test_irqpath_needs_signal() { needs_rule 14 irqpath_killed; }
test_irqpath_needs_reorder() { needs_rule 15 irqpath_reordered; }
test_irqpath_needs_by_hand() { needs_rule 17 irqpath_selective_obeys; }
test_irqpath_needs_uncrossed() { needs_rule 17 irqpath_selective_crossed; }
test_irqpath_needs_threads() { needs_rule 21 irqpath_selective_serves_threads; }
test_irqpath_needs_flow() { needs_rule 18 netprio_keeps_order; }
test_irqpath_needs_lend() { needs_rule 19 irqpath_lends; }
test_irqpath_needs_own_priority() { needs_rule 20 irqpath_borrowed; }

# Runs in a guest of its own: KASAN sees the task use freed memory.
test_irqpath_needs_withdraw() {
	[ -e $P/faults/suspended ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	! dmesg | grep -q 'BUG: KASAN' || fail "the kernel has complained before"
	echo $((1 << 16)) > $P/faults/suspended
	(test_irqpath_withdraws)
	[ $? != 4 ] || skip "with its test"
	dmesg | grep -q 'BUG: KASAN' || fail "nothing was found without the rule"
}

inversions() {
	dmesg | grep -c 'possible circular locking dependency'
}

# The task sleeps with the lock that the handler takes.
sleeps_with_the_lock() {
	# shellcheck disable=SC2016 # the inner shell's
	fifo 80 sh -c 'echo $$ > "$1"; echo 2 > /sys/module/intsight/parameters/inversion' sh \
		"/proc/irq/$(device_irq)/irqpath_target" || fail "cannot wait with the lock"
}

# lockdep finds a task that sleeps with a lock of the handler before the task
# ever runs that handler, but only if the task announces that it may run one.
# Runs in a guest of its own: the kernel complains and stops checking locks.
test_irqpath_inversion() {
	[ -e $P/faults/suspended ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	needs fifo
	[ -e /proc/lockdep_stats ] || skip "a kernel without lockdep"
	[ "$(inversions)" = 0 ] || fail "the kernel has complained before"
	policy learn
	echo 1 > /sys/module/intsight/parameters/inversion
	wait_for 5 read -k handler:1000:1:1
	echo 1 > $P/migrate/enabled
	echo $((1 << 12)) > $P/faults/suspended
	sleeps_with_the_lock
	[ "$(inversions)" = 0 ] || fail "found without the rule"
	echo 0 > $P/faults/suspended
	sleeps_with_the_lock
	[ "$(inversions)" = 1 ] || fail "not found"
}
