# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of every mechanism with every trigger, active and passive, with
# tracepoints and without, and of rows that are too short. Sourced by run.sh.

# Runs of each mechanism with each trigger.
RUNS=${RUNS:-1000}

# On arm64 each CPU has its own cycle counter.
cannot_compare() {
	[ "$1" = workqueue_unbound ] &&
		[ "$(grep -c ^processor /proc/cpuinfo)" -gt 1 ] &&
		case " $(clocks) " in *" pmccntr "*) ;; *) false ;; esac
}

each_mechanism() {
	for trigger in $(cat $D/available_triggers); do
		set_ trigger "$trigger"
		for handler in $(cat $D/available_bottom_handlers); do
			set_ bottom_handler "$handler"
			if cannot_compare "$handler"; then
				step prepare || fail "prepare refused"
				(step do) 2> /dev/null && fail "compared CPUs"
				continue
			fi
			benchmark
			check_results "$1"
			[ "$(cat $D/overflows)" = "0 0" ] ||
				fail "$trigger, $handler: overflows"
		done
	done
}

test_passive() {
	load
	set_ reps "$RUNS"
	set_ delay_us 200
	each_mechanism "$RUNS"
	if grep -qv '^trigger,top_half,bottom_half$' $D/csv_results/name; then
		fail "a checkpoint that nobody asked for"
	fi
	unload
}

test_active() {
	load
	set_ delay_type udelay
	set_ reps 20
	set_ delay_us 500
	each_mechanism 20
	unload
}

test_no_delay() {
	load
	set_ reps "$RUNS"
	set_ delay_us 0
	each_mechanism "$RUNS"
	unload
}

test_tracepoints() {
	few=$((RUNS / 5))
	load
	set_ reps $few
	set_ delay_us 1000
	set_ checkpoint_capacity 256
	set_ tracepoints "$(cat $D/available_tracepoints)"
	each_mechanism $few
	set_ bottom_handler workqueue
	set_ trigger hrtimer
	set_ tracepoints "sched_switch irq_handler_exit workqueue_execute_start"
	benchmark
	check_results $few
	for name in irq_handler_exit sched_switch workqueue_execute_start; do
		lines=$(grep -c ",$name," $D/csv_results/name)
		[ "$lines" = $few ] || fail "$name in $lines of $few runs"
	done
	if grep -q softirq_entry $D/csv_results/name; then
		fail "a tracepoint that was not asked for"
	fi
	unload
}

test_overflow() {
	load
	set_ reps 100
	set_ delay_us 500
	set_ checkpoint_capacity 4
	set_ bottom_handler workqueue
	# All three come after the top half, so that two of them have no cell.
	set_ tracepoints "sched_switch irq_handler_exit workqueue_execute_start"
	benchmark
	# The row has both ends, and the missing stamps are counted.
	check_results 100
	long=$(grep -c ',.*,.*,.*,' $D/csv_results/name)
	[ "$long" = 0 ] || fail "$long rows are longer than the capacity"
	set -- $(cat $D/overflows)
	[ "$1" = 100 ] || fail "$1 of 100 runs overflowed"
	[ "$2" -ge 200 ] || fail "$2 checkpoints were not stored"
	set_ tracepoints ""
	benchmark
	[ "$(cat $D/overflows)" = "0 0" ] || fail "overflows were kept"
	unload
}
