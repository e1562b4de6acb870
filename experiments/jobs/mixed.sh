# SPDX-License-Identifier: GPL-2.0-or-later
# One series of ihm-mixed: a task that waits for a device's timer, and one below it that sends
# requests through the test NIC meanwhile.
#
# REPS, DELAY_NS, SPREAD_NS (more delay, see waiter), TIMER_PRIO: the first. NET_PRIO, SIZE, RTT_US:
# the other; TCP=1: a server in another namespace answers, one above the client, else the NIC's own peer
# answers UDP. TIMER_IRQ_PRIO, NET_IRQ_PRIO: priorities of the interrupts' threads, empty is the kernel's
# default.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
if [ "$TCP" = 1 ]; then
	set -- -t
	nic_on "$RTT_US" $((NET_PRIO + 1))
else
	nic_on "$RTT_US" ''
fi
irq_priority "${TIMER_IRQ_PRIO:-}" intsight0
irq_priority "${NET_IRQ_PRIO:-}" 'isight[01]'
policies_on
# An instruction may take 16 ns, and a program is then long in starting.
at=$(later_ms 1000)
netping "$@" -a "$at" -d $((REPS * (DELAY_NS + SPREAD_NS / 2) / 1000000 + 1000)) -n 100000 -b "$SIZE" -p "$NET_PRIO" \
	10.9.0.2 5000 > /tmp/net.csv &
net=$!
calc_on
# Its first 100 are not kept: the other one begins meanwhile.
waiter -w 100 -n "$REPS" -t "$DELAY_NS" -j "$SPREAD_NS" -p "$TIMER_PRIO" > "/results/$SERIES.csv"
wait $net
calc_off
awk '/^# transactions/ { print "rate", $3 * 1e9 / $NF; print "path_ns", $NF / $3 - rtt * 1000 }' \
	rtt="$RTT_US" /tmp/net.csv > "/results/$SERIES.values"
policies_off
nic_off
