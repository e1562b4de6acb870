#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests /proc/irq/N/irqpath_target and /sys/kernel/irqpath/associations: which
# tasks they take and refuse, what they show, and to whom. Needs root. TESTS
# selects tests and their order.

here=$(dirname "$(readlink -f "$0")")
. "$here/common.sh"

P=/sys/kernel/irqpath

# wait_for_name PID NAME: until the task has it, in the first line of the file.
wait_for_name() {
	tries=0
	until grep -q -x "$2" "/proc/$1/comm"; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || fail "task $1 is $(cat "/proc/$1/comm"), not $2"
		sleep 0.01
	done
}

# real_time: $task sleeps at FIFO 20 until the test ends.
real_time() {
	command -v chrt > /dev/null || skip "no program chrt"
	chrt -f 20 sleep 1000 &
	task=$!
	trap 'kill $task 2> /dev/null' EXIT
	trap 'exit 1' INT TERM
	wait_for_name "$task" sleep
}

# several NR: starts NR more of them, in $sleepers.
several() {
	sleepers=
	while [ "$(echo $sleepers | wc -w)" -lt "$1" ]; do
		chrt -f 20 sleep 1000 &
		sleepers="$sleepers $!"
	done
	# shellcheck disable=SC2086 # several
	trap 'kill $task $sleepers 2> /dev/null' EXIT
	# They are in line before this is.
	for sleeper in $sleepers; do
		wait_for_name "$sleeper" sleep
	done
}

# Lists the lines that can have associations, and have none.
free_lines() {
	for file in /proc/irq/*/irqpath_target; do
		[ ! -e "$file" ] || [ "$(wc -l < "$file")" != 1 ] || echo "$file"
	done
}

# pinned FILE: prints the field "pinned" of $task, or nothing.
pinned() {
	awk -v task="$task" '$1 == task { print $9 }' "$1"
}

# pinned_is STATE WHEN: in the files of $line and of all associations.
pinned_is() {
	[ "$(pinned "$line")" = "$1" ] || fail "$2: pinned is '$(pinned "$line")'"
	listed=$(awk -v task="$task" '$3 == task { n++ } END { print n + 0 }' \
		$P/associations)
	[ "$listed" = "${1:+1}" ] || [ "$listed$1" = 0 ] ||
		fail "$2: $listed associations"
}

test_associations_target_refuses() {
	real_time
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	for value in x 1x "" 0 -2147483648; do
		refuses "$line" "$value" "$EINVAL"
	done
	refuses "$line" 99999999999 "$ERANGE"
	# More than a kernel can have.
	refuses "$line" 2147483647 "No such process"
	refuses "$line" -2147483647 "No such process"
	# An ordinary task, and a real-time thread of the kernel.
	refuses "$line" $$ "$EINVAL"
	thread=$(grep -l '^migration/' /proc/[0-9]*/comm | head -n 1 | cut -d / -f 3)
	[ -z "$thread" ] || refuses "$line" "$thread" "$EINVAL"
	refuses "$line" "-$task" "No such file or directory"
}

# An association by hand is shown. It ends with the real-time class of its task,
# and with the task.
test_associations_target() {
	real_time
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	for round in 1 2; do
		put "$line" "$task" || fail "round $round: cannot be made"
		pinned_is 1 "made"
		put "$line" "-$task" || fail "round $round: cannot be left"
		pinned_is 0 "left to learning"
		put "$line" "$task" || fail "round $round: cannot be made again"
		chrt -o -p 0 "$task" > /dev/null || fail "chrt failed"
		pinned_is "" "an ordinary task"
		refuses "$line" "$task" "$EINVAL"
		chrt -f -p 20 "$task" > /dev/null || fail "chrt failed"
		pinned_is "" "real-time again"
	done
	put "$line" "$task" || fail "cannot be made"
	kill "$task"
	wait "$task" 2> /dev/null
	pinned_is "" "the task has ended"
}

test_associations_target_limit() {
	real_time
	[ "$(free_lines | wc -l)" -ge 5 ] || skip "less than five lines"
	free_lines | head -n 4 | while read -r line; do
		put "$line" "$task" || exit 1
	done || fail "cannot be made"
	line=$(free_lines | head -n 1)
	refuses "$line" "$task" "No space left on device"
}

