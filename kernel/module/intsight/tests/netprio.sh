# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of netprio on packets whose receiver is less urgent than the CPU's task.
# The test NIC sends bursts to a FIFO 20 task (netsink), beside a CPU-bound job
# (netjob). Sourced by run.sh.

NP=/sys/kernel/irqpath/netprio
TRACING=/sys/kernel/tracing
SERVE=$TRACING/events/irqpath/irqpath_serve/enable
NP_COUNTS="exempt classified passed held resorted dropped served expired purged kept"

netprio_count() {
	eval "echo \$(($(cat $NP/"$1") - np_$1))"
}

# netprio NR_PORTS COUNT: brings the NIC up, and netsink waits for COUNT
# packets. NP_MAX_US and NP_NAPI_US are limits, NP_SINK has options of netsink,
# and NP_PPS is the rate of a burst in packets a second.
netprio() {
	[ -d $NP ] || skip "no $NP: a kernel without CONFIG_IRQPATH"
	needs netsink netjob
	load_nic
	configure peer echo ring 4096 burst_pps "${NP_PPS:-1000}" burst_ports "$1"
	ip addr add 10.9.0.1/24 dev isight0
	ip link set isight0 up
	echo "${NP_MAX_US:-100000}" > $NP/max_hold_us
	echo "${NP_NAPI_US:-0}" > $NP/napi_hold_us
	echo 1000 > $NP/queue_limit
	for count in $NP_COUNTS; do
		eval "np_$count=$(cat $NP/$count)"
	done
	echo 1 > $NP/enabled || fail "netprio cannot be enabled"
	# shellcheck disable=SC2086
	netsink -n "$2" -T 3000 ${NP_SINK:--p 20} 5000 "$1" > /tmp/netsink &
	sink=$!
	bound $((4999 + $1))
}

# busy FIFO_PRIORITY [NR]: computes for 50 ms of each 100 ms, NR times or three.
busy() {
	taskset 1 netjob -n "${2:-3}" -i 50000000 -P 100000000 -p "$1" > /tmp/netjob ||
		fail "netjob"
}

# level PRIORITY: its thread exists and is bound to the CPU of the tests, so
# that no other CPU does its work.
level() {
	soon pidof "netprio/$1" > /dev/null || fail "no thread for FIFO $1"
	taskset -p 1 "$(pidof "netprio/$1")" > /dev/null || fail "cannot bind netprio/$1"
}

# Every classified packet has passed, was held or was dropped. Every held one
# was served, expired or was purged.
netprio_balances() {
	ways=$(($(netprio_count passed) + $(netprio_count held) +
		$(netprio_count dropped)))
	[ "$(netprio_count classified)" = $ways ] ||
		fail "classified and lost: $(cd $NP && grep . $NP_COUNTS)"
	ways=$(($(netprio_count served) + $(netprio_count expired) +
		$(netprio_count purged)))
	[ "$(netprio_count held)" = $ways ] ||
		fail "held and lost: $(cd $NP && grep . $NP_COUNTS)"
}

netprio_off() {
	echo 0 > $NP/enabled || fail "netprio cannot be disabled"
	netprio_balances
	echo 0 > $NP/napi_hold_us
	echo 100000 > $NP/max_hold_us
	if grep -hE '^netprio' /proc/[0-9]*/comm 2> /dev/null; then
		fail "a thread is left"
	fi
}

# all_came: netsink has received all packets, each port in order.
all_came() {
	wait $sink || fail "not all came: $(cat /tmp/netsink)"
	if grep '^# port' /tmp/netsink | grep -v 'disordered 0$'; then
		fail "out of order"
	fi
}

# Packets wait below the job and pass above it; neither case loses one.
test_netprio_follows_priority() {
	netprio 3 500
	echo 500 > $N/burst
	busy 30
	all_came
	[ "$(netprio_count held)" -gt 0 ] || fail "nothing was held"
	[ "$(netprio_count dropped)" = 0 ] || fail "dropped"
	netprio_off
	unload

	netprio 1 300
	echo 300 > $N/burst
	busy 10
	all_came
	[ "$(netprio_count held)" = 0 ] || fail "held for a job below"
	netprio_off
	unload
}

