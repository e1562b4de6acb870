# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the policies of the irqpath kernel on /dev/intsight0, from the
# outside. Skipped on other kernels. Sourced by run.sh.

P=/sys/kernel/irqpath

# Tests of one waiter: its association, its migration, and its end.
policy() {
	[ -d $P ] || skip "no $P: a kernel without CONFIG_IRQPATH"
	needs waiter
	load_devices nr_devices=1
	echo 1 > "$P/$1/enabled" || fail "$1 cannot be enabled"
	before=$(cat $P/migrate/migrated)
}

# policy_off NAME: switches the policy off; no policy acts, and a waiter is
# served as before.
policy_off() {
	echo 0 > "$P/$1/enabled" || fail "$1 cannot be disabled"
	last=$(cat $P/migrate/migrated)
	wait_for 20
	[ "$(cat $P/migrate/migrated)" = "$last" ] || fail "$1 goes on when off"
	unload
	nothing_left
	if grep intsight $P/associations; then
		fail "an association outlives its handler"
	fi
}

# wait_for N [SITE [OPTION...]]: waits for N interrupts on the CPU that takes
# them; every interrupt that was raised must be handled.
wait_for() {
	irq=$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)
	cpu=$(cat "/proc/irq/$irq/effective_affinity_list")
	waits=$1 site=${2:-read}
	shift $(($# > 1 ? 2 : 1))
	waiter -n "$waits" -t 1000000 -p 80 -c "${cpu%%[,-]*}" -s "$site" "$@" > /tmp/waiter.csv ||
		fail "waiter failed"
	awk -v n="$waits" '
	/^# expired/ { if ($5 != $7) print "# raised " $5 ", handled " $7
		seen = 1; wrong = $5 != $7 }
	/^[0-9]/ { lines++ }
	END { exit !seen || wrong || lines != n }' /tmp/waiter.csv ||
		fail "not every interrupt came through: $(tail -3 /tmp/waiter.csv)"
}

since_before() {
	echo $(($(cat $P/migrate/migrated) - before))
}

# learned ORIGIN TASK [CREDIT]: the association was seen ten times and has no
# more credit than CREDIT.
learned() {
	awk -v from="$1" -v to="$2" -v most="${3:-1000}" '
		$2 == from && $4 == to && $6 >= 10 && $10 <= most { seen = 1 }
		END { exit !seen }' $P/associations
}

# An association ends with its task, so read it while the task waits.
test_irqpath_learns() {
	policy learn
	waiter -n 200 -t 5000000 -p 80 -s read > /tmp/waiter.csv &
	soon learned intsight0 waiter || fail "not learned: $(cat $P/associations)"
	wait $! || fail "waiter failed"
	if grep waiter $P/associations; then
		fail "an association outlives its task"
	fi
	[ "$(since_before)" = 0 ] || fail "learning migrates"
	policy_off learn
}

# learned_and_not_offered ORIGIN TASK PID: the association is seen ten times,
# yet the task is offered no handler, because the handler alone does not wake
# it.
learned_and_not_offered() {
	soon learned "$1" "$2" 0 || fail "not learned: $(cat $P/associations)"
	wait "$3" || fail "$2 failed"
	offered=$(($(cat $P/migrate/offered) - offered))
	[ $offered = 0 ] || fail "$offered handlers offered"
}

# irqpath learns that a NAPI's thread works for the interrupt that woke it.
test_irqpath_learns_napi() {
	[ -d $P ] || skip "no $P: a kernel without CONFIG_IRQPATH"
	load_pair
	echo 1 > /sys/class/net/isight0/threaded || fail "no threaded NAPIs"
	echo 1 > $P/migrate/enabled
	offered=$(cat $P/migrate/offered)
	netping -n 400 -p 80 10.9.0.2 5000 > /tmp/ping.csv &
	learned_and_not_offered isight0 netping $!
	echo 0 > $P/migrate/enabled
	unload_pair
	nothing_left
}

