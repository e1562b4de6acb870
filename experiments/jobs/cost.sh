# SPDX-License-Identifier: GPL-2.0-or-later
# One series of trace-cost: the same work with and without irqpath looking on.
#
# TRACE: off, default, or options of `irqpath trace once`. WORK: timer (REPS, DELAY_NS, PRIO,
# IRQ_PRIO as in waiter.sh) or hackbench (NR_GROUPS, LOOPS, RUNS: fixed work,
# so that cycles compare).
# shellcheck source=/dev/null
. /jobs/irqpath.sh
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
# Makes what later runs find: slabs, page cache. Before the tracer, which would count its events.
[ "$WORK" = timer ] || hackbench -p -g "$NR_GROUPS" -l "$LOOPS"
tracer=
if [ "$TRACE" != off ]; then
	[ "$TRACE" != default ] || TRACE=
	# shellcheck disable=SC2086 # options are words
	irqpath trace once $TRACE -d 3600s --json "/results/$SERIES.trace.json" > "/results/$SERIES.txt" 2>&1 &
	tracer=$!
	# It starts, and takes the statistics of its first half second.
	sleep 3
	# The tracer's programs are gone when the lab reads the symbols.
	grep '\[bpf\]' /proc/kallsyms >> /tmp/symbols
fi
case "$WORK" in
timer)
	# A kernel that is not PREEMPT_RT has no such thread.
	[ "$(cat /sys/kernel/realtime 2>/dev/null)" != 1 ] || irq_priority "$IRQ_PRIO" intsight0
	waiter -n "$REPS" -t "$DELAY_NS" -p "$PRIO" -H > "/results/$SERIES.csv"
	;;
hackbench)
	tally -o "/results/$SERIES" -n "$RUNS" ${tracer:+-p "$tracer"} \
		hackbench -p -g "$NR_GROUPS" -l "$LOOPS"
	;;
esac
if [ -n "$tracer" ]; then
	kill -INT "$tracer"
	# 1: paths were longer than the threshold, as they are meant to be.
	wait "$tracer" || [ $? = 1 ]
fi
