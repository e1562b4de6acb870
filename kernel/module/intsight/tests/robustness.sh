# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of misuse: several writers, signals, readers that stay, and unloading
# under all of them. Sourced by run.sh.

test_writers_serialise() {
	load
	set_ reps 200
	set_ delay_us 10000
	step prepare || fail "prepare refused"
	step do &
	until_open $! do_trigger
	# A benchmark runs for two seconds, and parameters can be read and set
	# meanwhile.
	set_ reps 20
	[ ! -e $D/csv_results ] || fail "the benchmark was too short"
	# The next step waits for the benchmark.
	step postprocess || fail "postprocess did not wait for do"
	wait $! || fail "do failed"
	check_results 200
	unload
}

test_concurrent_writers() {
	load
	set_ delay_us 100
	for writer in 1 2 3 4; do
		(
			for i in $(seq 1 50); do
				echo $((writer * 10)) > $D/reps
				step prepare
				step do
				step postprocess
				cat $D/csv_results/name > /dev/null
			done
		) 2> /dev/null &
	done
	wait
	set_ reps 30
	benchmark
	check_results 30
	unload
}

# Starts a benchmark of a minute and does not wait for it.
long_benchmark() {
	set_ reps 60
	set_ delay_ms 1000
	step prepare || fail "prepare refused"
}

# The state that a cancelled benchmark must leave behind.
as_if_never_prepared() {
	refused do_trigger ""
	refused postprocess_trigger ""
	set_ reps 20
	set_ delay_us 200
	benchmark
	check_results 20
}

test_killed() {
	load
	for type in usleep_range udelay; do
		for signal in KILL TERM; do
			set_ delay_type $type
			long_benchmark
			step do &
			sleep 0.1
			kill -$signal $!
			wait $! 2> /dev/null &&
				fail "$signal, $type: do_trigger returned 0"
			[ -z "$(writers)" ] || fail "$signal: still there"
			as_if_never_prepared
		done
	done
	unload
}

# A writer that waits for its turn can be killed, and the benchmark goes on.
test_killed_in_queue() {
	load
	long_benchmark
	step do &
	first=$!
	until_open $first do_trigger
	sleep 0.1
	step do &
	second=$!
	until_open $second do_trigger
	sleep 0.1
	kill -TERM $second
	wait $second 2> /dev/null && fail "the second do_trigger returned 0"
	refused_unload
	kill -TERM $first
	wait $first 2> /dev/null && fail "the first do_trigger returned 0"
	as_if_never_prepared
	unload
}

# A signal that the writer handles ends the benchmark with EINTR. The shell of
# busybox then writes once more, and that write fails because nothing is
# prepared.
test_interrupted() {
	load
	long_benchmark
	(
		trap : USR1
		echo > $D/do_trigger
	) 2> /tmp/message &
	sleep 0.1
	kill -USR1 $!
	wait $! && fail "do_trigger returned 0"
	grep -qE "Interrupted system call|Invalid argument" /tmp/message ||
		fail "neither -EINTR nor -EINVAL: $(cat /tmp/message)"
	as_if_never_prepared
	unload
}

refused_unload() {
	if rmmod intsight 2> /dev/null; then
		fail "unloaded under a user"
	fi
}

# Prints the processes that have do_trigger open.
writers() {
	ls -l /proc/[0-9]*/fd 2> /dev/null | grep intsight/do_trigger
}

test_unload_while_running() {
	load
	set_ reps 20
	set_ delay_ms 50
	step prepare || fail "prepare refused"
	step do &
	sleep 0.1
	refused_unload
	wait $! || fail "do failed"
	step postprocess || fail "postprocess refused"
	check_results 20
	unload
}

# A reader holds the module, and keeps its matrix when a new one is prepared.
test_reader_stays() {
	load
	set_ reps 20000
	set_ delay_us 0
	set_ bottom_handler none
	benchmark
	exec 3< $D/csv_results/name
	read -r line <&3
	[ "$line" = trigger,top_half,bottom_half ] || fail "read '$line'"
	refused_unload
	step prepare || fail "prepare refused under a reader"
	cat <&3 > /dev/null 2>&1
	refused_unload
	exec 3<&-
	unload
}

test_load_loop() {
	(
		while [ ! -e /tmp/stop ]; do
			cat $D/csv_results/* $D/* > /dev/null
			cp -r $D /tmp/copy
			rm -rf /tmp/copy
		done
	) 2> /dev/null &
	reader=$!
	for i in $(seq 1 "${LOOPS:-20}"); do
		load
		set_ reps 200
		set_ delay_us 0
		set_ tracepoints sched_switch
		benchmark
		tries=0
		until rmmod intsight 2> /dev/null; do
			tries=$((tries + 1))
			[ $tries -lt 10000 ] || fail "readers hold it for ever"
		done
	done
	> /tmp/stop
	wait $reader
	rm /tmp/stop
}

# A line is delivered in interrupt context wherever it is raised. A softirq
# raised elsewhere makes an idle CPU with PREEMPT_RT warn.
test_from_every_cpu() {
	[ "$(nproc)" -gt 1 ] || skip "one CPU"
	load
	for mask in 1 2; do
		for mechanism in softirq tasklet threaded_irq; do
			set_ bottom_handler $mechanism
			set_ reps 50
			set_ delay_us 2000
			step prepare
			taskset $mask sh -c "echo > $D/do_trigger" ||
				fail "do_trigger refused on CPU mask $mask"
			step postprocess
			check_results 50
		done
	done
	unload
}

# The module frees all its memory when it is unloaded. Only a kernel with
# kmemleak can check this; it ignores objects younger than 5 s.
test_leaks() {
	leaks=/sys/kernel/debug/kmemleak
	[ -e $leaks ] || skip "no kmemleak"
	echo clear > $leaks
	for i in 1 2 3; do
		insmod "$KO" nic=1 nr_devices=3 || fail "cannot load"
		echo > $D/init || fail "init refused"
		set_ reps 100
		set_ delay_us 100
		benchmark
		step prepare || fail "prepare refused"
		ip link set isight0 up
		ip link set isight1 up
		if command -v waiter > /dev/null; then
			waiter -n 20 -k thread:1000:1:2 -k irqs_off:1000:1:3 \
				> /dev/null || fail "waiter"
		fi
		unload
	done
	sleep 6
	echo scan > $leaks
	sleep 6
	echo scan > $leaks
	found=$(cat $leaks)
	[ -z "$found" ] || fail "$found"
}

test_kernel_log() {
	complaint="WARNING:|BUG:|Oops|Call [Tt]race|stall|\] not ok "
	if dmesg | grep -q -E "$complaint"; then
		dmesg | grep -E -A 40 "$complaint"
		fail "the kernel complains"
	fi
}
