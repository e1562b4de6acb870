# SPDX-License-Identifier: GPL-2.0-or-later
# One series of torture-peers: tests of others, with POLICIES on while interrupts migrate.
#
# WORK: rt-tests (pi_stress, ptsematest, signaltest), selftests (those in /selftests), locks (the
# kernel's locktorture) or rcu (its rcutorture). The last two take LENGTH_S seconds for each of TYPES,
# with a CPU that goes off or on each ONOFF, in the unit of the module. A kernel without their modules
# leaves them out.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
case "$WORK" in
locks | rcu) [ -e /modules/torture.ko ] || left_out "this kernel has no torture tests" ;;
esac
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
before=$(migrated 2> /dev/null || echo 0)
policies_on
# Somebody must wait for an interrupt while they run.
while [ ! -e /tmp/stop ]; do
	waiter -n 1000 -t 1000000 -p 80 > /dev/null
done &
waits=$!

passed=0
failed=0
not_ok=0
# test_it NAME COMMAND...: by its exit code; 4 is kselftest's for a test that is left out. A test may say
# `not ok` of some of its parts.
test_it() {
	name=$1
	shift
	code=0
	timeout 300 "$@" > /tmp/said 2>&1 < /dev/null || code=$?
	not_ok=$((not_ok + $(grep -c '^not ok' /tmp/said || true)))
	case $code in
	0) passed=$((passed + 1)) ;;
	4) echo "skipped: $name: $(grep -m 1 -i skip /tmp/said)" ;;
	*)
		failed=$((failed + 1))
		echo "failed: $name ($code)"
		tail -n 15 /tmp/said
		;;
	esac
}
# torture_all MODULE: the kernel's own verdict, in its log. torture.ko counts the CPUs that go off, and not all that
# come back when a type ends (torture_online_all()): it is loaded again before it warns that there are none left.
torture_all() {
	for type in $TYPES; do
		dmesg -c > /dev/null
		insmod /modules/torture.ko
		insmod "/modules/$1.ko" torture_type="$type" verbose=0 "onoff_interval=$ONOFF"
		sleep "$LENGTH_S"
		rmmod "$1"
		rmmod torture
		dmesg | grep "End of test" > /tmp/verdict
		test_it "$1 $type" grep "End of test: SUCCESS" /tmp/verdict
		cat /tmp/verdict
	done
}

case "$WORK" in
rt-tests)
	test_it pi_stress pi_stress --quiet --mlockall --groups=1 --duration="$LENGTH_S"
	test_it ptsematest ptsematest --quiet --threads=2 --prio=70 --interval=2000 --loops="$LOOPS"
	test_it signaltest signaltest --quiet --threads=2 --prio=70 --loops="$LOOPS"
	;;
selftests)
	for path in /selftests/*/* /selftests/*/*/*; do
		[ ! -f "$path" ] || test_it "${path#/selftests/}" "$path"
	done
	;;
locks) torture_all locktorture ;;
rcu) torture_all rcutorture ;;
esac
touch /tmp/stop
wait $waits
rm /tmp/stop
policies_off
{
	echo "passed $passed"
	echo "failed $failed"
	echo "not_ok $not_ok"
	echo "migrated $(($(migrated 2> /dev/null || echo 0) - before))"
} > "/results/$SERIES.values"
cat "/results/$SERIES.values"
