# SPDX-License-Identifier: GPL-2.0-or-later
# One series of ihm-contend or ihm-mispredict: two tasks that send requests through the test NIC,
# whose own peer answers; a CPU-bound task below them.
#
# HIGH_PRIO, HIGH_RTT_US and LOW_PRIO, LOW_RTT_US: the tasks; a low round trip of 0 leaves the low
# one away, a high one of 0 gives the high one no answer once it is known. HIGH_SPREAD_NS: the high one
# sleeps so long at most before a request, see netping. LOW_SWEEP_US: every 20 ms the low one's round trip
# is another one of so wide a range around LOW_RTT_US. IRQ_PRIO: priority
# of the NIC's interrupt threads, empty is the kernel's default. LENGTH_MS: how long both talk, less
# than a second.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
nic_on "$LOW_RTT_US" '' nr_devices=0
echo 5000 > "$N"/slow_port
echo $((HIGH_RTT_US > 0 ? HIGH_RTT_US : 500)) > "$N"/slow_rtt_us
irq_priority "${IRQ_PRIO:-}" 'isight[01]'
policies_on
runs_before=$(migrated)
misses_before=$(mispredicted)
switches_before=$(mm_switched)
stood_in_before=$(stood_in)

talk() {
	netping -a "$at" -d "$LENGTH_MS" -n 100000 -b "$SIZE" "$@"
}
at=$(later_ms 400)
# shellcheck disable=SC2086 # words
talk -p "$HIGH_PRIO" ${HIGH_SPREAD_NS:+-j $HIGH_SPREAD_NS} 10.9.0.2 5000 > "/results/$SERIES.csv" &
high=$!
low=
if [ "$LOW_RTT_US" != 0 ]; then
	talk -p "$LOW_PRIO" 10.9.0.2 6000 > /tmp/low.csv &
	low=$!
fi
if [ "$HIGH_RTT_US" = 0 ]; then
	# Its first requests have been answered by then, and it sleeps until both begin.
	sleep 0.2
	echo 10000000 > "$N"/slow_rtt_us
fi
# A step of 7 has every number once before it has one twice, as the range is no multiple of it.
sweep() {
	step=0
	while :; do
		echo $((LOW_RTT_US - LOW_SWEEP_US / 2 + step * 7 % LOW_SWEEP_US)) > "$N"/rtt_us
		step=$((step + 1))
		sleep 0.02
	done
}
sweeper=
if [ "${LOW_SWEEP_US:-0}" != 0 ]; then
	sweep &
	sweeper=$!
fi
calc_on
# Who gets no answer has lost it; that is counted.
wait $high || true
[ -z "$low" ] || wait $low || true
calc_off
[ -z "$sweeper" ] || kill $sweeper

# totals NAME RTT_US FILE: what a task did.
totals() {
	awk '/^# transactions/ { print name ".rate", $3 * 1e9 / $NF; print name ".lost", $5
			       print name ".path_ns", $NF / $3 - rtt * 1000 }' name="$1" rtt="$2" "$3"
}
# Context switches of the machine while the high task talks, by transactions of both.
switches() {
	awk '/^# transactions/ { nr += $3 } /^# switches/ && !all { all = $NF } END { print "switches", all / nr }' "$@"
}
{
	if [ "$HIGH_RTT_US" = 0 ]; then
		rm "/results/$SERIES.csv"
	else
		totals high "$HIGH_RTT_US" "/results/$SERIES.csv"
		if [ -n "$low" ]; then
			switches "/results/$SERIES.csv" /tmp/low.csv
		else
			switches "/results/$SERIES.csv"
		fi
	fi
	[ -z "$low" ] || totals low "$LOW_RTT_US" /tmp/low.csv
	success "$runs_before" "$misses_before" "$switches_before" "$stood_in_before"
} > "/results/$SERIES.values"
policies_off
nic_off
