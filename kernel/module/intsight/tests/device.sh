# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of /dev/intsightN: its promises to waiters, misuse that it must survive,
# and unloading while somebody uses it. The programs are in lab/guest of the
# project; without them the tests are skipped. Sourced by run.sh.

needs() {
	for program in "$@"; do
		command -v "$program" > /dev/null || skip "no program $program"
	done
}

load_devices() {
	insmod "$KO" "$@" || fail "cannot load $KO $*"
}

nothing_left() {
	if grep intsight /proc/interrupts; then
		fail "an interrupt is left"
	fi
	if grep -hE '^(irq/.*-)?intsight[0-9]' /proc/[0-9]*/comm 2> /dev/null; then
		fail "a thread is left"
	fi
}

# Tests each promise or misuse with a freshly loaded module. The module must
# unload afterwards: nothing holds it, and none of its threads or interrupts
# remains.
with_device() {
	program=$1
	shift
	needs "$program"
	for name in "$@"; do
		load_devices
		"$program" "$name" || fail "$program $name"
		unload
		nothing_left
	done
}

test_device_waits() {
	with_device devwaits driver direct timer nonblocking missed
}

test_device_counts() {
	with_device devwaits periodic overruns
}

test_device_disturbances() {
	with_device devwaits disturb_driver disturb_direct disturb_timer disturb_all
}

test_device_priorities() {
	with_device devwaits priorities
}

test_device_bad_input() {
	with_device devmisuse bad_info bad_arm bad_disturb bad_calls
}

test_device_wrong_state() {
	with_device devmisuse busy signals
}

test_device_close_asleep() {
	with_device devmisuse close_asleep killed_owner
}

# Another device's interrupt brings the raises of a CPU to the line's.
test_device_carried() {
	needs waiter taskset
	insmod "$KO" edu=1 2> /dev/null || skip "no edu device"
	cpu=0
	[ "$(nproc)" = 1 ] || cpu=1
	for name in intsight0 intsight-edu; do
		irq=$(awk -v name=$name '$NF == name { print $1 + 0 }' /proc/interrupts)
		echo $cpu > "/proc/irq/$irq/smp_affinity_list" || fail "cannot bind $name"
	done
	taskset 1 waiter -P 2000000 -r &
	raiser=$!
	soon carried_line || fail "no raise"
	waiter -a -c $cpu -n 50 -p 80 > /dev/null || fail "waiter"
	kill $raiser
	wait $raiser 2> /dev/null
	carried=$(awk '$NF == "intsight-edu" { print $2 + $3 }' /proc/interrupts)
	[ $cpu = 0 ] || [ "$carried" -ge 50 ] || fail "$carried were carried"
	unload
	nothing_left
}

carried_line() {
	awk '$NF == "intsight0" && $2 + $3 { found = 1 } END { exit !found }' /proc/interrupts
}

test_device_many_users() {
	with_device devmisuse many
}

test_device_names() {
	for bad in 9 4294967295 -1 many; do
		if insmod "$KO" nr_devices=$bad 2> /dev/null; then
			fail "$bad devices"
		fi
	done
	load_devices nr_devices=0
	[ -z "$(ls /dev/intsight* 2> /dev/null)" ] || fail "a device of none"
	unload
	load_devices nr_devices=8
	set -- /dev/intsight*
	[ $# = 9 ] || fail "8 devices have $# names: $*"
	# The short name is an alias of the first device, which counts its
	# reader.
	if command -v waiter > /dev/null; then
		waiter -d /dev/intsight -n 3 -w 0 > /dev/null || fail "waiter"
		waiter -d /dev/intsight0 -n 1 -w 0 | grep -q "read 4$" ||
			fail "/dev/intsight is not /dev/intsight0"
		waiter -d /dev/intsight7 -n 1 -w 0 | grep -q "read 1$" ||
			fail "the last device counts what others do"
	fi
	unload
	[ -z "$(ls /dev/intsight* 2> /dev/null)" ] || fail "a name is left"
}

# A sleeping reader holds the module. After the reader gets its event or dies,
# the module can be unloaded. Covers all kinds of sleep in both modes.
test_device_unload_under_reader() {
	needs waiter
	load_devices
	for mode in "" -D; do
		for how in read poll ioctl; do
			waiter $mode -s $how -n 2 -w 0 -t 400000000 > /tmp/waiter &
			until_open $! /dev/intsight
			refused_unload
			wait $! || fail "$how $mode: the reader failed"
			grep -q "raised .* read" /tmp/waiter || fail "no counts"
			waiter $mode -s $how -n 1 -w 0 -t 3600000000000 &
			until_open $! /dev/intsight
			sleep 0.1
			refused_unload
			kill -KILL $!
			wait $! 2> /dev/null
		done
	done
	# A process that has the device open and does nothing holds the module
	# too.
	exec 3< /dev/intsight1
	refused_unload
	exec 3<&-
	unload
	rm /tmp/waiter
}