# irqpath learns that a worker works for the interrupt whose handler queued its
# work.
test_irqpath_learns_work() {
	policy migrate
	offered=$(cat $P/migrate/offered)
	waiter -n 400 -t 5000000 -p 80 -W > /tmp/waiter.csv &
	learned_and_not_offered intsight0 waiter $!
	policy_off migrate
}

# An interrupt's thread that releases a lock must not be associated with the
# waiter for that lock. Here a sender interrupts a handler and waits until
# bottom halves are free.
test_irqpath_learns_no_locks() {
	policy learn
	needs netsend netsink
	netsink -n 1000000 -T 500 5000 > /tmp/netsink &
	sink=$!
	waiter -n 300 -w 0 -t 300000 -p 20 -k handler:700000:1:1 > /tmp/waiter.csv &
	waiter=$!
	netsend -n 300 -i 700 -p 80 127.0.0.1 5000 &
	sender=$!
	while kill -0 $sender 2> /dev/null; do
		if grep -w netsend $P/associations; then
			fail "an interrupt serves who waits for a lock"
		fi
		sleep 0.002
	done
	wait $sender || fail "netsend failed"
	wait $waiter || fail "waiter failed"
	wait $sink || : # it does not know how many come
	policy_off learn
}

# An association made by hand exists before any interrupt to learn from.
test_irqpath_pinned() {
	policy learn
	target=/proc/irq/$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)/irqpath_target
	waiter -n 2 -t 1000000000 -p 80 -s read > /tmp/waiter.csv &
	waiter=$!
	until echo $waiter 2> /dev/null > "$target"; do
		kill -0 $waiter 2> /dev/null || fail "cannot be pinned"
		sleep 0.01
	done
	awk -v pid=$waiter '$1 == pid && $NF == 1 { seen = 1 } END { exit !seen }' "$target" ||
		fail "not pinned: $(cat "$target")"
	echo -$waiter > "$target" || fail "cannot be left to learning"
	for wrong in 0 1 x $$; do
		if echo $wrong 2> /dev/null > "$target"; then
			fail "'$wrong' is taken for a real-time task"
		fi
	done
	wait $waiter || fail "waiter failed"
	[ "$(wc -l < "$target")" = 1 ] || fail "an association outlives its task: $(cat "$target")"
	policy_off learn
	[ ! -e "$target" ] || fail "$target outlives its handler"
}

# The first interrupt teaches the association. The interrupt's thread may take a
# few others while it is still awake.
test_irqpath_migrates() {
	policy migrate
	for site in read poll select epoll; do
		before=$(cat $P/migrate/migrated)
		wait_for 200 $site
		nr=$(since_before)
		[ "$nr" -ge 180 ] || fail "$site: the task ran $nr handlers of 200"
	done
	policy_off migrate
}

# direct switches from the hardirq to the task that its handler woke, and never
# to a kernel thread. The timer of an idle CPU may belong to another CPU, so a
# task below keeps this one busy. A timer that expires in the tick, without an
# interrupt of its own, may find the run queue locked: on a busy host, where a
# tick comes late, 54 of 200 did.
test_irqpath_direct() {
	grep -q 'hres_active *: 1' /proc/timer_list ||
		skip "no high-resolution timers: the host was too busy to calibrate them"
	policy direct
	switched=$(cat $P/direct/switched)
	wait_for 200 read -D -H
	switched=$(($(cat $P/direct/switched) - switched))
	[ $switched -ge 150 ] || fail "$switched direct switches of 200"

	switched=$(cat $P/direct/switched)
	wait_for 200 read -N -H
	switched=$(($(cat $P/direct/switched) - switched))
	[ $switched -ge 100 ] || fail "$switched direct switches of 200 from a timer"

	switched=$(cat $P/direct/switched)
	wait_for 200 poll -H
	switched=$(($(cat $P/direct/switched) - switched))
	[ $switched -lt 50 ] || fail "$switched direct switches to a thread"
	policy_off direct
}

