# SPDX-License-Identifier: GPL-2.0-or-later
# One series of ihm-net: requests and responses through the test NIC.
#
# REPS, SIZE, PRIO: the client; TCP=1: a server in another namespace answers, its priority one above
# the client's, else the NIC's own peer answers UDP. RTT_US: round trip. IRQ_PRIO: priority of the
# NIC's interrupt threads, empty is the kernel's default. POLICIES, SETTINGS: see irqpath.sh.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
if [ "$TCP" = 1 ]; then
	set -- -t
	nic_on "$RTT_US" $((PRIO + 1)) nr_devices=0
else
	nic_on "$RTT_US" '' nr_devices=0
fi
irq_priority "${IRQ_PRIO:-}" 'isight.'
policies_on
netping "$@" -n "$REPS" -b "$SIZE" -p "$PRIO" -H 10.9.0.2 5000 > "/results/$SERIES.csv"
awk '/^# transactions/ { print "elapsed_ns", $NF; print "path_ns", $NF / $3 - rtt * 1000 }
	/^# switches/ { print "switches", $NF }' rtt="$RTT_US" "/results/$SERIES.csv" > "/results/$SERIES.values"
policies_off
nic_off