# A reader that may not see a task does not see it in the files either.
test_associations_strangers() {
	real_time
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	put "$line" "$task" || fail "cannot be made"
	for file in "$line" $P/associations; do
		mode=$(stat -c %a "$file")
		[ "${mode#?}" = 00 ] || fail "others may use $file: $mode"
	done
	# Not that of a busybox, which has no users.
	setpriv=/usr/bin/setpriv
	$setpriv --reuid 65534 --clear-groups true 2> /dev/null ||
		skip "no program setpriv of util-linux"
	for file in "$line" $P/associations; do
		if $setpriv --reuid 65534 --clear-groups cat "$file" > "$T/read" 2>&1; then
			fail "another user reads $file: $(cat "$T/read")"
		fi
		# Root, without what hidepid= would ask for; and opened by who may.
		$setpriv --bounding-set -all --inh-caps -all cat "$file" > "$T/read" ||
			fail "root cannot read $file"
		[ "$(wc -l < "$T/read")" = 1 ] || fail "$file: $(cat "$T/read")"
		$setpriv --reuid 65534 --clear-groups cat < "$file" > "$T/read"
		[ "$(wc -l < "$T/read")" = 1 ] || fail "handed on, $file: $(cat "$T/read")"
	done
}

# A reader in another PID namespace sees only its tasks, by its numbers.
test_associations_namespace() {
	real_time
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	put "$line" "$task" || fail "cannot be made"
	# shellcheck disable=SC2016 # the inner shell's
	unshare -p -f sh -c '
		cat "$1" "$2" > "$3.before"
		chrt -f 20 sleep 1000 &
		until echo $! > "$1"; do sleep 0.01; done
		cat "$1" > "$3.line"
		cat "$2" > "$3.all"
		echo $! > "$3.pid"
		kill $!' sh "$line" $P/associations "$T/inner" 2> /dev/null ||
		skip "no namespaces of processes"
	[ "$(wc -l < "$T/inner.before")" = 2 ] || fail "outer: $(cat "$T/inner.before")"
	inner=$(cat "$T/inner.pid")
	[ "$inner" -lt 100 ] || fail "not in a namespace: $inner"
	[ "$(sed 1d "$T/inner.line" | cut -f 1)" = "$inner" ] ||
		fail "not $inner: $(cat "$T/inner.line")"
	[ "$(sed 1d "$T/inner.all" | cut -f 3)" = "$inner" ] ||
		fail "not $inner: $(cat "$T/inner.all")"
}

# Every name is one field of one line.
test_associations_names() {
	command -v chrt > /dev/null || skip "no program chrt"
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	mkfifo "$T/end"
	# shellcheck disable=SC2016 # the inner shell's
	chrt -f 20 sh -c 'printf "a\tb\nc\033\\d" > /proc/$$/comm; read -r end < "$0"' \
		"$T/end" &
	task=$!
	trap 'kill $task 2> /dev/null' EXIT
	wait_for_name "$task" 'a	b'
	put "$line" "$task" || fail "cannot be made"
	want='a\tb\nc\e\\d'
	[ "$(sed 1d "$line" | cut -f 2)" = "$want" ] || fail "$(cat "$line")"
	[ "$(sed 1d $P/associations | cut -f 4)" = "$want" ] || fail "$(cat $P/associations)"
}

# Lines that do not fit are counted, and all others are whole.
test_associations_many() {
	real_time
	[ "$(free_lines | wc -l)" -ge 4 ] || skip "less than four lines"
	several 40
	lines=$(free_lines | head -n 4)
	for line in $lines; do
		for sleeper in $sleepers; do
			put "$line" "$sleeper" || fail "cannot be made"
		done
	done
	awk -F '\t' '
	NR == 1 { fields = NF; next }
	/^# [0-9]* more$/ { split($0, word, " "); more = word[2]; last = NR; next }
	NF != fields { print "# line " NR ": " $0; wrong = 1 }
	{ seen++ }
	END {
		print "# " seen " shown, " more " more"
		exit wrong || last != NR || seen + more != 160
	}' $P/associations || fail "not whole: $(tail -n 3 $P/associations)"
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -e $P/associations ] || skip_all "no $P/associations"
T=$(mktemp -d) || skip_all "no temporary directory"
trap 'rm -r "$T"' EXIT
trap 'exit 1' INT TERM
# shellcheck disable=SC2086 # words are what is wanted
run_tests ${TESTS:-associations_target_refuses associations_target \
	associations_target_limit associations_strangers associations_namespace \
	associations_names associations_many}
