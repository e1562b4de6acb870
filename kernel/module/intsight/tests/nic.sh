# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the test NIC: two ends in two namespaces, or one end with the
# built-in peer. Times and rates are as programmed, and every packet is
# accounted for, even if an end goes down or the module is removed while packets
# are under way. The programs are in lab/guest of the project. Sourced by
# run.sh.

N=/sys/class/net/isight0/intsight

load_nic() {
	insmod "$KO" nic=1 nr_devices=0 nic_queues="${QUEUES:-1}" ||
		fail "cannot load $KO nic=1"
	for end in isight0 isight1; do
		no_ipv6=/proc/sys/net/ipv6/conf/$end/disable_ipv6
		[ ! -e $no_ipv6 ] || echo 1 > $no_ipv6
	done
}

# isight0 stays here; isight1 is in a namespace with an echo server on ports
# 5000 and 5001.
load_pair() {
	needs netserver netping
	load_nic
	server=$(netserver 5000 5001) || fail "netserver"
}

unload_pair() {
	kill "$server"
	unload
}

# Runs in the server's namespace, whose /sys shows that namespace's devices.
there() {
	nsenter -t "$server" -n unshare -m sh -c \
		"mount -t sysfs there /sys && $*"
}

# configure FILE VALUE...: each file accepts its value and shows it.
configure() {
	while [ $# -gt 0 ]; do
		echo "$2" > $N/$1 || fail "$1 refuses '$2'"
		[ "$(cat $N/$1)" = "$2" ] || fail "$1 is '$(cat $N/$1)'"
		shift 2
	done
}

here_counts() {
	(cd $N && grep . sent send_failed received overflowed cut_off \
		no_memory raised handled spurious answered ignored)
}

there_counts() {
	there "cd /sys/class/net/isight1/intsight && grep . sent send_failed \
		received overflowed cut_off no_memory raised handled spurious \
		answered ignored"
}

# count COUNTS NAME
count() {
	echo "$1" | sed -n "s/^$2://p"
}

# all_arrived FROM TO: every packet that one end sent has reached the other or
# is counted as lost.
all_arrived() {
	sent=$(count "$1" sent)
	came=$(($(count "$2" received) + $(count "$2" overflowed) +
		$(count "$2" cut_off)))
	[ "$sent" = "$came" ] || fail "sent $sent, got or lost $came: $2"
	[ "$(count "$1" send_failed)" = 0 ] || fail "could not send: $1"
}

# raised_all COUNTS: each interrupt reached its handler, and none was spurious.
raised_all() {
	[ "$(count "$1" raised)" = "$(count "$1" handled)" ] ||
		fail "raised and not handled: $1"
	[ "$(count "$1" spurious)" = 0 ] || fail "spurious: $1"
}

# pair_accounted [SECONDS]: waits SECONDS for the last packet, then checks all
# counts.
pair_accounted() {
	sleep "${1:-0.3}"
	near=$(here_counts)
	far=$(there_counts)
	all_arrived "$near" "$far"
	all_arrived "$far" "$near"
	raised_all "$near"
	raised_all "$far"
}

# rtt_is MIN_US NETPING_ARGUMENT...: no transaction is faster. On a machine with
# exact time none takes 400 us longer (TCP on arm64 with PREEMPT_RT: 246).
rtt_is() {
	min=$1
	shift
	netping -w 2 -n 20 "$@" > /tmp/netping ||
		fail "netping $*: $(tail -2 /tmp/netping)"
	khz=$(cat /tmp/khz)
	max=$((min + 400))
	[ "$EXACT" = 1 ] || max=100000000
	awk -F, -v khz="$khz" -v min="$min" -v max="$max" '
	/^[0-9]/ {
		us = ($3 - $2) * 1000 / khz
		if (us < min || us > max) {
			print "# round trip of " us " us, not " min ".." max
			exit 1
		}
	}' /tmp/netping || fail "netping $*"
}

# Prints the rate of the cycle counter, measured by the clock.
measure_khz() {
	needs waiter
	insmod "$KO" nr_devices=1 || fail "cannot load $KO"
	waiter -n 1 -w 0 | sed -n 's/.*cycles_khz //p' > /tmp/khz
	[ -s /tmp/khz ] || fail "no rate"
	unload
}

test_nic_files() {
	load_nic
	for end in isight0 isight1; do
		for file in peer rtt_us slow_port slow_rtt_us rate_pps ring \
			burst burst_pps burst_port burst_ports burst_size \
			sent send_failed received overflowed cut_off no_memory \
			raised handled spurious polls answered ignored; do
			cat /sys/class/net/$end/intsight/$file > /dev/null ||
				fail "$end: no $file"
		done
	done
	for pair in rtt_us:10000000 slow_port:65535 slow_rtt_us:10000000 \
		rate_pps:1000000 ring:4096 burst_pps:1000000 burst_port:64511 \
		burst_ports:1024 burst_size:1472; do
		file=${pair%:*}
		max=${pair#*:}
		configure $file "$max"
		for bad in "" " " nonsense -1 1.5 $((max + 1)) 4294967296 \
			99999999999999999999 "1 2" "$(seq 1 500)"; do
			if (echo "$bad" > $N/$file) 2> /dev/null; then
				fail "$file takes '$bad'"
			fi
			[ "$(cat $N/$file)" = "$max" ] ||
				fail "'$bad' changed $file"
		done
	done
	for pair in ring:0 burst_pps:0 burst_port:0 burst_ports:0 \
		burst_size:15; do
		if (echo "${pair#*:}" > $N/${pair%:*}) 2> /dev/null; then
			fail "$pair was taken"
		fi
	done
	for bad in "" none pairs "echo echo"; do
		if (echo "$bad" > $N/peer) 2> /dev/null; then
			fail "peer takes '$bad'"
		fi
	done
	[ "$(cat $N/peer)" = pair ] || fail "peer is $(cat $N/peer)"
	if (echo 1 > $N/sent) 2> /dev/null; then
		fail "a count was written"
	fi
	# A burst needs an end that is up and has an address.
	for bad in 1 -1 nonsense; do
		if (echo "$bad" > $N/burst) 2> /dev/null; then
			fail "burst takes '$bad'"
		fi
	done
	# Both ends have the same configuration.
	configure rtt_us 77
	[ "$(cat /sys/class/net/isight1/intsight/rtt_us)" = 77 ] ||
		fail "the other end has another configuration"
	unload
}

test_nic_round_trip() {
	measure_khz
	load_pair
	rtt_is 500 10.9.0.2 5000
	rtt_is 500 -t 10.9.0.2 5000
	for us in 0 2000 20000; do
		configure rtt_us $us
		rtt_is $us 10.9.0.2 5000
		rtt_is $us -t 10.9.0.2 5001
	done
	configure rtt_us 300 slow_port 5001 slow_rtt_us 10000
	rtt_is 300 10.9.0.2 5000
	rtt_is 10000 10.9.0.2 5001
	rtt_is 10000 -t 10.9.0.2 5001
	rtt_is 300 -t 10.9.0.2 5000
	pair_accounted
	unload_pair
}

# A large datagram is 11 packets, which at 1000 a second are 10 ms apart from
# end to end, both ways. A long TCP stream passes the same limit.
test_nic_rate() {
	measure_khz
	load_pair
	configure rate_pps 1000
	netping -w 0 -n 3 -b 16000 10.9.0.2 5000 > /tmp/netping ||
		fail "netping: $(tail -2 /tmp/netping)"
	awk -F, -v khz="$(cat /tmp/khz)" '
	/^[0-9]/ && ($3 - $2) / khz < 20 {
		print "# " ($3 - $2) / khz " ms"
		exit 1
	}' /tmp/netping || fail "faster than the rate"
	configure rate_pps 20000
	netping -t -w 0 -n 10 -b 60000 10.9.0.2 5000 > /tmp/netping ||
		fail "netping -t: $(tail -2 /tmp/netping)"
	pair_accounted
	unload_pair
}

# Sends more than the ring holds: TCP repairs it, and all losses are counted.
test_nic_overflow() {
	load_pair
	configure ring 4 rtt_us 1000
	netping -t -w 0 -n 5 -b 60000 10.9.0.2 5000 > /tmp/netping ||
		fail "netping -t: $(tail -2 /tmp/netping)"
	pair_accounted
	lost=$(($(count "$near" overflowed) + $(count "$far" overflowed)))
	[ $lost -gt 0 ] || fail "nothing was lost"
	unload_pair
}

# One end with the built-in peer.
test_nic_echo() {
	measure_khz
	needs netping
	load_nic
	configure peer echo
	ip addr add 10.9.0.1/24 dev isight0
	ip link set isight0 up
	if (echo pair > $N/peer) 2> /dev/null; then
		fail "the peer was changed while an end is up"
	fi
	# Every address answers, and the first ping asks for the hardware
	# address.
	ping -c 3 -i 0.1 -W 2 10.9.0.9 > /tmp/ping || fail "$(cat /tmp/ping)"
	rtt_is 500 10.9.0.7 4711
	configure rtt_us 3000
	rtt_is 3000 10.9.0.7 4711
	netping -w 0 -n 5 -b 1472 10.9.0.7 4711 > /dev/null ||
		fail "datagrams that fill a packet"
	# The peer does not reassemble fragments.
	ignored=$(cat $N/ignored)
	if netping -w 0 -n 1 -b 1473 10.9.0.7 4711 > /dev/null; then
		fail "fragments were answered"
	fi
	[ "$(cat $N/ignored)" = $((ignored + 2)) ] || fail "not counted"
	# The peer accepts no connection.
	if nc -w 1 10.9.0.7 80 < /dev/null > /dev/null 2>&1; then
		fail "the built-in peer speaks TCP"
	fi
	sleep 0.3
	near=$(here_counts)
	[ "$(count "$near" sent)" = $(($(count "$near" answered) +
		$(count "$near" ignored))) ] || fail "not accounted: $near"
	[ "$(count "$near" answered)" = $(($(count "$near" received) +
		$(count "$near" overflowed))) ] || fail "not accounted: $near"
	raised_all "$near"
	ip link set isight0 down
	configure peer pair
	unload
}

# bound PORT: netsink has its last socket.
bound() {
	soon is_bound "$1" || fail "netsink has no sockets"
}

# burst_of COUNT: returns when all of it has arrived or is lost.
burst_of() {
	echo "$1" > $N/burst || fail "no burst"
	soon burst_ended || fail "the burst does not end"
	sleep 0.1
}

burst_ended() {
	[ "$(cat $N/burst)" = 0 ]
}

test_nic_burst() {
	needs netsink
	load_nic
	configure peer echo burst_pps "${PPS:-2000}" burst_ports 3
	ip addr add 10.9.0.1/24 dev isight0
	if (echo 1 > $N/burst) 2> /dev/null; then
		fail "a burst to an end that is down"
	fi
	[ "$(cat $N/burst)" = 0 ] || fail "a refused burst is left"
	ip link set isight0 up
	netsink -n 600 -T 5000 5000 3 > /tmp/netsink &
	sink=$!
	bound 5002
	burst_of 600
	wait $sink || fail "not all came: $(cat /tmp/netsink)"
	[ "$(grep -c 'received 200 disordered 0' /tmp/netsink)" = 3 ] ||
		fail "$(cat /tmp/netsink)"
	# The peer answers requests that this kernel sends by itself.
	near=$(here_counts)
	came=$(($(count "$near" received) - $(count "$near" answered)))
	[ $came = 600 ] || fail "$came of 600 received: $near"
	# The burst is faster than the receiver, and the ring is small.
	configure ring 2 burst_pps 1000000
	burst_of 20000
	near=$(here_counts)
	came=$(($(count "$near" received) + $(count "$near" overflowed) +
		$(count "$near" no_memory) - $(count "$near" answered)))
	[ $came = 20600 ] || fail "$came of 20600 accounted: $near"
	raised_all "$near"
	# A burst can be cancelled.
	configure burst_pps 10
	echo 1000 > $N/burst
	echo 0 > $N/burst
	[ "$(cat $N/burst)" = 0 ] || fail "it goes on"
	# A burst ends when its end goes down.
	echo 1000 > $N/burst
	ip link set isight0 down
	[ "$(cat $N/burst)" = 0 ] || fail "it goes on while down"
	unload
}

# Packets under way when their end goes down are counted, and the end comes up
# again. They take a second each way, so that slow machines are fast enough.
test_nic_down_while_flying() {
	load_pair
	configure rtt_us 2000000
	for i in 1 2 3; do
		netping -w 0 -n 1 10.9.0.2 5000 > /dev/null 2>&1 &
		# The request, or the question for the hardware address, is
		# under way.
		sleep 0.2
		there ip link set isight1 down
		there ip link set isight1 up
		wait $!
		netping -w 0 -n 1 10.9.0.2 5000 > /dev/null 2>&1 &
		# The answer is under way.
		sleep 1.3
		ip link set isight0 down
		ip link set isight0 up
		wait $!
	done
	pair_accounted 2.5
	cut=$(($(count "$near" cut_off) + $(count "$far" cut_off)))
	[ $cut -ge 6 ] || fail "only $cut packets were cut off: $near $far"
	unload_pair
}

# When a namespace ends, its end of the NIC comes back.
test_nic_namespace_ends() {
	load_pair
	[ ! -e /sys/class/net/isight1 ] || fail "isight1 is still here"
	kill "$server"
	soon [ -e /sys/class/net/isight1 ] || fail "isight1 does not come back"
	unload
}

# fly: makes traffic of every kind between the ends, until fly_no_more.
fly() {
	configure rate_pps 0 rtt_us "${RTT:-300}" burst_pps "${PPS:-2000}"
	for port in 5000 5001; do
		netping -n 100000 -b 3000 10.9.0.2 $port > /dev/null 2>&1 &
		flying="$flying $!"
		netping -t -n 100000 -b 20000 10.9.0.2 $port \
			> /dev/null 2>&1 &
		flying="$flying $!"
	done
	echo 100000000 > $N/burst
}

has_received() {
	[ "$(cat $N/received)" -gt "$1" ]
}

fly_no_more() {
	kill $flying 2> /dev/null
	wait $flying 2> /dev/null
	flying=
}

# No user holds the devices, so that the module can be removed under all of the
# traffic.
test_nic_unload_while_flying() {
	for i in $(seq 1 "${LOOPS:-5}"); do
		load_pair
		fly
		soon has_received 10 || fail "nothing flies"
		rmmod intsight || fail "cannot unload"
		[ ! -e /sys/class/net/isight0 ] || fail "isight0 is left"
		if grep isight /proc/interrupts; then
			fail "an interrupt is left"
		fi
		fly_no_more
		kill "$server"
	done
}

# With two receive queues: each has a line, all packets are accounted for, and
# the module can be removed under the traffic. Without a flow rule all come by
# the first one; the rules are tested by irqpath, which makes them.
test_nic_queues() {
	for bad in 0 3; do
		if insmod "$KO" nic=1 nr_devices=0 nic_queues=$bad 2> /dev/null
		then
			fail "nic_queues=$bad was taken"
		fi
	done
	QUEUES=2
	load_pair
	for line in isight0 isight0-1; do
		grep -q " $line\$" /proc/interrupts || fail "no line $line"
	done
	netping -w 0 -n 20 10.9.0.2 5000 > /dev/null || fail "netping"
	netping -t -w 0 -n 20 10.9.0.2 5001 > /dev/null || fail "netping -t"
	pair_accounted
	ip link set isight0 down
	! grep -q isight0 /proc/interrupts || fail "a line is left"
	ip link set isight0 up
	fly
	soon has_received 10 || fail "nothing flies"
	awk '$NF == "isight0-1" { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i }
	END { exit n != 0 }' /proc/interrupts || fail "queue 1 has packets"
	rmmod intsight || fail "cannot unload"
	fly_no_more
	kill "$server"
	QUEUES=
}

# Everything at once, again and again: packets are under way, a task waits for
# an endless row of disturbed interrupts, and a benchmark runs. The two that
# hold the module are killed in the middle, and it unloads.
test_unload_busy_loop() {
	needs waiter netserver netping
	for i in $(seq 1 "${LOOPS:-5}"); do
		insmod "$KO" nic=1 || fail "cannot load"
		server=$(netserver 5000 5001) || fail "netserver"
		fly
		waiter -n 100000 -t 1000000 -k tasklet:20000:1:2 \
			-k hardirq:20000:1:3 -k thread:20000:1:4 &
		waiter=$!
		echo > $D/init || fail "init refused"
		set_ reps 50000
		set_ checkpoint_capacity 16
		set_ delay_us 200
		set_ bottom_handler workqueue
		set_ tracepoints sched_switch
		step prepare || fail "prepare refused"
		step do &
		benchmark=$!
		until_open $waiter /dev/intsight
		until_open $benchmark do_trigger
		sleep 0.1
		refused_unload
		kill -KILL $waiter $benchmark
		wait $waiter $benchmark 2> /dev/null
		rmmod intsight || fail "cannot unload"
		fly_no_more
		kill "$server"
	done
}
