#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests /sys/kernel/irqpath: which values the files take and refuse, and that
# each file is described. Needs root, and restores all settings at the end. A
# policy that the kernel was built without is not tested. TESTS selects tests
# and their order.
#
# The tests of irqpath's module intsight, which has a device that raises
# interrupts, cover what the policies do to interrupts.

here=$(dirname "$(readlink -f "$0")")
. "$here/common.sh"

P=/sys/kernel/irqpath
ABI=$here/../../../../Documentation/ABI/testing
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

# Every file is described, and every described file is there, unless its policy
# or learning is not built in, or it takes two policies.
test_controls_described() {
	[ -d "$ABI" ] || skip "no $ABI"
	cat "$ABI"/sysfs-kernel-irqpath-* > "$T/abi"
	find $P > "$T/there"
	awk -v root=$P '
	NR == FNR { there[$1] = 1; next }
	$1 != "What:" { next }
	{ described[$2] = 1; dir = $2; sub("/[^/]*$", "", dir) }
	dir == root { dir = root "/learn" }
	!(dir in there) { next }
	$2 ~ root "/migrate/la(s|zy)$" && !((root "/direct") in there) { next }
	$2 == root "/direct/blocked" && !((root "/migrate") in there) { next }
	$2 == root "/faults/drop_every" && !((root "/migrate") in there) { next }
	!($2 in there) { print "# " $2 " is not there"; wrong = 1 }
	END { exit wrong }' "$T/there" "$T/abi" ||
		fail "the description is of another kernel"
	find $P -type f | while read -r file; do
		grep -q "^What:[[:space:]]*$file\$" "$T/abi" || echo "# $file"
	done > "$T/undescribed"
	[ ! -s "$T/undescribed" ] || fail "not described: $(cat "$T/undescribed")"
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
	if [ -e $P/faults/drop_every ]; then
		setting migrate/watchdog_us 10 1000000 zero
	else
		setting migrate/watchdog_us 10 1000000
	fi
	setting migrate/early_demux 0 1
	setting faults/drop_every 0 $UINT_MAX
	# A bit for each of enum rule in faults/faults.c.
	setting faults/suspended 0 $(((1 << 23) - 1))
	setting selective/quiet 1 $UINT_MAX
	setting netprio/max_hold_us 1000 10000000 zero
	setting netprio/napi_hold_us 1000 10000000 zero
	setting netprio/queue_limit 1 $UINT_MAX
	# Once it has been 1 the scheduler is another one until the next boot.
	[ -e $P/migrate/las ] || return 0
	refuses $P/migrate/las 2 "$ERANGE"
	refuses $P/migrate/las x "$EINVAL"
	refuses $P/migrate/las -1 "$EINVAL"
}

# A test above or below knows every file that can be written.
test_controls_all_settings() {
	for file in $(settable); do
		case ${file#"$P/"} in
		*/enabled | migrate/watchdog_us | migrate/early_demux | migrate/las | \
			faults/drop_every | faults/suspended | selective/quiet | \
			selective/allow | selective/deny | netprio/max_hold_us | \
			netprio/napi_hold_us | netprio/queue_limit) ;;
		*) fail "no test knows $file" ;;
		esac
	done
}

# An interrupt is in one of the lists, or in none.
test_controls_lists() {
	allow=$P/selective/allow deny=$P/selective/deny
	[ -e $allow ] || skip "no $allow"
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
	for file in $(counters); do
		cat "$file"
	done | grep -v -x '[0-9][0-9]*' && fail "a counter is no number"
	[ -e $P/associations ] || return 0
	read_only $P/associations 400
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
	controls_all_settings controls_lists controls_counters controls_off}
