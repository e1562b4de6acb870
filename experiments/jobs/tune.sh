# SPDX-License-Identifier: GPL-2.0-or-later
# One series of tune-timer: a real-time task waits for the intsight device, before or after
# `irqpath tune` has looked on.
#
# REPS, DELAY_NS, PRIO: the task; TUNE=1: learn and apply first, put back at the end. LEARN: how
# long. WATCH=1: the watch stays, as the service does, and serves the task that is measured from
# WARMUP repetitions on. intsight1 is the unrelated device: its task is far below its thread, which
# is right.
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko

# Priority of the interrupt thread of a device (field 40 of /proc/PID/stat).
thread_priority() {
	irq=$(awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts)
	for process in /proc/[0-9]*; do
		case $(cat "$process/comm" 2> /dev/null) in
		"irq/$irq-"*) sed 's/.*) //' "$process/stat" | cut -d ' ' -f 38 ;;
		esac
	done
}

value() {
	echo "$1 $2" >> "/results/$SERIES.values"
}

value thread_before "$(thread_priority intsight0)"
value other_before "$(thread_priority intsight1)"
if [ -n "${TUNE:-}" ]; then
	waiter -n 1000000 -t "$DELAY_NS" -p "$PRIO" > /dev/null &
	served=$!
	waiter -d /dev/intsight1 -n 1000000 -t "$DELAY_NS" -p 10 > /dev/null &
	other=$!
	if [ -n "${WATCH:-}" ]; then
		irqpath tune --learn "$LEARN" --apply --watch > "/results/$SERIES.tune.txt" 2>&1 &
		watch=$!
		tries=0
		until grep -q '^set: ' "/results/$SERIES.tune.txt" || [ $tries = 600 ]; do
			tries=$((tries + 1))
			sleep 0.1
		done
		# Beyond the end of its tracing.
		sleep 1
	else
		irqpath tune --learn "$LEARN" --apply > "/results/$SERIES.tune.txt" 2>&1
	fi
	kill "$served" "$other"
	wait "$served" "$other" || true
fi
if [ -z "${WATCH:-}" ]; then
	value thread_after "$(thread_priority intsight0)"
	value other_after "$(thread_priority intsight1)"
fi
# The watch takes the priority back when its task is gone, and has to see the new one.
waiter -n "$REPS" -w "$WARMUP" -t "$DELAY_NS" -p "$PRIO" -H > "/results/$SERIES.csv" &
measured=$!
if [ -n "${WATCH:-}" ]; then
	sleep 6
	value thread_after "$(thread_priority intsight0)"
	value other_after "$(thread_priority intsight1)"
fi
wait "$measured"
if [ -n "${WATCH:-}" ]; then
	kill "$watch"
	wait "$watch" || true
fi
if [ -n "${TUNE:-}" ]; then
	irqpath tune status >> "/results/$SERIES.tune.txt" 2>&1
	irqpath tune reset >> "/results/$SERIES.tune.txt" 2>&1
	value thread_reset "$(thread_priority intsight0)"
fi
