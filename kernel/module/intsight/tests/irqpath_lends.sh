# SPDX-License-Identifier: GPL-2.0-only
#
# A task that runs a handler is as urgent as the handler's thread, even if the
# task is demoted, loses a lent priority, is stopped or traced. Each test does
# this to a task whose handlers are busy most of the time, beside a task that
# would keep it from the CPU. It compares with migrate off: as many interrupts
# must come through. Sourced by run.sh.

# Prints the number of the device's interrupts so far; the device raises one
# when the last one is handled. This script and the next ones run in a shell of
# their own.
# shellcheck disable=SC2016 # that shell's
CAME='came() {
	awk "/CPU0/ { cpus = NF }
	     \$NF == \"intsight0\" { for (i = 2; i <= cpus + 1; i++) n += \$i
				    print n }" /proc/interrupts
}'

# Mostly hits the middle of a handler.
DEMOTE='for round in 1 2 3 4; do
	prio 1 waiter; sleep 0.04; prio 60 waiter; sleep 0.023
done'
MAKE_ORDINARY='for round in 1 2 3 4; do
	prio 0 waiter; sleep 0.04; prio 60 waiter; sleep 0.023
done'
RAISE_THREAD='for round in 1 2 3 4; do
	prio 80 -intsight0; sleep 0.023; prio 50 -intsight0; sleep 0.033
done'
# shellcheck disable=SC2016
STOP='for round in 1 2 3 4; do
	kill -STOP $(pidof waiter); sleep 0.023; kill -CONT $(pidof waiter); sleep 0.033
done'
TRACE='rm -f /tmp/no_more; echo 0 > /tmp/traced
	harass trace 30 /tmp/traced /tmp/no_more waiter &
	sleep 0.3; touch /tmp/no_more; wait $!'

# through COMMANDS: prints how many interrupts come while they run, above the
# task and beside another task at FIFO 40, below the handlers' thread.
through() {
	fifo 90 sh -c "$CAME
		fifo 40 sh -c 'while :; do :; done' &
		hog=\$!
		before=\$(came)
		$1
		echo \$((\$(came) - before)) > /tmp/through
		kill -9 \$hog" > /tmp/commands 2>&1
	through=$(cat /tmp/through)
}

# compare COMMANDS PRIORITY [OPTION...]: for a task whose handler takes 5 ms of
# each 8 ms, compares the interrupts that come through with migrate and without
# it.
compare() {
	commands=$1
	priority=$2
	shift 2
	policy migrate
	needs prio fifo harass
	lent=$(cat $P/migrate/lent)
	for on in 0 1; do
		echo $on > $P/migrate/enabled
		waiter -n 100000 -P 8000000 -p "$priority" -k handler:5000000:1:1 "$@" \
			> /tmp/waiter.csv &
		waiter=$!
		until_open $waiter intsight
		sleep 0.1
		through "$commands"
		kill -9 $waiter
		wait $waiter 2> /dev/null
		eval "through_$on=$through"
	done
	lent=$(($(cat $P/migrate/lent) - lent))
	echo "# $through_0 interrupts without migrate, $through_1 with it; lent $lent times"
	[ "$through_0" -ge 20 ] || fail "few interrupts"
	[ $((through_1 * 10)) -ge $((through_0 * 9)) ] ||
		fail "$through_1 interrupts came through, and $through_0 without migrate"
}

# some_ran: the task ran handlers between COMMANDS.
some_ran() {
	[ "$(since_before)" -ge 5 ] || fail "the task ran $(since_before) handlers"
}

# A task that is demoted while it runs a handler does not keep the line.
test_irqpath_lends() {
	compare "$DEMOTE" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# A task that becomes ordinary while it runs a handler does not keep the line.
test_irqpath_lends_ordinary() {
	compare "$MAKE_ORDINARY" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# The thread may also become more urgent than the task that runs its handler.
test_irqpath_lends_raised() {
	compare "$RAISE_THREAD" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# A task below the thread, raised only by a priority that a waiter lends it, is
# offered nothing: the waiter may stop waiting at any time.
test_irqpath_borrowed() {
	compare "sleep 0.3" 30 -b 60:30
	[ "$(since_before)" = 0 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# A task stops on its way to user space, never inside a handler.
test_irqpath_stopped() {
	compare "$STOP" 60
	some_ran
	policy_off migrate

	compare "$TRACE" 60
	some_ran
	[ "$(cat /tmp/traced)" -ge 2 ] || fail "it was stopped $(cat /tmp/traced) times"
	policy_off migrate
}