# migrate and direct together, with the task's address space loaded late.
test_irqpath_direct_migrates() {
	policy migrate
	echo 1 > $P/direct/enabled
	for las in 0 1; do
		if ! echo $las 2> /dev/null > $P/migrate/las; then
			continue
		fi
		before=$(cat $P/migrate/migrated)
		lazy=$(cat $P/migrate/lazy)
		wait_for 200
		nr=$(since_before)
		[ "$nr" -ge 180 ] || fail "the task ran $nr handlers of 200"
		lazy=$(($(cat $P/migrate/lazy) - lazy))
		[ $las = 0 ] || [ "$lazy" -ge 150 ] || fail "$lazy of them lazily"
	done
	echo 0 > $P/migrate/las
	echo 0 > $P/direct/enabled
	policy_off migrate
}

# cpu_time PID: prints its CPU time in hundredths of a second.
cpu_time() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"
}

# The task that runs a handler is charged for it.
test_irqpath_charges() {
	policy migrate
	thread=$(grep -l '^irq/.*-intsight0$' /proc/[0-9]*/comm | awk -F / '{ print $3 }')
	for direct in 0 1; do
		echo $direct > $P/direct/enabled
		thread_before=$(cpu_time "$thread")
		waiter -n 150 -t 3000000 -p 80 -k handler:2000000:30:1 > /tmp/waiter.csv &
		waiter=$!
		while now=$(cpu_time $waiter 2> /dev/null) && [ "$now" ]; do
			spent=$now
			sleep 0.02
		done
		wait $waiter || fail "waiter failed"
		thread_spent=$(($(cpu_time "$thread") - thread_before))
		echo "# direct $direct: the task $spent, the thread $thread_spent"
		# 120 handlers take 2 ms each, and the thread runs the first
		# ones.
		[ "$spent" -ge 20 ] || fail "the task is charged $spent hundredths of a second"
		[ $thread_spent -le 4 ] || fail "the thread is charged $thread_spent"
	done
	echo 0 > $P/direct/enabled
	policy_off migrate
}

