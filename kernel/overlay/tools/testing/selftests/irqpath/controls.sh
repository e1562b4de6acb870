#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests /sys/kernel/irqpath and /proc/irq/N/irqpath_target: which values the
# files take and refuse, and that each file is described. Needs root, and
# restores all settings at the end. TESTS selects tests and their order.
#
# The tests of irqpath's module intsight, which has a device that raises
# interrupts, cover what the policies do to interrupts.

here=$(dirname "$(readlink -f "$0")")
. "$here/common.sh"

P=/sys/kernel/irqpath
ABI=$here/../../../../Documentation/ABI/testing/sysfs-kernel-irqpath
UINT_MAX=4294967295

policies() {
	for switch in "$P"/*/enabled; do
		basename "$(dirname "$switch")"
	done
}

# Lists the files that can be written, switches first: they go off first.
settable() {
	ls "$P"/*/enabled
	find $P -type f -perm -200 ! -name enabled
}

counters() {
	find $P -type f ! -perm -200 ! -name associations
}

save() {
	for file in $(settable); do
		echo "$file $(cat "$file")"
	done
}

# "las" is written only if it changes, see test_controls_settings.
restore() {
	all_off
	while read -r file value; do
		[ "$(cat "$file")" = "$value" ] || put "$file" "$value"
	done < "$T/saved"
	awk '$2 == 1 && /\/enabled / { print $1 }' "$T/saved" |
		while read -r file; do put "$file" 1; done
	rm -f "$T"/*
	rmdir "$T"
}

all_off() {
	for policy in $(policies); do
		put "$P/$policy/enabled" 0
	done
}

# switch_on POLICY: fails where the kernel's configuration excludes it.
switch_on() {
	if message=$( (put "$P/$1/enabled" 1) 2>&1); then
		return
	fi
	case $message in
	*"not supported"*) ;;
	*) fail "$1 cannot be enabled: $message" ;;
	esac
	[ "$(cat "$P/$1/enabled")" = 0 ] || fail "$1 refuses, and is on"
	echo "# $1 is not for this kernel"
	return 1
}

# Every file is described, and every described file is there, unless it needs
# another configuration.
test_controls_described() {
	[ -r "$ABI" ] || skip "no $ABI"
	find $P -type f > "$T/there"
	awk -v root=$P '
	NR == FNR { there[$1] = 1; next }
	$1 != "What:" { next }
	{ described[$2] = 1 }
	$2 == root "/migrate/drop_every" || $2 == root "/migrate/suspended" { next }
	index($2, root "/netprio/") == 1 && !((root "/netprio/enabled") in there) { next }
	!($2 in there) { print "# " $2 " is not there"; wrong = 1 }
	END {
		for (file in there) {
			if (file in described)
				continue
			print "# " file " is not described"
			wrong = 1
		}
		exit wrong
	}' "$T/there" "$ABI" || fail "the description is of another kernel"
}

# Each switch works alone, in every spelling, and twice; the others stay off.
test_controls_switches() {
	for policy in $(policies); do
		switch_on "$policy" || continue
		[ "$(cat $P/*/enabled | grep -c 1)" = 1 ] ||
			fail "$policy switches another one"
		for value in 0:0 y:1 n:0 on:1 off:0 1:1 1:1 0:0 0:0; do
			takes "$P/$policy/enabled" "${value%:*}" "${value#*:}"
		done
	done
}

# All policies are on at once, and go off in the order in which they came on.
test_controls_switches_together() {
	for policy in $(policies); do
		switch_on "$policy"
	done
	for policy in $(policies); do
		takes "$P/$policy/enabled" 0
	done
}

test_controls_switches_refuse() {
	for policy in $(policies); do
		for state in 0 1; do
			put "$P/$policy/enabled" $state 2> /dev/null || continue
			for value in 2 x -1 ""; do
				refuses "$P/$policy/enabled" "$value" "$EINVAL"
			done
		done
		put "$P/$policy/enabled" 0
	done
}

# setting FILE LEAST MOST [zero]: FILE takes values within its limits, with
# "zero" also 0, and no others.
setting() {
	if ! [ -e "$P/$1" ]; then
		echo "# no $1"
		return
	fi
	takes "$P/$1" "$2"
	takes "$P/$1" "$3"
	refuses "$P/$1" $((UINT_MAX + 1)) "$ERANGE"
	[ "$3" = $UINT_MAX ] || refuses "$P/$1" $(($3 + 1)) "$ERANGE"
	[ "$2" = 0 ] || [ -n "${4-}" ] || refuses "$P/$1" 0 "$ERANGE"
	[ "$2" -le 1 ] || refuses "$P/$1" $(($2 - 1)) "$ERANGE"
	for value in x -1 1x 1.5 ""; do
		refuses "$P/$1" "$value" "$EINVAL"
	done
	[ -z "${4-}" ] || takes "$P/$1" 0
}

test_controls_settings() {
	# Without a limit interrupts can be lost, as only tests want.
	if [ -e $P/migrate/drop_every ]; then
		setting migrate/watchdog_us 10 1000000 zero
	else
		setting migrate/watchdog_us 10 1000000
	fi
	setting migrate/early_demux 0 1
	setting migrate/drop_every 0 $UINT_MAX
	# A bit for each of enum rule in faults.c.
	setting migrate/suspended 0 $(((1 << 23) - 1))
	setting selective/quiet 1 $UINT_MAX
	setting netprio/max_hold_us 1000 10000000 zero
	setting netprio/napi_hold_us 1000 10000000 zero
	setting netprio/queue_limit 1 $UINT_MAX
	# Once it has been 1 the scheduler is another one until the next boot.
	refuses $P/migrate/las 2 "$ERANGE"
	refuses $P/migrate/las x "$EINVAL"
	refuses $P/migrate/las -1 "$EINVAL"
}

