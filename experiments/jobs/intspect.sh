# SPDX-License-Identifier: GPL-2.0-or-later
# One series of an intspect experiment: drives intsight and keeps what it measured.
#
# BOTTOM_HANDLER, REPS, DELAY_US, DELAY_TYPE, TRIGGER, TRACEPOINTS, CAPACITY: intsight's files.
# LOAD: how many processes never sleep meanwhile. CLOCK: which build of the module; empty is the
# one that reads the cycle counter. RUNNER: what runs all of it (fifo 1), so that load does not
# set its pace. Nothing is written or printed while the benchmark runs.
if [ -n "${RUNNER:-}" ]; then
	command=$RUNNER
	unset RUNNER
	exec $command sh -e "$0"
fi
module=/modules/intsight${CLOCK:+-$CLOCK}.ko
files=/sys/kernel/debug/intsight
out=/results/$SERIES

counts() {
	mkdir -p "$out/$1/proc"
	cat /proc/interrupts > "$out/$1/proc/interrupts"
	cat /proc/softirqs > "$out/$1/proc/softirqs"
}

mkdir -p "$out"
insmod "$module"
echo > $files/init
echo "$BOTTOM_HANDLER" > $files/bottom_handler
echo "$REPS" > $files/reps
echo "$DELAY_US" > $files/delay_us
echo "${DELAY_TYPE:-usleep_range}" > $files/delay_type
echo "${TRIGGER:-irq_work}" > $files/trigger
# Not every architecture has every one.
hooked=
for name in ${TRACEPOINTS:-}; do
	if grep -qw "$name" $files/available_tracepoints; then
		hooked="$hooked $name"
	fi
done
echo "$hooked" > $files/tracepoints
echo "${CAPACITY:-8}" > $files/checkpoint_capacity
echo > $files/prepare_trigger

load=
if [ "${LOAD:-0}" -gt 0 ]; then
	mkfifo /tmp/ready /tmp/hold
	hog "$LOAD" < /tmp/hold > /tmp/ready &
	load=$!
	exec 9> /tmp/hold
	read -r _ < /tmp/ready
fi

counts before
echo > $files/do_trigger
counts after

if [ -n "$load" ]; then
	kill "$load"
	wait "$load" || true
	exec 9>&-
	rm /tmp/ready /tmp/hold
fi

echo > $files/postprocess_trigger
cp -r $files/. "$out"
echo "${LOAD:-0}" > "$out/load"
# The addresses are needed to name what ran; they are gone with the module.
grep -F '[intsight]' /proc/kallsyms >> /tmp/symbols
rmmod intsight
