# SPDX-License-Identifier: GPL-2.0-or-later
# The job of steer.rs. A FIFO 20 task receives on port 5000 and a FIFO 40 task on port 5001, by a
# NIC with two receive queues. Leaves `said`: the priorities of the threads of the queues, and which
# queues interrupted. Also what tune printed.
set -e
insmod /modules/intsight.ko nic=1 nic_queues=2
nic=/sys/class/net/isight0/intsight
echo echo > $nic/peer
ip addr add 10.9.0.1/24 dev isight0
ip link set isight0 up
cp "$(command -v netsink)" /bin/low
cp "$(command -v netsink)" /bin/high
low -n 1000000 -T 600000 -p 20 5000 > /dev/null &
low=$!
high -n 1000000 -T 600000 -p 40 5001 > /dev/null &
high=$!
sleep 0.5
echo 5000 > $nic/burst_port
echo 2 > $nic/burst_ports
echo 500 > $nic/burst_pps
echo 10000000 > $nic/burst

# interrupts NAME: how often the line of a queue came.
interrupts() {
	awk -v name="$1" '$NF == name { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' \
		/proc/interrupts
}
# The threads of both queues by their names, which have the order of the queues.
polls() {
	grep '^napi/isight0-' /proc/[0-9]*/comm | sort -t : -k 2 | cut -d / -f 3
}
# say WHEN: the priority of each queue's thread, and of each queue whether it interrupts.
say() {
	first=$(interrupts isight0)
	second=$(interrupts isight0-1)
	sleep 0.5
	for tid in $(polls); do
		printf '%s ' "$(sed 's/.*) //' "/proc/$tid/stat" | cut -d ' ' -f 38)"
	done > now
	[ "$(interrupts isight0)" = "$first" ] || printf 'queue0 ' >> now
	[ "$(interrupts isight0-1)" = "$second" ] || printf 'queue1 ' >> now
	echo "$1: $(sed 's/ $//' now)" >> said
}

irqpath tune --packets=isight0 --steer --learn 200ms > dry.txt
say "dry run"
irqpath tune --packets=isight0 --apply --learn 2s > threads.txt
say "threads"
irqpath tune --packets=isight0 --steer --apply --learn 2s > steered.txt
say "steered"
irqpath tune status > status.txt
irqpath tune --packets=isight0,isight1,lo --steer --apply --learn 1s > again.txt
say "again"

# The high receiver ends: the low one gets the queue to itself.
kill "$high"
wait "$high" || true
irqpath tune --packets=isight0 --steer --apply --learn 1s > alone.txt
say "alone"
high -n 1000000 -T 600000 -p 40 5001 > /dev/null &
high=$!
sleep 0.5

# Killed with all rules in place.
irqpath tune --packets=isight0 --steer --apply --watch --learn 2s > watch.txt 2>&1 &
watch=$!
sleep 5
kill -9 "$watch"
wait "$watch" || true
say "the watch was killed"
irqpath tune reset > reset.txt
say "reset"
irqpath tune --packets=isight0 --steer --learn 200ms > after.txt
irqpath tune reset > nothing.txt
kill "$low" "$high"
wait "$low" "$high" || true
