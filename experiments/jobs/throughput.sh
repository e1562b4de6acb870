# SPDX-License-Identifier: GPL-2.0-or-later
# One series of netprio-throughput: iperf3 for LENGTH_S seconds by TCP to a server in another namespace;
# DEVICES: `veth`, or `nic` for the two ends of the test NIC, whose wire takes RTT_US and no time for the
# bytes.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed

unshare -n sleep 10000 &
space=$!
until [ "$(readlink /proc/$space/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
	sleep 0.01
done
in_space() {
	nsenter -t "$space" -n "$@"
}
if [ "$DEVICES" = veth ]; then
	ip link add type veth
	set -- veth0 veth1
else
	insmod /modules/intsight.ko nic=1 nr_devices=0
	set -- isight0 isight1
	echo "$RTT_US" > /sys/class/net/isight0/intsight/rtt_us
	echo 4096 > /sys/class/net/isight0/intsight/ring
fi
ip link set "$2" netns "$space"
ip addr add 10.9.0.1/24 dev "$1"
ip link set "$1" up
in_space ip addr add 10.9.0.2/24 dev "$2"
in_space ip link set "$2" up

policies_on
in_space iperf3 -4 -s -1 > /dev/null &
server=$!
until in_space grep -q ':1451 .* 0A ' /proc/net/tcp; do
	sleep 0.01
done
iperf3 -4 -c 10.9.0.2 -t "$LENGTH_S" -f k > "/results/$SERIES.txt"
wait "$server"
awk '/receiver$/ { print "kbit_per_s", $7 }' "/results/$SERIES.txt" > "/results/$SERIES.values"
policies_off
# Before the namespace, which ends in its own time.
if [ "$DEVICES" = veth ]; then
	ip link del veth0
else
	rmmod intsight
fi
kill "$space"
wait "$space" || true
