# SPDX-License-Identifier: GPL-2.0-or-later
# One series of trace-truth: intsight makes what it knows, irqpath looks on.
#
# KIND, BUSY_NS, EVERY: the disturbance; COUNT, PERIOD_NS: the interrupts. IRQ_PRIO: priority of
# the interrupt thread where handlers are threads. THRESHOLD_US: what irqpath calls slow.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
# A kernel that is not PREEMPT_RT has no such thread.
[ "$(cat /sys/kernel/realtime 2>/dev/null)" != 1 ] || irq_priority "${IRQ_PRIO:-}" intsight0
irqpath trace once -T "$THRESHOLD_US" --task truth -d 600s --json "/results/$SERIES.trace.json" > "/results/$SERIES.txt" 2>&1 &
tracer=$!
# Loading takes more than two seconds of the first series, whose files are not cached.
sleep 6
truth -o "/results/$SERIES" -n "$COUNT" -t "$PERIOD_NS" \
	${KIND:+-k "$KIND:$BUSY_NS:$EVERY:$EVERY"}
sleep 1
kill -INT "$tracer"
# 1: paths were longer than the threshold, as they are meant to be.
wait "$tracer" || [ $? = 1 ]
