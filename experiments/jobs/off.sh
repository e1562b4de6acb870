# SPDX-License-Identifier: GPL-2.0-or-later
# One series of off-cost: the timer's path (WORK=timer, the rest as in waiter.sh), or hackbench
# (WORK=hackbench: RUNS times a group of FDS pairs with LOOPS messages each).
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
case "$WORK" in
timer)
	if [ -n "${IRQ_PRIO:-}" ]; then
		prio "$IRQ_PRIO" "irq/$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)-"
	fi
	waiter -n "$REPS" -t "$DELAY_NS" -p "$PRIO" > "/results/$SERIES.csv"
	;;
hackbench)
	# Makes what later runs find: slabs, page cache.
	hackbench -p -g 1 -f "$FDS" -l 10
	tally -o "/results/$SERIES" -n "$RUNS" hackbench -p -g 1 -f "$FDS" -l "$LOOPS"
	;;
esac