# A test above or below knows every file that can be written.
test_controls_all_settings() {
	for file in $(settable); do
		case ${file#"$P/"} in
		*/enabled | migrate/watchdog_us | migrate/early_demux | migrate/las | \
			migrate/drop_every | migrate/suspended | selective/quiet | \
			selective/allow | selective/deny | netprio/max_hold_us | \
			netprio/napi_hold_us | netprio/queue_limit) ;;
		*) fail "no test knows $file" ;;
		esac
	done
}

# An interrupt is in one of the lists, or in none.
test_controls_lists() {
	allow=$P/selective/allow deny=$P/selective/deny
	takes $deny ""
	takes $allow "5,9-11"
	takes $deny "9"
	[ "$(cat $allow)" = "5,10-11" ] || fail "allow is '$(cat $allow)'"
	takes $allow "9-10"
	[ "$(cat $deny)" = "" ] || fail "deny is '$(cat $deny)'"
	for file in $allow $deny; do
		refuses $file x "$EINVAL"
		refuses $file 11-9 "$EINVAL"
		refuses $file -1 "$EINVAL"
		refuses $file 4096 "$ERANGE"
	done
	takes $deny "0-4095"
	takes $allow ""
	takes $deny ""
}

# read_only FILE MODE: not even root can write FILE.
read_only() {
	[ "$(stat -c %a "$1")" = "$2" ] || fail "the mode of $1 is not $2"
	if (put "$1" 1) 2> /dev/null; then
		fail "$1 takes a value"
	fi
}

test_controls_counters() {
	for file in $(counters); do
		read_only "$file" 444
	done
	read_only $P/associations 400
	for file in $(counters); do
		cat "$file"
	done | grep -v -x '[0-9][0-9]*' && fail "a counter is no number"
	head -n 1 $P/associations | grep -q '^irq	name	pid	comm	prio	' ||
		fail "associations: $(head -n 1 $P/associations)"
}

# With all policies off, no counter changes and nothing is learned.
test_controls_off() {
	command -v chrt > /dev/null || skip "no program chrt"
	# shellcheck disable=SC2046 # words are what is wanted
	grep . $(counters) > "$T/before"
	for round in 1 2 3 4 5; do
		chrt -f 20 sleep 0.05 || fail "round $round: no real-time task"
	done
	# shellcheck disable=SC2046
	grep . $(counters) > "$T/after"
	cmp -s "$T/before" "$T/after" ||
		fail "counted: $(diff "$T/before" "$T/after")"
}

# real_time: $task sleeps at FIFO 20 until the test ends.
real_time() {
	command -v chrt > /dev/null || skip "no program chrt"
	chrt -f 20 sleep 1000 &
	task=$!
	trap 'kill $task 2> /dev/null' EXIT
	trap 'exit 1' INT TERM
	tries=0
	until grep -q -x sleep "/proc/$task/comm"; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || fail "no real-time task"
		sleep 0.01
	done
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
		tries=0
		until grep -q -x sleep "/proc/$sleeper/comm"; do
			tries=$((tries + 1))
			[ $tries -lt 500 ] || fail "no real-time task"
			sleep 0.01
		done
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

test_controls_target_refuses() {
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
test_controls_target() {
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

test_controls_target_limit() {
	real_time
	[ "$(free_lines | wc -l)" -ge 5 ] || skip "less than five lines"
	free_lines | head -n 4 | while read -r line; do
		put "$line" "$task" || exit 1
	done || fail "cannot be made"
	line=$(free_lines | head -n 1)
	refuses "$line" "$task" "No space left on device"
}

# A reader that may not see a task does not see it in the files either.
test_controls_strangers() {
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
test_controls_namespace() {
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
test_controls_names() {
	command -v chrt > /dev/null || skip "no program chrt"
	line=$(free_lines | head -n 1)
	[ -n "$line" ] || skip "no line without a target"
	mkfifo "$T/end"
	# shellcheck disable=SC2016 # the inner shell's
	chrt -f 20 sh -c 'printf "a\tb\nc\033\\d" > /proc/$$/comm; read -r end < "$0"' \
		"$T/end" &
	task=$!
	trap 'kill $task 2> /dev/null' EXIT
	tries=0
	until grep -q '^a	b$' "/proc/$task/comm"; do
		tries=$((tries + 1))
		[ $tries -lt 500 ] || fail "it has another name"
		sleep 0.01
	done
	put "$line" "$task" || fail "cannot be made"
	want='a\tb\nc\e\\d'
	[ "$(sed 1d "$line" | cut -f 2)" = "$want" ] || fail "$(cat "$line")"
	[ "$(sed 1d $P/associations | cut -f 4)" = "$want" ] || fail "$(cat $P/associations)"
}

# Lines that do not fit are counted, and all others are whole.
test_controls_many() {
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
[ -d $P ] || skip_all "no $P: a kernel without CONFIG_IRQPATH"
T=$(mktemp -d) || skip_all "no temporary directory"
save > "$T/saved"
trap restore EXIT
trap 'exit 1' INT TERM
all_off
# shellcheck disable=SC2086 # words are what is wanted
run_tests ${TESTS:-controls_described controls_switches \
	controls_switches_together controls_switches_refuse controls_settings \
	controls_all_settings controls_lists controls_counters controls_off \
	controls_target_refuses controls_target controls_target_limit \
	controls_strangers controls_namespace controls_names controls_many}
