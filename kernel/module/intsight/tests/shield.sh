# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of /proc/shield with the test device's line. The kernel's own selftests,
# whose shield_common.sh this uses, cover everything that needs no device.
# Skipped on kernels without irqpath and on machines that do not have two CPUs.
# Sourced by run.sh.

effective() {
	cat "/proc/irq/$line/effective_affinity_list"
}

# effective_is LIST ASKED WHEN
effective_is() {
	[ "$(effective)" = "$1" ] || fail "$3: the line goes to $(effective)"
	[ "$(cat "/proc/irq/$line/smp_affinity")" = "$2" ] ||
		fail "$3: it asks for $(cat "/proc/irq/$line/smp_affinity")"
}

# The test device's line takes the first CPU that it may.
test_shield_irqs() {
	[ "$SHIELD" != no ] || skip "SHIELD=no"
	shield
	needs waiter
	load_devices nr_devices=1
	line=$(awk '$NF == "intsight0" { print $1 + 0 }' /proc/interrupts)
	echo 3 > "/proc/irq/$line/smp_affinity"
	effective_is 0 3 "before"
	set_shield irqs 1
	effective_is 1 3 "shielded from it"
	waiter -n 50 -t 1000000 -p 80 -s read > /tmp/waiter.csv ||
		fail "waiter failed"
	thread=$(grep -l "^irq/$line-" /proc/[0-9]*/comm)
	[ "$(affinity "$(echo "$thread" | awk -F / '{ print $3 }')")" = 1 ] ||
		fail "the thread did not follow"
	echo 1 > "/proc/irq/$line/smp_affinity"
	effective_is 0 1 "asked onto the shielded CPU alone"
	echo 3 > "/proc/irq/$line/smp_affinity"
	effective_is 1 3 "asked onto both"
	if [ -w $CPU1 ]; then
		echo 0 > $CPU1
		effective_is 0 3 "the other CPU is gone"
		echo 1 > $CPU1
		cat $S/irqs > /dev/null
		effective_is 1 3 "the other CPU is back"
	fi
	set_shield irqs 2
	effective_is 0 3 "the shield moved"
	echo 0 > $S/irqs
	unload
	nothing_left
	lifted "after interrupts"
}