# Goes through the freezer and the suspension of devices and their interrupts,
# and back.
test_irqpath_suspends() {
	[ -w /sys/power/pm_test ] || skip "a kernel without CONFIG_PM_SLEEP_DEBUG"
	policy migrate
	echo 1 > $P/direct/enabled
	echo 0 > /sys/module/suspend/parameters/pm_test_delay
	waiter -n 400 -t 5000000 -p 80 > /tmp/waiter.csv &
	waiter=$!
	# The level platform covers suspend-to-idle, including devices and
	# interrupts.
	for level in freezer platform; do
		sleep 0.1
		echo $level > /sys/power/pm_test || fail "no test of $level"
		echo freeze > /sys/power/state || fail "no suspension to $level"
	done
	echo none > /sys/power/pm_test
	kill -0 $waiter || fail "over too early to tell"
	wait $waiter || fail "waiter failed"
	awk '/^# expired/ { seen = 1; wrong = $5 != $7 } END { exit !seen || wrong }' /tmp/waiter.csv ||
		fail "not every interrupt came through: $(tail -3 /tmp/waiter.csv)"
	echo 0 > $P/direct/enabled
	[ "$(since_before)" -gt 100 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# Two tasks share a NIC, and the packet identifies the task of each interrupt.
test_irqpath_demux() {
	[ -d $P ] || skip "no $P: a kernel without CONFIG_IRQPATH"
	needs prio
	load_pair
	prio 90 netserver > /dev/null || fail "prio failed"
	echo 1 > $P/migrate/enabled
	for demux in 0 1; do
		echo $demux > $P/migrate/early_demux
		wrong=$(cat $P/migrate/mispredicted)
		netping -t -n 200 -p 80 10.9.0.2 5000 > /tmp/high.csv &
		netping -t -n 200 -p 70 10.9.0.2 5000 > /tmp/low.csv || fail "low"
		wait $! || fail "high"
		wrong=$(($(cat $P/migrate/mispredicted) - wrong))
		echo "# early_demux $demux: $wrong mispredicted"
		[ $demux = 1 ] || without=$wrong
	done
	# An acknowledgement without data names a task that it does not wake.
	[ $wrong -le $((without / 4)) ] || fail "$wrong mispredicted of $without"
	echo 0 > $P/migrate/enabled
	unload_pair
	nothing_left
}

# A thread above its task keeps its handlers.
test_irqpath_respects_priority() {
	needs prio
	policy migrate
	prio 90 "irq/$(awk '$NF == "intsight0" { print $1 + 0 }' \
		/proc/interrupts)-" || fail "prio failed"
	wait_for 50
	[ "$(since_before)" = 0 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# No interrupt is lost while a policy is switched on and off under a waiter.
test_irqpath_toggles() {
	policy migrate
	(while :; do
		echo 0 > $P/migrate/enabled
		echo 1 > $P/direct/enabled
		sleep 0.02
		echo 1 > $P/migrate/enabled
		echo 0 > $P/direct/enabled
		sleep 0.02
	done) &
	toggler=$!
	wait_for 2000
	kill $toggler
	wait $toggler 2> /dev/null
	echo 0 > $P/direct/enabled
	[ "$(since_before)" -gt 0 ] || fail "no handler migrated"
	policy_off migrate
}

# A dropped wakeup delays the interrupt by the watchdog's limit and loses none.
test_irqpath_watchdog() {
	[ -e $P/faults/drop_every ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	policy migrate
	rescued=$(cat $P/migrate/rescued)
	echo 4 > $P/faults/drop_every
	wait_for 400
	echo 0 > $P/faults/drop_every
	rescued=$(($(cat $P/migrate/rescued) - rescued))
	[ "$rescued" -ge 80 ] || fail "$rescued of about 100 rescued"
	policy_off migrate
}

# Without the watchdog the interrupt waits until something else wakes the task.
# This proves that the test above tests the watchdog.
test_irqpath_needs_watchdog() {
	[ -e $P/faults/drop_every ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	policy migrate
	limit=$(cat $P/migrate/watchdog_us)
	echo 0 > $P/migrate/watchdog_us
	echo 10 > $P/faults/drop_every
	waiter -n 100 -t 1000000 -p 80 -s read > /tmp/waiter.csv &
	waiter=$!
	sleep 2
	kill -0 $waiter 2> /dev/null || fail "no interrupt was late"
	echo 0 > $P/faults/drop_every
	echo "$limit" > $P/migrate/watchdog_us
	kill $waiter
	wait $waiter 2> /dev/null
	policy_off migrate
}

# thread_is STATE WHEN: checks the policy (0 ordinary, 1 FIFO) and priority of
# the device's thread.
thread_is() {
	soon thread_is_now "$1" || fail "the thread is '$now', not '$1': $2"
}

thread_is_now() {
	now=$(grep -h "(irq/$line-" /proc/[0-9]*/stat 2> /dev/null |
		awk '{ sub(/.*\) /, ""); print $39, $38 }')
	[ "$now" = "$1" ]
}

selective() {
	[ -d $P/selective ] || skip "no $P/selective: a kernel without CONFIG_IRQPATH"
	needs waiter prio
	load_devices nr_devices=1
	line=$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)
	thread_is "1 50" "before anything was switched on"
}

# A thread is ordinary while it serves nobody, real-time while its task is, and
# then ordinary again.
test_irqpath_selective_follows() {
	selective
	echo 1 > $P/selective/enabled
	thread_is "0 0" "it serves nobody"
	waiter -n 400 -t 5000000 -p 80 -s read > /tmp/waiter.csv &
	thread_is "1 50" "it wakes a real-time task"
	wait $! || fail "waiter failed"
	thread_is "0 0" "its task is gone"
	waiter -n 50 -t 1000000 -p 0 -s read > /tmp/waiter.csv || fail "waiter failed"
	thread_is "0 0" "it wakes an ordinary task"
	echo 0 > $P/selective/enabled
	thread_is "1 50" "selective is off"
	unload
	nothing_left
}

# The interrupt that a thread of another one waits for, as of a bus, is as
# urgent as what that one serves.
test_irqpath_selective_serves_threads() {
	[ -d $P/selective ] || skip "no $P/selective: a kernel without CONFIG_IRQPATH"
	needs waiter
	load_devices nr_devices=2
	line=$(awk '$NF == "intsight1" { print $1 + 0 }' /proc/interrupts)
	quiet=$(cat $P/selective/quiet)
	echo 20 > $P/selective/quiet
	echo 1 > $P/selective/enabled
	echo 1 > /sys/module/intsight/parameters/bus
	waiter -d /dev/intsight1 -n 100000 -t 5000000 -p 0 -k handler:10000:1:1 \
		> /tmp/bus.csv &
	bus=$!
	sleep 0.5
	thread_is "0 0" "the thread behind it serves nobody"
	waiter -n 400 -t 5000000 -p 80 -s read > /tmp/waiter.csv &
	waiter=$!
	thread_is "1 50" "the thread behind it serves a task"
	wait $waiter || fail "waiter failed"
	thread_is "0 0" "the task is gone"
	kill $bus
	wait $bus 2> /dev/null
	echo 0 > $P/selective/enabled
	echo "$quiet" > $P/selective/quiet
	unload
	nothing_left
}

# selective leaves alone a thread that the administrator set, and obeys the
# administrator's lists.
test_irqpath_selective_obeys() {
	selective
	echo 1 > $P/selective/enabled
	thread_is "0 0" "it serves nobody"
	echo "$line" > $P/selective/allow
	thread_is "1 50" "it is allowed"
	echo "$line" > $P/selective/deny
	thread_is "0 0" "it is denied"
	[ -z "$(cat $P/selective/allow)" ] || fail "in both lists"
	echo > $P/selective/deny
	prio 70 "irq/$line-" || fail "prio failed"
	sleep 0.1
	thread_is "1 70" "somebody set it"
	echo 0 > $P/selective/enabled
	thread_is "1 70" "somebody set it"
	if echo 0 2> /dev/null > $P/selective/quiet; then
		fail "no activation at all is taken for quiet"
	fi
	unload
	nothing_left
}

# A priority set by hand stays, even just before selective sets another one. The
# worker is slowed down between its look at the thread and the change.
test_irqpath_selective_crossed() {
	[ -e $P/faults/suspended ] || skip "a kernel without CONFIG_IRQPATH_FAULTS"
	selective
	echo 1 > $P/selective/enabled
	thread_is "0 0" "it serves nobody"
	suspended=$(cat $P/faults/suspended)
	echo $((suspended | 1 << 22)) > $P/faults/suspended
	echo "$line" > $P/selective/allow
	sleep 0.03
	prio 70 "irq/$line-" > /dev/null || fail "prio failed"
	sleep 0.3
	echo "$suspended" > $P/faults/suspended
	thread_is_now "1 70" || fail "the thread is '$now', not as somebody set it"
	echo > $P/selective/allow
	echo 0 > $P/selective/enabled
	thread_is "1 70" "selective is off"
	unload
	nothing_left
}

# Ordinary tasks take a mutex again for as long as their slice lasts, but not
# after another task has tried to take it.
test_irqpath_selective_hands_over() {
	[ -d $P/selective ] || skip "no $P/selective: a kernel without CONFIG_IRQPATH"
	needs pipelock
	echo 1 > $P/selective/enabled
	longest=$(pipelock 20)
	echo 0 > $P/selective/enabled
	echo "# $longest ns at most"
	[ "${longest:-0}" -gt 0 ] || fail "pipelock failed"
	[ "$longest" -lt 50000000 ] || fail "$longest ns for a mutex"
}
