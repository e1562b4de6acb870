# SPDX-License-Identifier: GPL-2.0-or-later
# One series of shield-timers: on which CPU timers expire while CPU is shielded by MECHANISM.
#
# MIGRATION: kernel.timer_migration while they are counted. WHOSE: own (TASKS sleepers on the shielded CPU), others
# (on CPU 0, beside a task that computes on the shielded CPU), left (set on the CPU before it is shielded; BUSY=1:
# beside such a task). KIND, TASKS, PERIOD_US: sleepers. LENGTH_S: the time of counting.
# shellcheck source=/dev/null
. /jobs/clock.sh
out=/results/$SERIES
events=/sys/kernel/tracing/events/timer
# What the timers of this kind call when they expire.
case $KIND in
hrtimer) event=hrtimer_expire_entry called=hrtimer_wakeup ;;
wheel) event=timer_expire_entry called=process_timeout ;;
kept) event=timer_expire_entry called=tcp_keepalive_timer ;;
esac
ip link set lo up

interrupts_of() {
	awk -v kind="$1:" -v column=$((CPU + 2)) '$1 == kind { print $column }' /proc/interrupts
}

left=
if [ "$WHOSE" = left ]; then
	taskset $((1 << CPU)) sleepers "$KIND" "$TASKS" "$PERIOD_US" 0 1000 &
	left=$!
	sleep 2
fi
irqpath shield set --cpus "$CPU" --mechanism "$MECHANISM" > "$out.shield.txt" 2>&1
set_by_shield=$(cat /proc/sys/kernel/timer_migration)
echo "$MIGRATION" > /proc/sys/kernel/timer_migration
[ "$WHOSE" != left ] || sleep 2

busy=
if [ "$WHOSE" = others ] || [ "${BUSY:-0}" = 1 ]; then
	irqpath shield run --cpus "$CPU" -- sh -c 'while :; do :; done' &
	busy=$!
	sleep 1
fi
echo "hist:keys=common_cpu,function.sym" > $events/$event/trigger
local_before=$(interrupts_of LOC)
resched_before=$(interrupts_of RES)
case $WHOSE in
own)
	irqpath shield run --cpus "$CPU" -- sleepers "$KIND" "$TASKS" "$PERIOD_US" 80 "$LENGTH_S" > "$out.values"
	;;
others)
	taskset 1 sleepers "$KIND" "$TASKS" "$PERIOD_US" 0 "$LENGTH_S" > "$out.values"
	;;
left)
	sleep "$LENGTH_S"
	: > "$out.values"
	;;
esac
{
	echo "local $(($(interrupts_of LOC) - local_before))"
	echo "resched $(($(interrupts_of RES) - resched_before))"
} >> "$out.values"
cat $events/$event/hist > "$out.hist.txt"
echo "!hist:keys=common_cpu,function.sym" > $events/$event/trigger
awk -v cpu="$CPU" -v called="$called" '
	BEGIN { here = 0; elsewhere = 0 }
	$0 ~ called { match($0, /common_cpu: +[0-9]+/); at = substr($0, RSTART + 11, RLENGTH - 11) + 0
		      if (at == cpu) here += $NF; else elsewhere += $NF }
	END { print "here", here; print "elsewhere", elsewhere
	      print "here_percent", here + elsewhere ? 100 * here / (here + elsewhere) : 0 }' \
	"$out.hist.txt" >> "$out.values"
echo "set_by_shield $set_by_shield" >> "$out.values"

for pid in $busy $left; do
	kill "$pid" 2> /dev/null || true
done
irqpath shield reset >> "$out.shield.txt" 2>&1
