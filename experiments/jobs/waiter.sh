# SPDX-License-Identifier: GPL-2.0-or-later
# One series of an experiment in which a real-time task waits for the intsight device.
#
# REPS, DELAY_NS, PRIO, WAIT: the task; IRQ_PRIO: priority of the interrupt's thread, empty is the
# kernel's default; FLAGS: more for waiter (-H: a CPU-bound task below, -D: woken from hardirq).
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
if [ -n "${IRQ_PRIO:-}" ]; then
	prio "$IRQ_PRIO" "irq/$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)-"
fi
# POLICIES: of an irqpath kernel, switched on for this series; what they did goes beside the CSV.
for policy in ${POLICIES:-}; do
	echo 1 > "/sys/kernel/irqpath/$policy/enabled"
done
waiter -n "$REPS" -t "$DELAY_NS" -p "$PRIO" -s "${WAIT:-read}" ${FLAGS:-} > "/results/$SERIES.csv"
for policy in ${POLICIES:-}; do
	echo 0 > "/sys/kernel/irqpath/$policy/enabled"
	grep -r . "/sys/kernel/irqpath/$policy" > "/results/$SERIES.$policy"
done
