# SPDX-License-Identifier: GPL-2.0-only
#
# A task that runs a handler is as urgent as the handler's thread, whatever becomes of
# the task meanwhile: it is demoted, loses a priority that was lent to it, is stopped or
# traced. Each is done to a task whose handlers are busy most of the time, beside a task
# that would keep the CPU from it, and with migrate off as well: as many interrupts come
# through. Sourced by run.sh.

# Interrupts of the device so far: it raises one when the last one is handled. For a
# shell of its own, as the next ones.
# shellcheck disable=SC2016 # that shell's
CAME='came() {
	awk "/CPU0/ { cpus = NF }
	     \$NF == \"intsight0\" { for (i = 2; i <= cpus + 1; i++) n += \$i
				    print n }" /proc/interrupts
}'

# Most of the times in the middle of a handler.
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

# through COMMANDS: so many interrupts come while they run, above the task and beside
# another one at FIFO 40, below the handlers' thread.
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

# compare COMMANDS PRIORITY [OPTION...]: for a task with a handler for 5 ms of each 8 ms,
# interrupts that come through with migrate and without it.
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

# some_ran: the task runs handlers, between what is done to it.
some_ran() {
	[ "$(since_before)" -ge 5 ] || fail "the task ran $(since_before) handlers"
}

# Who is made less urgent than others while it runs a handler does not keep the line.
test_irqpath_lends() {
	compare "$DEMOTE" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# Nor who is made an ordinary task.
test_irqpath_lends_ordinary() {
	compare "$MAKE_ORDINARY" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# The thread may be made more urgent than the task that runs its handler, too.
test_irqpath_lends_raised() {
	compare "$RAISE_THREAD" 60
	some_ran
	[ "$lent" -ge 1 ] || fail "no handler was under way"
	policy_off migrate
}

# Below the thread, but for a priority that a task lends to it which waits for it: it
# is offered nothing, as that one waits no longer than it likes.
test_irqpath_borrowed() {
	compare "sleep 0.3" 30 -b 60:30
	[ "$(since_before)" = 0 ] || fail "the task ran $(since_before) handlers"
	policy_off migrate
}

# A task is stopped on its way to user space, and not with a handler.
test_irqpath_stopped() {
	compare "$STOP" 60
	some_ran
	policy_off migrate

	compare "$TRACE" 60
	some_ran
	[ "$(cat /tmp/traced)" -ge 2 ] || fail "it was stopped $(cat /tmp/traced) times"
	policy_off migrate
}
