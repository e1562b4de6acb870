# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the rules that keep migrate and direct safe, one by one.
# irqpath_needs.sh proves that each test fails without its rule. Sourced by
# run.sh.

# slower FILE NS: counts the runs that took longer from the raise to user space.
slower() {
	awk -F, -v limit="$2" '
	/^# irq/ { split($0, word, " "); khz = word[5] }
	/^[0-9]/ { cycles[++nr] = $9 - $3 }
	END { for (i = 1; i <= nr; i++) slow += cycles[i] * 1000000 / khz > limit
	      print slow + 0 }' "$1"
}

device_irq() {
	awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts
}

# A handler that asks for a thread of its own may sleep, so it stays there.
test_irqpath_forced_only() {
	policy migrate
	wait_for 50 read -T
	[ "$(since_before)" = 0 ] || fail "the task ran $(since_before) threaded handlers"
	policy_off migrate
}

# has_run N: tasks ran N handlers.
has_run() {
	[ "$(since_before)" -ge "$1" ]
}

# The task that was offered a handler sleeps on, because its wakeup is dropped
# and there is no watchdog.
offered_in_vain() {
	[ -e $P/faults/drop_every ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	policy migrate
	waiter -n 300 -w 0 -t 5000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	soon has_run 5 || fail "no handler migrates"
	limit=$(cat $P/migrate/watchdog_us)
	echo 0 > $P/migrate/watchdog_us
	echo 1 > $P/faults/drop_every
	sleep 0.05
	before=$(cat $P/migrate/migrated)
	lost=$(cat $P/migrate/lost)
	elsewhere=$(cat $P/migrate/elsewhere)
	echo 0 > $P/faults/drop_every
	kill -0 $waiter || fail "it was woken"
}

# The interrupt's thread, woken for something else, takes the token; the late
# task finds none. If the handler ran twice, the second run would find nothing
# to do.
test_irqpath_one_token() {
	offered_in_vain
	wake_thread
	wait $waiter || fail "waiter failed"
	echo "$limit" > $P/migrate/watchdog_us
	grep -q ' spurious 0 ' /tmp/waiter.csv || fail "handled twice: $(grep spurious /tmp/waiter.csv)"
	[ "$(cat $P/migrate/lost)" -gt "$lost" ] || fail "the task did not come late"
	policy_off migrate
}

# A task demoted after an offer would run the handler late, so the thread runs
# it.
test_irqpath_hands_back() {
	needs prio
	offered_in_vain
	prio 0 waiter > /dev/null || fail "prio failed"
	kill $waiter
	wait $waiter 2> /dev/null
	echo "$limit" > $P/migrate/watchdog_us
	[ "$(cat $P/migrate/elsewhere)" -gt "$elsewhere" ] || fail "not handed back"
	[ "$(since_before)" = 0 ] || fail "an ordinary task ran it"
	wait_for 20
	policy_off migrate
}

# wake_thread: wakes the thread of the device's interrupt, as after a change of
# its affinity.
wake_thread() {
	cat "/proc/irq/$(device_irq)/smp_affinity" > /tmp/affinity
	cat /tmp/affinity > "/proc/irq/$(device_irq)/smp_affinity"
}

# Any other wakeup leaves an offered handler with the task, even the signal that
# kills it. The freezer and every other signal wake the task in the same way.
test_irqpath_killed() {
	offered_in_vain
	kill -9 $waiter
	wait $waiter 2> /dev/null
	ran=$(since_before)
	wake_thread # otherwise the line, which nobody served, stays masked
	echo "$limit" > $P/migrate/watchdog_us
	[ "$ran" = 1 ] || fail "a task that was killed ran $ran handlers of the one it had"
	wait_for 20
	policy_off migrate
}

# An offer ends with its action. Here a shell that waits in poll() for a pipe
# was offered the handler and the thread has run it. When the shell wakes up,
# the module is gone.
test_irqpath_withdraws() {
	[ -e $P/faults/drop_every ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	needs fifo
	policy migrate
	limit=$(cat $P/migrate/watchdog_us)
	rm -f /tmp/pipe
	mkfifo /tmp/pipe
	# shellcheck disable=SC2016 # the inner shell's
	fifo 80 sh -c 'while read -t 60 -r line && [ "$line" != end ]; do :; done' <> /tmp/pipe &
	shell=$!
	soon pin $shell || fail "the shell cannot be pinned"
	echo park > /tmp/pipe
	sleep 0.1
	offered=$(cat $P/migrate/offered)
	lost=$(cat $P/migrate/lost)
	echo 0 > $P/migrate/watchdog_us
	echo 1 > $P/faults/drop_every
	waiter -n 1 -w 0 -t 5000000 -p 0 > /tmp/waiter.csv &
	waiter=$!
	soon has_offered $((offered + 1)) || fail "the shell is offered nothing"
	wake_thread
	wait $waiter || fail "waiter failed"
	echo 0 > $P/faults/drop_every
	unload
	echo end > /tmp/pipe
	wait $shell || fail "the shell"
	rm /tmp/pipe
	echo "$limit" > $P/migrate/watchdog_us
	echo 0 > $P/migrate/enabled
	[ "$(cat $P/migrate/lost)" = $((lost + 1)) ] || fail "the offer was not withdrawn"
	nothing_left
}

pin() {
	echo "$1" 2> /dev/null > "/proc/irq/$(device_irq)/irqpath_target"
}

has_offered() {
	[ "$(cat $P/migrate/offered)" -ge "$1" ]
}

# The line is not masked while a task runs its handler. The next interrupt wakes
# the thread on the other CPU, which waits. Only each second handler is long;
# otherwise nothing else would run.
test_irqpath_one_runner() {
	[ -d $P ] || skip "no $P: a kernel without CONFIG_IRQPATH"
	needs waiter
	[ "$(nproc)" -gt 1 ] || skip "one CPU, where handlers wait for each other's bottom halves"
	load_devices nr_devices=1 messages=1
	irq=$(device_irq)
	echo 1 > "/proc/irq/$irq/smp_affinity"
	wait_for 20 # the thread has followed, and stays from now on
	thread=$(grep -l "^irq/$irq-" /proc/[0-9]*/comm | awk -F / '{ print $3 }')
	taskset -p 2 "$thread" > /dev/null || fail "cannot move the thread"
	before=$(cat $P/migrate/migrated)
	echo 1 > $P/migrate/enabled
	waiter -c 0 -n 100 -P 10000000 -p 60 -k handler:20000000:1:2 > /tmp/waiter.csv ||
		fail "waiter failed"
	[ "$(affinity "$thread")" = 1 ] || fail "the thread has moved"
	overlaps=$(cat /sys/module/intsight/parameters/overlaps)
	# A busy host may add one or two interrupts.
	grep -q 'handler busy_ns 20000000 done 5[0-9] ' /tmp/waiter.csv ||
		fail "not all handlers were long: $(grep '^#' /tmp/waiter.csv)"
	[ "$overlaps" = 0 ] || fail "$overlaps handlers ran beside another one"
	[ "$(since_before)" -ge 20 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# The line was masked for the thread, and the task that runs the handler unmasks
# it.
test_irqpath_unmasks() {
	policy migrate
	timeout 5 waiter -n 50 -t 1000000 -p 80 > /tmp/waiter.csv || fail "the line stays masked"
	[ "$(since_before)" -ge 40 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# ended PID: ends a task that is no longer needed.
ended() {
	kill "$1"
	wait "$1" 2> /dev/null
}

# synchronize_irq() waits for the task that runs the handler.
test_irqpath_drains() {
	needs fifo
	policy migrate
	# On a kernel with debug checks, the shells that synchronize take longer
	# than the watchdog's default limit.
	echo 50000 > $P/migrate/watchdog_us
	waiter -n 400 -t 5000000 -p 80 -k handler:20000000:20:1 > /tmp/waiter.csv &
	waiter=$!
	until [ "$(since_before)" -ge 12 ]; do
		kill -0 $waiter || fail "no handler migrates"
		sleep 0.01
	done
	for round in 1 2 3 4 5 6 7 8; do
		fifo 90 sh -c 'echo 1 > /sys/module/intsight/parameters/synchronize' ||
			fail "synchronize_irq() came back in a handler, in round $round"
	done
	ended $waiter
	echo 200 > $P/migrate/watchdog_us
	policy_off migrate
}

# Softirqs that the handler raised run with it. A task computes at FIFO 10, so
# that no thread would run them.
test_irqpath_own_softirqs() {
	needs netjob
	policy migrate
	waiter -n 60 -t 5000000 -p 80 -k tasklet:50000:1:1 > /tmp/waiter.csv &
	waiter=$!
	netjob -n 1 -i 500000000 -P 10000000 -p 10 > /tmp/netjob || fail "netjob failed"
	wait $waiter || fail "waiter failed"
	ran=$(awk '$3 == "tasklet" { print $7 }' /tmp/waiter.csv)
	[ "$ran" -ge 55 ] || fail "$ran tasklets of 60 beside a task at FIFO 10"
	[ "$(since_before)" -ge 50 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# Softirqs that others raised do not run with the handler: here the tick raises
# SCHED on two CPUs. Few ticks fall between the handler and the end of bottom
# halves.
test_irqpath_foreign_softirqs() {
	[ "$(nproc)" -gt 1 ] || skip "one CPU: nothing else raises softirqs"
	entry=$TRACING/events/irq/softirq_entry/enable
	[ -e "$entry" ] || mount -t tracefs tracefs "$TRACING"
	[ -e "$entry" ] || skip "no tracepoints"
	policy migrate
	echo > "$TRACING/trace"
	echo 1 > "$entry"
	wait_for 200 read -k handler:6000000:1:1
	echo 0 > "$entry"
	raised=$(grep -c 'softirq_entry.*SCHED' "$TRACING/trace")
	done=$(grep -c 'waiter-.*softirq_entry.*SCHED' "$TRACING/trace")
	echo "# SCHED ran $raised times, $done of them in the task"
	[ "$raised" -ge 10 ] || fail "hardly anything was raised"
	[ "$done" -le 4 ] || fail "the task did what others raised"
	policy_off migrate
}

# A traced task is offered nothing.
test_irqpath_traced() {
	needs tracer
	policy migrate
	waiter -n 2000 -t 5000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	sleep 0.1
	tracer 20000 $waiter > /tmp/tracer &
	tracer=$!
	until [ -s /tmp/tracer ]; do
		kill -0 $tracer || fail "no tracer"
		sleep 0.01
	done
	[ "$(cat /tmp/tracer)" = 1 ] || fail "it cannot be traced"
	before=$(cat $P/migrate/migrated)
	sleep 0.3
	traced=$(since_before)
	ended $tracer
	sleep 0.3
	[ "$traced" -le 1 ] || fail "a traced task ran $traced handlers"
	[ "$(since_before)" -gt 10 ] || fail "nobody is offered anything"
	ended $waiter
	policy_off migrate
}

# A task that will move to another CPU at its wakeup is offered nothing.
test_irqpath_moved() {
	[ "$(nproc)" -gt 1 ] || skip "one CPU"
	policy migrate
	elsewhere=$(cat $P/migrate/elsewhere)
	# The other CPU may be slow to answer.
	limit=$(cat $P/migrate/watchdog_us)
	echo 1000000 > $P/migrate/watchdog_us
	waiter -n 60 -t 20000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	while kill -0 $waiter 2> /dev/null; do
		for mask in 1 2; do
			taskset -p $mask $waiter > /dev/null 2>&1
			sleep 0.033
		done
	done
	wait $waiter || fail "waiter failed"
	echo "$limit" > $P/migrate/watchdog_us
	elsewhere=$(($(cat $P/migrate/elsewhere) - elsewhere))
	# An offer may be under way at that moment.
	[ $elsewhere -le 2 ] || fail "$elsewhere offers to a task of another CPU"
	policy_off migrate
}

# field PID NUMBER: prints that field of its association, or 0 if there is none.
field() {
	awk '$3 == pid { value = $field } END { print value + 0 }' pid="$1" field="$2" $P/associations
}

# two_wait NS RUNS: starts two waiters for one device, whose interrupt comes NS
# after the last one. $waiter has FIFO 60; $urgent has FIFO 80, is named urgent,
# and has run the handler RUNS times.
two_wait() {
	waiter -n 2000 -t "$1" -p 60 > /tmp/waiter.csv &
	waiter=$!
	until_open $waiter intsight
	sleep 0.02 # it chooses the mode, which is refused while another task sleeps
	cp "$(command -v waiter)" /tmp/urgent
	# It runs first after each interrupt, and so parks first.
	/tmp/urgent -a -n 10000 -p 80 > /tmp/urgent.csv &
	urgent=$!
	until [ "$(field $urgent 7)" -ge "$2" ]; do
		kill -0 $waiter || fail "not learned"
		sleep 0.01
	done
}

# Of two waiters, the more urgent one runs the handler, whichever came first.
test_irqpath_most_urgent_first() {
	policy migrate
	two_wait 6000000 10
	less_before=$(field $waiter 7)
	more_before=$(field $urgent 7)
	sleep 0.5
	less=$(($(field $waiter 7) - less_before))
	more=$(($(field $urgent 7) - more_before))
	ended $urgent
	ended $waiter
	echo "# the more urgent task ran $more handlers, the less urgent one $less"
	[ $less -le 3 ] || fail "not the more urgent one first"
	[ $more -ge 30 ] || fail "few handlers migrate"
	policy_off migrate
}

# runs_next [PRIORITY]: whether the urgent task runs the handler of the next
# interrupt, which comes after it has slept with this priority for a while.
runs_next() {
	hits=$(field $urgent 6)
	runs=$(field $urgent 7)
	[ $# = 0 ] || prio "$1" urgent > /dev/null || fail "prio failed"
	until [ "$(field $urgent 6)" -gt "$hits" ]; do
		kill -0 $waiter || fail "no interrupt"
		sleep 0.01
	done
	runs=$(($(field $urgent 7) - runs))
}

# A task that is demoted below the others while it sleeps first in the queue is
# no longer first.
test_irqpath_reordered() {
	needs prio
	policy migrate
	two_wait 150000000 2
	below=0
	above=0
	for round in 1 2 3 4 5; do
		runs_next 55
		below=$((below + runs))
		# It parks in its new place, and gets another one before the
		# next interrupt.
		runs_next 80
		runs_next
		above=$((above + runs))
	done
	ended $urgent
	ended $waiter
	echo "# of 5 interrupts each it ran $below when it had fallen below, $above above"
	[ $below = 0 ] || fail "$below handlers in the place that it had had"
	[ $above -ge 3 ] || fail "few handlers migrate"
	policy_off migrate
}

# A hardirq does not take the CPU from a task as urgent as the one it wakes.
# direct may have switched to the job itself; the tick settles that loan before
# most of the interrupts.
test_irqpath_outranked() {
	needs netjob
	policy direct
	outranked=$(cat $P/direct/outranked)
	waiter -D -n 60 -t 15000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	netjob -n 20 -i 20000000 -P 40000000 -p 90 > /tmp/netjob || fail "netjob failed"
	wait $waiter || fail "waiter failed"
	outranked=$(($(cat $P/direct/outranked) - outranked))
	waited=$(slower /tmp/waiter.csv 1000000)
	echo "# outranked $outranked times, $waited waited"
	[ $outranked -ge 3 ] || fail "it was hardly ever outranked"
	[ "$waited" -ge 3 ] || fail "$waited waited for a task that outranks it"
	policy_off direct
}

# RCU waits for a task that is left in the middle of a read side, whichever way
# it was left.
test_irqpath_readers() {
	policy direct
	[ -e /sys/module/intsight/parameters/read ] || skip "readers that cannot be left"
	switched=$(cat $P/direct/switched)
	waiter -D -c 0 -n 60 -t 5000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	taskset 1 sh -c 'echo 400 > /sys/module/intsight/parameters/read' 2> /tmp/why ||
		fail "RCU does not know of a reader that was left: $(cat /tmp/why)"
	wait $waiter || fail "waiter failed"
	switched=$(($(cat $P/direct/switched) - switched))
	echo "# $switched direct switches"
	[ $switched -ge 20 ] || fail "$switched direct switches"
	policy_off direct
}
