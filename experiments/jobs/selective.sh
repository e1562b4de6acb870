# SPDX-License-Identifier: GPL-2.0-or-later
# One series of selective-*: what hackbench costs, or how late a real-time task is beside it.
#
# POLICIES: of an irqpath kernel, switched on for this series. WORK=hackbench: RUNS times NR_GROUPS
# groups with LOOPS messages, with RT=1 beside a FIFO 80 task that waits for the intsight device all
# the time. WORK=latency: REPS waits of such a task, beside hackbench and tbench without end, with DOWNLOAD=1
# beside somebody as well who fetches a file over the test NIC (NIC=1) all the time. Its interrupt comes
# DELAY_NS after the task has asked for it. FLAGS: more for waiter (-H: a CPU-bound task).
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko ${NIC:+nic=1}

space=
downloads_on() {
	mkdir -p /tmp/served
	head -c 16000000 /dev/urandom > /tmp/served/file
	unshare -n httpd -f -h /tmp/served -p 80 &
	space=$!
	until [ "$(readlink /proc/$space/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.01
	done
	ip link set isight1 netns "$space"
	ip addr add 10.9.0.1/24 dev isight0
	ip link set isight0 up
	nsenter -t "$space" -n ip addr add 10.9.0.2/24 dev isight1
	nsenter -t "$space" -n ip link set isight1 up
	touch /tmp/downloading
	while [ -e /tmp/downloading ]; do
		wget -q -O /tmp/file http://10.9.0.2/file
	done &
	downloader=$!
}
downloads_off() {
	rm /tmp/downloading
	wait "$downloader" || true
	kill "$space"
	wait "$space" || true
}
# Without a fork, which would wait, too.
received() {
	read -r "lo_$1" < /sys/class/net/lo/statistics/rx_bytes
	read -r "nic_$1" < /sys/class/net/isight0/statistics/rx_bytes
	read -r "packets_$1" < /sys/class/net/isight0/statistics/rx_packets
	read -r "interrupts_$1" < /sys/class/net/isight0/intsight/handled
}
# Makes what later runs find: slabs, page cache, pipes as long as they get.
hackbench -p -g "$NR_GROUPS" -l "${LOOPS:-10}"
policies_on
other=
case "$WORK" in
hackbench)
	if [ "${RT:-0}" = 1 ]; then
		waiter -n 20000 -t "$DELAY_NS" -p 80 > /dev/null &
		other=$!
	fi
	tally -o "/results/$SERIES" -n "$RUNS" hackbench -p -g "$NR_GROUPS" -l "$LOOPS"
	;;
latency)
	# Hackbench last: whoever starts beside its tasks waits for all of them.
	ip link set lo up
	[ "${DOWNLOAD:-0}" = 0 ] || downloads_on
	tbench_srv > /dev/null 2>&1 &
	server=$!
	sleep 0.2
	tbench -c /usr/share/dbench/client.txt -t 100000 1 127.0.0.1 > /dev/null &
	client=$!
	hackbench -p -g "$NR_GROUPS" -l 1000000 > /dev/null &
	other=$!
	sleep 1
	received before
	# shellcheck disable=SC2086 # options are words
	waiter -n "$REPS" -t "$DELAY_NS" -p 80 ${FLAGS:-} > "/results/$SERIES.csv"
	received after
	;;
esac
if [ -n "$other" ]; then
	# hackbench ends its children when it is told to end.
	kill -INT "$other"
	wait "$other" || true
fi
[ -z "$space" ] || downloads_off
if [ "$WORK" = latency ]; then
	kill "$client" "$server"
	wait "$client" "$server" || true
	# shellcheck disable=SC2154 # received() sets them
	awk "BEGIN { print \"tbench_mb\", ($lo_after - $lo_before) / 1e6
		     print \"downloaded_mb\", ($nic_after - $nic_before) / 1e6
		     interrupts = $interrupts_after - $interrupts_before
		     if (interrupts > 0)
			print \"packets_per_interrupt\", ($packets_after - $packets_before) / interrupts
		   }" > "/results/$SERIES.values"
fi
policies_off
