# SPDX-License-Identifier: GPL-2.0-only
#
# netprio between two ends of the same machine, one of them in a namespace of its
# own: UDP and TCP, by the test NIC and by virtio-net. A task at FIFO 40 sends
# (netsend) to two below it (netsink), on one CPU, and computes on. Sourced by run.sh.

FAR=10.9.0.2

in_space() {
	nsenter -t "$space" -n "$@"
}

# end DEVICE IP [in_space]
end() {
	no_ipv6=/proc/sys/net/ipv6/conf/$1/disable_ipv6
	${3:-} sh -c "[ ! -e $no_ipv6 ] || echo 1 > $no_ipv6"
	${3:-} ip addr add "$2/24" dev "$1" || fail "$1: no address"
	${3:-} ip link set "$1" up || fail "$1 does not come up"
}

# ends NEAR FAR: two devices, the second one in the namespace of $space; netprio
# is on.
ends() {
	[ -d $NP ] || skip "no $NP: a kernel without CONFIG_IRQPATH"
	needs netsink netsend
	unshare -n sleep 1000 &
	space=$!
	tries=0
	until [ "$(readlink "/proc/$space/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || fail "no namespace"
		sleep 0.01
	done
	near_end=$1
	trap ends_no_more EXIT
	ip link set "$2" netns $space || fail "$2 does not go to the namespace"
	end "$1" 10.9.0.1
	end "$2" $FAR in_space
	echo 1000000 > $NP/max_hold_us
	echo 0 > $NP/napi_hold_us
	echo 1 > $NP/enabled || fail "netprio cannot be enabled"
}

# However the test ends.
ends_no_more() {
	echo 0 > $SERVE
	echo 0 > $NP/enabled
	echo 100000 > $NP/max_hold_us
	kill "$space"
	wait "$space" 2> /dev/null
	ip addr flush dev "$near_end" 2> /dev/null
}

# receiver PRIORITY OPTIONS: netsink has its socket.
receiver() {
	# shellcheck disable=SC2086 # several or none
	in_space taskset 1 netsink $2 -n 20 -T 3000 -p "$1" "50$1" > "/tmp/netsink.$1" &
	eval "sink_$1=$!"
	port=$(printf ':%04X ' "50$1")
	tries=0
	until in_space cat /proc/net/udp /proc/net/tcp | grep -q "$port"; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || fail "netsink has no socket"
		sleep 0.01
	done
}

# sends OPTIONS MIN_HELD: in turns to FIFO 20 and 30, the lower one first. At
# least so many packets of each are held until the sender sleeps; then those for
# FIFO 30 (a level of 69) are served before those for FIFO 20 (79).
sends() {
	receiver 20 "$1"
	receiver 30 "$1"
	level 20
	level 30
	before=$(cat $NP/held)
	traced
	# shellcheck disable=SC2086
	taskset 1 netsend $1 -n 20 -p 40 -w 20000 $FAR 5020 5030 || fail "netsend"
	for prio in 20 30; do
		eval "wait \$sink_$prio" || fail "$1: FIFO $prio: $(cat /tmp/netsink.$prio)"
		grep -q 'disordered 0$' /tmp/netsink.$prio || fail "$1: out of order"
	done
	echo 0 > $SERVE
	grep -o 'level=.*' $TRACING/trace > /tmp/served
	awk -F'[= ]' -v min="$2" '
	$2 == 79 { low++ }
	$2 == 69 { late += low > 0; high++ }
	END { if (low < min || high - late < min) {
		print "# served " high " of FIFO 30, " late " of them late, " low + 0 " of FIFO 20"
		exit 1
	} }' /tmp/served || fail "$1: held $(($(cat $NP/held) - before))"
}

sends_all() {
	sends "" 20
	sends -t 2
}

test_netprio_ends() {
	load_nic
	ends isight0 isight1
	sends_all
	unload
}

# On a machine with two that are connected.
test_netprio_virtio() {
	# shellcheck disable=SC2046 # names
	set -- $(for device in /sys/class/net/*; do
		[ "$(basename "$(readlink "$device/device/driver")")" != virtio_net ] ||
			basename "$device"
	done)
	[ $# = 2 ] || skip "$# virtio-net, not two"
	ends "$@"
	sends_all
}