# waits_for PRIORITY COUNT: netsink has its only socket.
waits_for() {
	netsink -n "$2" -T 3000 -p "$1" 5000 1 > /tmp/netsink &
	sink=$!
	bound 5000
}

# held_now MIN MAX WHY: between MIN and MAX packets of a burst of 300 are held
# beside a job. The burst takes a second, so that the job begins within it on
# every kernel.
held_now() {
	before=$(cat $NP/held)
	echo 300 > $N/burst
	busy 30 10
	sleep 0.2 # those that come after the job
	now=$(($(cat $NP/held) - before))
	echo "# $now held: $3"
	[ $now -ge "$1" ] && [ $now -le "$2" ] || fail "$now held: $3"
}

# The current priority of the receiving task decides, whenever it changes.
test_netprio_follows_change() {
	needs prio
	NP_PPS=300
	netprio 1 1200
	held_now 60 300 "the task is below the job"
	prio 40 netsink > /dev/null || fail "prio failed"
	held_now 0 0 "it is above"
	prio 0 netsink > /dev/null || fail "prio failed"
	held_now 60 300 "it is ordinary"
	prio 31 netsink > /dev/null || fail "prio failed"
	held_now 0 0 "it is above again"
	wait $sink || fail "not all came: $(cat /tmp/netsink)"
	netprio_off
	unload
}

# Packets do not overtake each other while the priority of their receiver
# changes between above the job and below it.
test_netprio_keeps_order() {
	needs prio fifo
	NP_PPS=300
	netprio 1 450
	fifo 50 prio 40 netsink 20 7 > /dev/null &
	changes=$!
	echo 450 > $N/burst
	busy 30 15
	all_came
	wait $changes || fail "prio failed"
	[ "$(netprio_count held)" -ge 20 ] || fail "few were held"
	netprio_off
	unload
}

# A receiver rises while a job above it computes and 20 000 packets a second
# come. Its held packets go to the level of the new priority and are served
# beside the job. When they have been, later ones pass.
test_netprio_rises() {
	needs prio fifo
	NP_PPS=20000
	NP_MAX_US=0
	netprio 1 4000
	echo 4000 > $NP/queue_limit
	level 20
	# The thread of the new level exists before the job does.
	netsink -T 1 -p 40 5100 > /dev/null
	level 40
	fifo 50 sh -c "sleep 0.1; echo 4000 > $N/burst; sleep 0.05
		prio 40 netsink; sleep 0.2
		cat $NP/passed $NP/held > /tmp/risen" > /dev/null &
	rise=$!
	taskset 1 netjob -n 1 -i 600000000 -P 50000000 -p 30 > /tmp/netjob || fail "netjob"
	wait $rise || fail "prio failed"
	all_came
	{ read -r passed; read -r held; } < /tmp/risen
	# shellcheck disable=SC2154 # netprio sets both
	{ passed=$((passed - np_passed)); held=$((held - np_held)); }
	echo "# when all had come, $held had been held and $passed had passed"
	[ "$passed" -ge 1000 ] || fail "$passed passed after the rise"
	[ "$held" -ge 500 ] || fail "$held were held before the rise"
	[ "$(netprio_count dropped)" = 0 ] || fail "dropped"
	netprio_off
	unload
}

