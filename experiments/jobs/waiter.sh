# SPDX-License-Identifier: GPL-2.0-or-later
# One series of an experiment in which a real-time task waits for the intsight device.
#
# REPS, DELAY_NS, PRIO, WAIT: the task; IRQ_PRIO: priority of the interrupt's thread, empty is the
# kernel's default; FLAGS: more for waiter (-H: a CPU-bound task below, -D: woken from hardirq);
# POLICIES, SETTINGS: see irqpath.sh.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
irq_priority "${IRQ_PRIO:-}" intsight0
policies_on
# shellcheck disable=SC2086 # options are words
waiter -n "$REPS" -t "$DELAY_NS" -p "$PRIO" -s "${WAIT:-read}" ${FLAGS:-} > "/results/$SERIES.csv"
policies_off
awk '/^# switches/ { print "switches", $3 / reps }' reps="$REPS" "/results/$SERIES.csv" > "/results/$SERIES.values"
# The next series finds the kernel's default again.
irq_priority "${IRQ_PRIO:+50}" intsight0
