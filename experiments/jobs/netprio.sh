# SPDX-License-Identifier: GPL-2.0-or-later
# One series of netprio-*: a CPU-bound job of FIFO JOB_PRIO, about JOB_INSTRUCTIONS in every PERIOD_NS,
# REPS times, beside a FIFO 20 task that receives; the NIC's threads stay at FIFO 50.
#
# PPS: packets per second by UDP, in order of their numbers, 0 for none. TCP=1: instead, a task sends a
# stream to an echo server in another namespace and reads it back, both at FIFO 20, for STREAM_MS; with
# JOB_INSTRUCTIONS=0 nothing runs beside it. POLICIES, SETTINGS: see irqpath.sh; netprio's counts are kept.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
COUNTS="exempt classified passed held dropped served expired kept"
insmod /modules/intsight.ko nic=1 nr_devices=0
echo 4096 > "$N"/ring
if [ "${TCP:-0}" = 1 ]; then
	echo "$RTT_US" > "$N"/rtt_us
	echo "$PPS" > "$N"/rate_pps
	server=$(netserver -p 20 5000)
else
	echo echo > "$N"/peer
	ip addr add 10.9.0.1/24 dev isight0
	ip link set isight0 up
fi
if [ -n "${POLICIES:-}" ]; then
	for name in $COUNTS; do
		eval "before_$name=$(cat "$P/netprio/$name")"
	done
fi
policies_on
if [ "${TCP:-0}" = 1 ]; then
	netstream -T "$STREAM_MS" -p 20 10.9.0.2 5000 > "/results/$SERIES.stream" &
	receiver=$!
	# Until the stream is as fast as it gets.
	sleep 1
else
	netsink -n 1000000 -T 1000 -p 20 5000 > "/results/$SERIES.sink" &
	receiver=$!
	sleep 0.1
	if [ "$PPS" != 0 ]; then
		echo "$PPS" > "$N"/burst_pps
		echo 1000000000 > "$N"/burst
	fi
fi
if [ "$JOB_INSTRUCTIONS" != 0 ]; then
	netjob -n "$REPS" -i "$JOB_INSTRUCTIONS" -P "$PERIOD_NS" -p "$JOB_PRIO" > "/results/$SERIES.csv"
	awk '/^# missed/ { print "missed", $3 }' "/results/$SERIES.csv" > "/results/$SERIES.values"
fi
[ "${TCP:-0}" = 1 ] || echo 0 > "$N"/burst
# netsink has not had all that it would take, and says so.
wait $receiver || [ "${TCP:-0}$?" = 01 ]
if [ "${TCP:-0}" = 1 ]; then
	awk '/^# bytes/ { print "bytes", $3; print "wrong", $5 }' "/results/$SERIES.stream"
else
	arrived=$(($(cat "$N"/received) - $(cat "$N"/answered) + $(cat "$N"/overflowed)))
	awk -v arrived=$arrived '/^# port/ { print "arrived", arrived; print "lost", arrived - $5
		print "disordered", $7 }' "/results/$SERIES.sink"
	echo "overflowed $(cat "$N"/overflowed)"
fi >> "/results/$SERIES.values"
policies_off
if [ -n "${POLICIES:-}" ]; then
	for name in $COUNTS; do
		eval "echo $name \$(($(cat "$P/netprio/$name") - before_$name))"
	done >> "/results/$SERIES.values"
fi
[ "${TCP:-0}" = 0 ] || kill "$server"
rmmod intsight