# A receiver rises after its packets have come: they do not wait for another.
# One that came before the job had begun was not held.
test_netprio_rise_serves() {
	needs prio fifo
	NP_MAX_US=0
	netprio 1 20
	level 20
	netsink -T 1 -p 40 5100 > /dev/null
	level 40
	fifo 50 sh -c "sleep 0.1; echo 20 > $N/burst; sleep 0.1
		prio 40 netsink; sleep 0.1
		cat $NP/served $NP/held > /tmp/risen" > /dev/null &
	rise=$!
	taskset 1 netjob -n 1 -i 500000000 -P 50000000 -p 30 > /tmp/netjob || fail "netjob"
	wait $rise || fail "prio failed"
	all_came
	{ read -r served; read -r held; } < /tmp/risen
	# shellcheck disable=SC2154 # netprio sets both
	{ served=$((served - np_served)); held=$((held - np_held)); }
	[ "$held" -ge 15 ] || fail "$held of 20 were held"
	[ "$served" = "$held" ] || fail "$served of $held were served beside the job"
	netprio_off
	unload
}

# A flood to one socket leaves room for another of the same priority.
test_netprio_fair() {
	needs fifo
	NP_PPS=20000
	netprio 2 100000
	echo 100 > $NP/queue_limit
	level 20
	configure burst_ports 1
	fifo 60 sh -c "sleep 0.1; echo 1000 > $N/burst; sleep 0.06
		echo 5001 > $N/burst_port; echo 50 > $N/burst" &
	flood=$!
	taskset 1 netjob -n 1 -i 300000000 -P 50000000 -p 30 > /tmp/netjob || fail "netjob"
	wait $flood || fail "no bursts"
	wait $sink
	[ "$(netprio_count dropped)" -gt 0 ] || fail "there was no flood"
	grep -q '^# port 5001 received 50 ' /tmp/netsink ||
		fail "the flood drops packets of others: $(cat /tmp/netsink)"
	netprio_off
	unload
}

# If the receiver of a port is gone, its held packets go to the next receiver.
test_netprio_port_changes_hands() {
	NP_PPS=300
	netprio 1 100000
	echo 300 > $N/burst
	busy 30 &
	job=$!
	sleep 0.12
	kill $sink
	wait $sink 2> /dev/null
	wait $job || fail "the job"
	[ "$(netprio_count held)" -gt 0 ] || fail "nothing was held"
	sleep 0.1
	netprio_balances
	waits_for 40 300
	held_now 0 0 "the next receiver is above the job"
	wait $sink || fail "not all came: $(cat /tmp/netsink)"
	waits_for 20 300
	held_now 60 300 "the one after it is below"
	wait $sink || fail "not all came: $(cat /tmp/netsink)"
	netprio_off
	unload
}

# A task that sleeps in recv() for the first time is a receiver before any
# packet has come.
test_netprio_first_recv() {
	NP_SINK="-f -p 40"
	NP_PPS=8 # the first one comes into the first job
	netprio 1 3
	sleep 0.1
	echo 3 > $N/burst
	busy 30
	all_came
	[ "$(netprio_count held)" = 0 ] || fail "held for a job below"
	netprio_off
	unload
}

# The device's interrupt is off while its packets wait.
test_netprio_holds_device() {
	NP_NAPI_US=200000
	netprio 2 500
	echo 500 > $N/burst
	busy 30
	all_came
	[ "$(netprio_count kept)" -gt 0 ] || fail "the NAPI was not held"
	netprio_off
	near=$(here_counts)
	raised_all "$near"
	unload
}

# The guard serves a packet that has waited for longer than the limit.
test_netprio_limits_wait() {
	NP_MAX_US=10000
	netprio 1 300
	echo 300 > $N/burst
	busy 30
	all_came
	[ "$(netprio_count expired)" -gt 0 ] || fail "no packet came in time"
	netprio_off
	for bad in 999 10000001 -1 x; do
		if echo $bad 2> /dev/null > $NP/max_hold_us; then
			fail "max_hold_us takes $bad"
		fi
	done
	unload
}

# traced: records the waits of held packets.
traced() {
	[ -e $SERVE ] || mount -t tracefs tracefs $TRACING
	[ -e $SERVE ] || skip "no tracepoints"
	echo > $TRACING/trace
	echo 1 > $SERVE
}

