# SPDX-License-Identifier: GPL-2.0-or-later
# One series of off-cost: the timer's path (WORK=timer, the rest as in waiter.sh), or hackbench
# (WORK=hackbench: RUNS times a group of FDS pairs with LOOPS messages each).
# shellcheck source=/dev/null
. /jobs/irqpath.sh
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
case "$WORK" in
timer)
	irq_priority "${IRQ_PRIO:-}" intsight0
	waiter -n "$REPS" -t "$DELAY_NS" -p "$PRIO" > "/results/$SERIES.csv"
	# The next series finds the kernel's default again.
	irq_priority "${IRQ_PRIO:+50}" intsight0
	;;
hackbench)
	# Makes what later runs find: slabs, page cache.
	hackbench -p -g 1 -f "$FDS" -l "$LOOPS"
	tally -o "/results/$SERIES" -n "$RUNS" hackbench -p -g 1 -f "$FDS" -l "$LOOPS"
	;;
esac
