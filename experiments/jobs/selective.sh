# SPDX-License-Identifier: GPL-2.0-or-later
# One series of selective-*: what hackbench costs, or how late a real-time task is beside it.
#
# POLICIES: of an irqpath kernel, switched on for this series. WORK=hackbench: RUNS times NR_GROUPS
# groups with LOOPS messages, with RT=1 beside a FIFO 80 task that waits for the intsight device all
# the time. WORK=latency: REPS waits of such a task, beside hackbench without end. Its interrupt comes
# DELAY_NS after the task has asked for it. FLAGS: more for waiter (-H: a CPU-bound task).
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
# Makes what later runs find: slabs, page cache, pipes as long as they get.
hackbench -p -g "$NR_GROUPS" -l "${LOOPS:-10}"
policies_on
other=
case "$WORK" in
hackbench)
	if [ "${RT:-0}" = 1 ]; then
		waiter -n 20000 -t "$DELAY_NS" -p 80 > /dev/null &
		other=$!
	fi
	tally -o "/results/$SERIES" -n "$RUNS" hackbench -p -g "$NR_GROUPS" -l "$LOOPS"
	;;
latency)
	hackbench -p -g "$NR_GROUPS" -l 1000000 > /dev/null &
	other=$!
	# shellcheck disable=SC2086 # options are words
	waiter -n "$REPS" -t "$DELAY_NS" -p 80 ${FLAGS:-} > "/results/$SERIES.csv"
	;;
esac
if [ -n "$other" ]; then
	# hackbench ends its children when it is told to end.
	kill -INT "$other"
	wait "$other" || true
fi
policies_off
