# SPDX-License-Identifier: GPL-2.0-or-later
# One series of net-polling: requests and responses over UDP with the test NIC's own peer, beside a
# CPU-bound task.
#
# REPS, SIZE, PRIO: the client; RTT_US: round trip. IRQ_PRIO: priority of the NIC's threads, empty is
# the kernel's default; THREADED=1: of its NAPI's thread, too; SOFTIRQ_PRIO: of ksoftirqd. POLL:
# options of netping that poll. DEFER_POLLS, FLUSH_NS: napi_defer_hard_irqs and gro_flush_timeout;
# with SUSPEND_NS they are set for the NAPI, with irq_suspend_timeout. SCX: a program with options
# that is the scheduler of ordinary tasks meanwhile (sched_ext). POLICIES, SETTINGS: see irqpath.sh.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
nic_on "$RTT_US" '' nr_devices=0
irq_priority "${IRQ_PRIO:-}" 'isight.'
[ -z "${SOFTIRQ_PRIO:-}" ] || prio "$SOFTIRQ_PRIO" ksoftirqd/
device=/sys/class/net/isight0
if [ "${THREADED:-0}" = 1 ]; then
	echo 1 > $device/threaded
	prio "$IRQ_PRIO" napi/isight0-
fi
if [ -n "${SUSPEND_NS:-}" ]; then
	napiset -d "$DEFER_POLLS" -f "$FLUSH_NS" -s "$SUSPEND_NS" isight0
elif [ -n "${DEFER_POLLS:-}" ]; then
	echo "$DEFER_POLLS" > $device/napi_defer_hard_irqs
	echo "$FLUSH_NS" > $device/gro_flush_timeout
fi
# scx_state STATE: waits until sched_ext is in this state; the scheduler said why if it is not.
scx_state() {
	tries=0
	until [ "$(cat /sys/kernel/sched_ext/state)" = "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { cat /tmp/scx.log; exit 1; }
		sleep 0.1
	done
}
if [ -n "${SCX:-}" ]; then
	# shellcheck disable=SC2086 # options are words
	$SCX > /tmp/scx.log 2>&1 &
	scheduler=$!
	scx_state enabled
	loaded=$(cat /sys/kernel/sched_ext/enable_seq)
fi
policies_on
raised=$(cat "$N"/raised)
# shellcheck disable=SC2086 # options are words
netping ${POLL:-} -n "$REPS" -b "$SIZE" -p "$PRIO" -H 10.9.0.2 5000 > "/results/$SERIES.csv"
raised=$(($(cat "$N"/raised) - raised))
awk '/^# transactions/ { nr = $3; elapsed = $NF; print "path_ns", elapsed / nr - rtt * 1000 }
	/^# below/ { print "below_percent", 100 * $NF / elapsed }
	END { print "interrupts", raised / nr }' rtt="$RTT_US" raised=$raised \
	"/results/$SERIES.csv" > "/results/$SERIES.values"
policies_off
if [ -n "${SCX:-}" ]; then
	# The kernel may have put it out meanwhile, and the program may have loaded it again.
	[ "$(cat /sys/kernel/sched_ext/state /sys/kernel/sched_ext/enable_seq)" = "enabled
$loaded" ] || { cat /tmp/scx.log; exit 1; }
	kill -INT "$scheduler"
	wait "$scheduler" || true
	scx_state disabled
fi
[ -z "${SOFTIRQ_PRIO:-}" ] || prio 0 ksoftirqd/
nic_off