# Prints the longest wait in microseconds.
longest_wait() {
	echo 0 > $SERVE
	sed -n 's/.*waited_ns=\([0-9]*\).*/\1/p' $TRACING/trace | sort -n |
		awk '{ max = $1 } END { print int(max / 1000) }'
}

# starved MAX_US: prints how long packets wait for a receiver while a job above
# it takes this CPU for 50 ms of each 100 ms, and no other CPU helps.
starved() {
	NP_MAX_US=$1
	netprio 1 300
	level 20
	traced
	echo 300 > $N/burst
	busy 30
	all_came
	wait_us=$(longest_wait)
	echo "# at most $1 us: $(netprio_count held) held, for $wait_us us"
	netprio_off
	unload
}

# A receiver that cannot run gets its packets after the limit and the guard's
# own time. Without a limit they wait for the job.
test_netprio_starved() {
	starved 10000
	[ "$wait_us" -ge 9000 ] || fail "none has waited for as long as it may"
	[ "$EXACT" != 1 ] || [ "$wait_us" -le 11000 ] || fail "one has waited for longer"
	limited=$wait_us
	starved 0
	[ "$EXACT" != 1 ] || [ "$wait_us" -ge 45000 ] || fail "without a limit the wait is the same"
	[ "$wait_us" -gt "$limited" ] || fail "without a limit the wait is no longer"
}

# The guard lends its priority to a level's thread that a job preempts while it
# serves a packet. The packet comes during a job and takes longer than the 500
# us between the jobs. No other packet comes that would start the guard again.
test_netprio_served_in_time() {
	[ -d $NP ] || skip "no $NP: a kernel without CONFIG_IRQPATH"
	needs taps
	taps 400 > /tmp/taps &
	taps=$!
	trap 'kill $taps 2> /dev/null' EXIT
	soon [ -s /tmp/taps ] || fail "no taps"
	NP_MAX_US=60000
	NP_PPS=8
	netprio 1 1
	level 20
	traced
	echo 1 > $TRACING/events/sched/sched_pi_setprio/enable
	echo 1 > $N/burst
	taskset 1 netjob -n 10 -i 49500000 -P 50000000 -p 30 > /tmp/netjob || fail "netjob"
	echo 0 > $TRACING/events/sched/sched_pi_setprio/enable
	kill $taps
	wait $taps 2> /dev/null
	all_came
	served=$(netprio_count served)
	lent=$(grep -c 'comm=netprio/20 .* newprio=48' $TRACING/trace)
	netprio_off
	unload
	if [ "$served" != 1 ]; then
		[ ! -e /proc/lockdep ] || skip "on a kernel that checks itself the jobs leave no time"
		fail "no packet was held until a job had ended"
	fi
	[ "$lent" -gt 0 ] || fail "a packet waits for the job while it is served"
}

# A CPU goes off and on while packets and their device are held. The device's
# interrupt comes to that CPU.
test_netprio_hotplug() {
	cpu1=/sys/devices/system/cpu/cpu1/online
	[ -e $cpu1 ] || skip "no CPU that can go"
	NP_NAPI_US=20000
	netprio 2 1500
	line=$(awk '$NF == "isight0" { print $1 + 0 }' /proc/interrupts)
	for cpu in 1 2; do
		taskset $cpu netjob -n 30 -i 50000000 -P 100000000 -p 30 > /dev/null &
		jobs="${jobs:-} $!"
	done
	echo 1500 > $N/burst
	while_held=0
	for i in 1 2 3 4 5; do
		echo 2 > "/proc/irq/$line/smp_affinity"
		sleep 0.1
		ways=$(($(netprio_count served) + $(netprio_count expired)))
		[ "$(netprio_count held)" -le "$ways" ] || while_held=$((while_held + 1))
		echo 0 > $cpu1 || fail "CPU 1 does not go"
		sleep 0.1
		echo 1 > $cpu1 || fail "CPU 1 does not come back"
	done
	# shellcheck disable=SC2086 # several
	kill $jobs
	all_came
	echo "# packets were held $while_held times of 5"
	[ "$while_held" -gt 0 ] || fail "nothing was held when a CPU went"
	netprio_off
	near=$(here_counts)
	raised_all "$near"
	unload
}

