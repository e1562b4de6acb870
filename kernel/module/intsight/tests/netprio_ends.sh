# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of netprio between two ends on one machine, one of them in a network
# namespace: IPv4 and IPv6, UDP and TCP, over the test NIC, veth and virtio-net.
# A FIFO 40 task sends (netsend) to two tasks below it (netsink) on the same
# CPU, and goes on computing. Sourced by run.sh.

FAR=10.9.0.2
FAR6=fd09::2

in_space() {
	nsenter -t "$space" -n "$@"
}

# end DEVICE IP IPV6 [in_space]: brings it up, with no need for an answer from
# others.
end() {
	for pair in disable_ipv6:0 accept_dad:0 router_solicitations:0; do
		${4:-} sh -c "file=/proc/sys/net/ipv6/conf/$1/${pair%:*}
			[ ! -e \$file ] || echo ${pair#*:} > \$file"
	done
	${4:-} ip addr add "$2/24" dev "$1" || fail "$1: no address"
	[ ! -e /proc/sys/net/ipv6 ] || ${4:-} ip -6 addr add "$3/64" dev "$1" ||
		fail "$1: no IPv6 address"
	${4:-} ip link set "$1" up || fail "$1 does not come up"
}

is_elsewhere() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# ends NEAR FAR: sets up two devices, the second one in the namespace of $space,
# and switches netprio on.
ends() {
	[ -d $NP ] || skip "no $NP: a kernel without CONFIG_IRQPATH"
	needs netsink netsend
	unshare -n sleep 1000 &
	space=$!
	soon is_elsewhere "$space" || fail "no namespace"
	near_end=$1
	trap ends_no_more EXIT
	ip link set "$2" netns $space || fail "$2 does not go to the namespace"
	end "$1" 10.9.0.1 fd09::1
	end "$2" $FAR $FAR6 in_space
	echo 1000000 > $NP/max_hold_us
	echo 0 > $NP/napi_hold_us
	echo 1 > $NP/enabled || fail "netprio cannot be enabled"
}

# Cleans up however the test ends. A veth goes with its other end.
ends_no_more() {
	echo 0 > $SERVE
	echo 0 > $NP/enabled
	echo 100000 > $NP/max_hold_us
	kill "$space"
	wait "$space" 2> /dev/null
	ip addr flush dev "$near_end" 2> /dev/null
}

# receiver PRIORITY OPTIONS: starts netsink and waits until it has its socket.
receiver() {
	in_space taskset 1 netsink $2 -n 20 -T 3000 -p "$1" "50$1" > "/tmp/netsink.$1" &
	eval "sink_$1=$!"
	soon is_bound "50$1" "$space" || fail "netsink has no socket"
}

# sends IP OPTIONS MIN_HELD: sends in turns to FIFO 20 and 30, the lower one
# first. At least MIN_HELD packets of each are held until the sender sleeps.
# Then those for FIFO 30 (level 69) are served before those for FIFO 20 (level
# 79).
sends() {
	receiver 20 "$2"
	receiver 30 "$2"
	level 20
	level 30
	before=$(cat $NP/held)
	traced
	taskset 1 netsend ${2#-6} -n 20 -p 40 -w 20000 "$1" 5020 5030 || fail "netsend"
	for prio in 20 30; do
		eval "wait \$sink_$prio" || fail "$1 $2: FIFO $prio: $(cat /tmp/netsink.$prio)"
		grep -q 'disordered 0$' /tmp/netsink.$prio || fail "$1 $2: out of order"
	done
	echo 0 > $SERVE
	grep -o 'level=.*' $TRACING/trace > /tmp/served
	awk -F'[= ]' -v min="$3" '
	$2 == 79 { low++ }
	$2 == 69 { late += low > 0; high++ }
	END { if (low < min || high - late < min) {
		print "# served " high " of FIFO 30, " late " of them late, " low + 0 " of FIFO 20"
		exit 1
	} }' /tmp/served || fail "$1 $2: held $(($(cat $NP/held) - before))"
}

sends_all() {
	sends $FAR "" 20
	sends $FAR "-t" 2
	if [ -e /proc/sys/net/ipv6 ]; then
		sends $FAR6 "-6" 20
		sends $FAR6 "-6 -t" 2
	fi
}

test_netprio_ends() {
	[ -d $NP ] || skip "no $NP: a kernel without CONFIG_IRQPATH"
	load_nic
	ends isight0 isight1
	sends_all
	unload
}

# The previous test's pair disappears with its namespace, some time later.
veth() {
	soon [ ! -e /sys/class/net/veth0 ] || fail "the last veth stays"
	ip link add type veth 2> /dev/null || skip "no veth"
}

test_netprio_veth() {
	veth
	ends veth0 veth1
	sends_all
}

# Needs a machine with two that are connected.
test_netprio_virtio() {
	set -- $(for device in /sys/class/net/*; do
		[ "$(basename "$(readlink "$device/device/driver")")" != virtio_net ] ||
			basename "$device"
	done)
	[ $# = 2 ] || skip "$# virtio-net, not two"
	ends "$@"
	sends_all
}

# sent HELD EXEMPT IP OPTIONS: sends 20 messages to a FIFO 20 task, beside a
# sender at FIFO 40. At least HELD of them are held, and EXEMPT have no known
# receiver.
sent() {
	held=$(cat $NP/held) exempt=$(cat $NP/exempt)
	receiver 20 ""
	# shellcheck disable=SC2086 # options are words
	taskset 1 netsend ${4:-} -n 20 -p 40 -w 20000 "$3" 5020 || fail "netsend"
	eval "wait \$sink_20" || fail "to $3 ${4:-}: $(cat /tmp/netsink.20)"
	held=$(($(cat $NP/held) - held)) exempt=$(($(cat $NP/exempt) - exempt))
	echo "# to $3 ${4:-}: $held held, $exempt exempt"
	[ $held -ge "$1" ] && { [ "$1" != 0 ] || [ $held = 0 ]; } || fail "$held held"
	[ $exempt -ge "$2" ] || fail "$exempt exempt"
}

# netprio never holds fragments or multicast packets, even while it holds other
# packets of the same receiver.
test_netprio_never_holds() {
	veth
	ends veth0 veth1
	ip route add 224.0.0.0/4 dev veth0 || fail "no route"
	sent 20 0 $FAR
	sent 0 60 $FAR "-s 4000"
	sent 0 20 224.0.0.1
}

# Packets that no task receives are never held: a task at FIFO 60 gets its
# replies beside a job below it.
test_netprio_exempt() {
	needs prio netjob
	veth
	ends veth0 veth1
	held=$(cat $NP/held) exempt=$(cat $NP/exempt)
	in_space ping -q -i 0.01 -c 100 10.9.0.1 > /tmp/ping &
	asks=$!
	until prio 60 ping > /dev/null 2>&1; do
		kill -0 $asks || fail "no ping"
		sleep 0.01
	done
	taskset 1 netjob -n 10 -i 50000000 -P 100000000 -p 30 > /tmp/netjob || fail "netjob"
	wait $asks || fail "ping: $(cat /tmp/ping)"
	grep -q ' 0% packet loss' /tmp/ping || fail "lost: $(cat /tmp/ping)"
	exempt=$(($(cat $NP/exempt) - exempt))
	[ $exempt -ge 20 ] || fail "$exempt packets beside a job"
	[ "$(cat $NP/held)" = "$held" ] || fail "held, and there is no receiver"
}

# The NAPIs of a device that netconsole uses are not held. It gets no message:
# with PREEMPT_RT netpoll sends with interrupts off, where drivers may take locks.
test_netprio_netpoll() {
	config=/sys/kernel/config
	[ -d $config/netconsole ] || mount -t configfs configfs $config 2> /dev/null
	[ -d $config/netconsole ] || skip "a kernel without CONFIG_NETCONSOLE_DYNAMIC"
	NP_NAPI_US=200000
	netprio 2 500
	level=$(cut -f 1 /proc/sys/kernel/printk)
	echo 1 > /proc/sys/kernel/printk
	target=$config/netconsole/irqpath
	mkdir $target || fail "cannot make $target"
	echo isight0 > $target/dev_name
	echo 10.9.0.1 > $target/local_ip
	echo 10.9.0.2 > $target/remote_ip
	echo 1 > $target/enabled || fail "netconsole cannot use isight0"
	echo 500 > $N/burst
	busy 30
	all_came
	[ "$(netprio_count held)" -gt 0 ] || fail "nothing was held"
	[ "$(netprio_count kept)" = 0 ] || fail "a NAPI was held"
	echo 0 > $target/enabled
	rmdir $target
	echo "$level" > /proc/sys/kernel/printk
	netprio_off
	unload
}
