# SPDX-License-Identifier: GPL-2.0-or-later
# One series of tune-selective and tune-packets: a job of FIFO 30, about JOB_INSTRUCTIONS in every
# PERIOD_NS, REPS times, beside packets.
#
# PPS: packets per second by UDP, 0 for none. RECEIVER: FIFO priority of who receives them, 0 for an
# ordinary task. SECOND: the same of another receiver on a second port, which gets every other packet.
# SERVED=1: a FIFO 80 task waits for the intsight device meanwhile. TUNE: options of `irqpath tune`
# beside --apply, which learns for LEARN first, from LEARN_PPS packets per second, and is reset at the
# end. QUEUES: receive queues of the NIC. POLICIES, SETTINGS: see irqpath.sh.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
insmod /modules/intsight.ko nic=1 nic_queues="${QUEUES:-1}"
echo 4096 > "$N"/ring
echo echo > "$N"/peer
ip addr add 10.9.0.1/24 dev isight0
ip link set isight0 up

# Priority (field 40 of /proc/PID/stat) of the threads whose name begins like this:
# 0 is ordinary.
priority_of() {
	for process in /proc/[0-9]*; do
		read -r comm 2> /dev/null < "$process/comm" || continue
		case $comm in "$1"*) sed 's/.*) //' "$process/stat" | cut -d ' ' -f 38 ;; esac
	done
}
line_of() { awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts; }
threads() {
	echo "nic_$1 $(priority_of "irq/$(line_of isight0)-")"
	echo "device_$1 $(priority_of "irq/$(line_of intsight0)-")"
	napi=$(priority_of napi/isight0- | sort -n | tail -n 1)
	echo "napi_$1 ${napi:--1}"
	echo "threaded_$1 $(cat /sys/class/net/isight0/threaded)"
}
sink() {
	case $1 in
	0) netsink -n 1000000 -T 1000 "$2" ;;
	*) netsink -n 1000000 -T 1000 -p "$1" "$2" ;;
	esac > "/results/$SERIES.sink$2" &
}

policies_on
threads before > "/results/$SERIES.values"
sink "$RECEIVER" 5000
first=$!
second=
if [ -n "${SECOND:-}" ]; then
	sink "$SECOND" 5001
	second=$!
	echo 2 > "$N"/burst_ports
fi
served=
if [ "${SERVED:-0}" = 1 ]; then
	waiter -n 1000000 -t 5000000 -p 80 > /dev/null &
	served=$!
fi
sleep 0.1
packets() {
	echo 0 > "$N"/burst
	[ "$PPS" = 0 ] || echo "$1" > "$N"/burst_pps
	[ "$PPS" = 0 ] || echo 1000000000 > "$N"/burst
}
if [ -n "${TUNE+set}" ]; then
	# Fewer, as to learn from each takes longer than to receive it.
	packets "$LEARN_PPS"
	# shellcheck disable=SC2086 # options are words
	irqpath tune --learn "$LEARN" --apply ${TUNE:-} > "/results/$SERIES.tune.txt" 2>&1
fi
packets "$PPS"
threads during >> "/results/$SERIES.values"
netjob -n "$REPS" -i "$JOB_INSTRUCTIONS" -P "$PERIOD_NS" -p 30 > "/results/$SERIES.csv"
echo 0 > "$N"/burst
wait $first $second || true
if [ -n "$served" ]; then
	kill "$served"
	wait "$served" || true
fi
arrived=$(($(cat "$N"/received) - $(cat "$N"/answered) + $(cat "$N"/overflowed)))
cat "/results/$SERIES.sink"* | awk -v arrived=$arrived '/^# port/ { came += $5; wrong += $7 }
	END { print "arrived", arrived; print "lost", arrived - came; print "disordered", wrong + 0 }' \
	>> "/results/$SERIES.values"
echo "overflowed $(cat "$N"/overflowed)" >> "/results/$SERIES.values"
if [ -n "${TUNE+set}" ]; then
	irqpath tune reset >> "/results/$SERIES.tune.txt" 2>&1
fi
threads after >> "/results/$SERIES.values"
policies_off
rmmod intsight