# A full queue drops packets, counts them, and keeps the order of the others.
test_netprio_queue_limit() {
	netprio 1 100000
	echo 2 > $NP/queue_limit
	burst_of 1000 &
	burst=$!
	busy 30
	wait $burst || fail "the burst"
	wait $sink
	grep -q 'disordered 0$' /tmp/netsink || fail "$(cat /tmp/netsink)"
	lost=$(netprio_count dropped)
	[ "$lost" -gt 0 ] || fail "nothing was lost"
	came=$(sed -n 's/.* received \([0-9]*\) .*/\1/p' /tmp/netsink)
	[ $((came + lost)) = 1000 ] || fail "$came came, $lost lost, of 1000"
	netprio_off
	unload
}

# Switches netprio off and on under a flood beside the job.
test_netprio_toggles() {
	NP_NAPI_US=20000
	netprio 2 1500
	(while :; do
		echo 0 > $NP/enabled
		sleep 0.01
		echo 1 > $NP/enabled
		# The level's thread is made beside the job.
		sleep 0.1
	done) &
	toggler=$!
	echo 1500 > $N/burst
	taskset 1 netjob -n 60 -i 10000000 -P 25000000 -p 30 > /tmp/netjob
	all_came
	kill $toggler
	wait $toggler 2> /dev/null
	[ "$(netprio_count held)" -gt 0 ] || fail "nothing was held"
	netprio_off
	unload
}

has_dropped() {
	[ "$(netprio_count dropped)" -gt 0 ]
}

# netprio can be switched off during a flood that is faster than the service of
# held packets. Waiting packets are served, and later ones are no longer held.
# The flood comes to CPU 0; CPU 1 serves it through a socket that takes long for
# each packet.
test_netprio_off_in_flood() {
	[ "$(nproc)" -gt 1 ] || skip "one CPU, where nothing comes while something is served"
	needs fifo
	echo 1000000 > /proc/sys/net/core/optmem_max # the filter is large
	NP_PPS=300
	NP_SINK="-s 4000 -p 20"
	netprio 1 1000000
	echo 20 > $NP/queue_limit
	soon pidof netprio/20 > /dev/null || fail "no thread for FIFO 20"
	taskset -p 2 "$(pidof netprio/20)" > /dev/null || fail "cannot bind netprio/20"
	line=$(awk '$NF == "isight0" { print $1 + 0 }' /proc/interrupts)
	echo 1 > "/proc/irq/$line/smp_affinity" || fail "cannot bind the NIC"
	taskset 1 netjob -n 1 -i 1000000000000 -p 30 > /dev/null &
	job=$!
	sleep 0.2
	taskset 1 fifo 90 sh -c "echo 3000 > $N/burst" || fail "no burst"
	soon has_dropped || skip "no flood on this machine: $(cd $NP && grep . $NP_COUNTS)"
	kill $job
	wait $job 2> /dev/null
	taskset 2 fifo 60 sh -c "echo 0 > $NP/enabled" || fail "netprio cannot be disabled"
	left=$(cat $N/burst)
	echo "# $left packets of 3000 were to come when it was off"
	[ "$left" -gt 0 ] || fail "it waits for the end of the flood"
	kill $sink
	wait $sink 2> /dev/null
	netprio_off
	unload
}

# The NIC is removed while it and its packets are held.
test_netprio_unload() {
	NP_NAPI_US=50000
	netprio 1 100000
	echo 100000 > $N/burst
	busy 30 &
	job=$!
	sleep 0.12
	unload
	wait $job
	kill $sink
	wait $sink 2> /dev/null
	netprio_off
	nothing_left
}
