#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the intsight module on the running kernel: run.sh [intsight.ko]
#
# Needs root, debugfs at its usual place, and the module not loaded. Prints KTAP
# and fails if a test does.
#
# TESTS chooses tests and their order. RUNS and LOOPS say how often the
# mechanisms run and how often the module is loaded. PPS is the rate of packets
# a second and RTT their round trip in microseconds; a rate above the kernel's
# capacity loses packets or starves the task that unloads the module. SHIELD=no
# leaves the shield out: it patches code, which QEMU before 8.1 handles wrongly.
# SELFTESTS is the directory of the kernel's selftests of irqpath, if it is not
# in this project.

here=$(dirname "$0")
KO=${1:-$here/../intsight.ko}
SELFTESTS=${SELFTESTS:-$here/../../../overlay/tools/testing/selftests/irqpath}
. "$SELFTESTS/common.sh"
. "$SELFTESTS/shield_common.sh"
. "$here/lib.sh"
. "$here/interface.sh"
. "$here/mechanisms.sh"
. "$here/robustness.sh"
. "$here/device.sh"
. "$here/nic.sh"
. "$here/irqpath.sh"
. "$here/irqpath_las.sh"
. "$here/irqpath_lends.sh"
. "$here/irqpath_rules.sh"
. "$here/irqpath_needs.sh"
. "$here/irqpath_stands_in.sh"
. "$here/netprio.sh"
. "$here/netprio_ends.sh"
. "$here/shield.sh"

# Whether this kernel and machine have what a test needs. A test that TESTS
# names runs anyway and reports what is missing.
applies() {
	case $1 in
	irqpath_needs_*|irqpath_hands_back|irqpath_killed|irqpath_one_token|\
	irqpath_selective_crossed|irqpath_watchdog|irqpath_withdraws)
		[ -e "$P/faults/suspended" ] ;;
	irqpath_foreign_softirqs|irqpath_moved|irqpath_one_runner|netprio_off_in_flood)
		[ -d "$P" ] && [ "$(nproc)" -gt 1 ] ;;
	irqpath_*|netprio_*) [ -d "$P" ] ;;
	shield_irqs) [ -e /proc/shield ] ;;
	from_every_cpu) [ "$(nproc)" -gt 1 ] ;;
	leaks) [ -e /sys/kernel/debug/kmemleak ] ;;
	esac
}

applicable() {
	for test; do if applies "$test"; then echo "$test"; fi; done
}

run_tests ${TESTS:-$(applicable only_init_at_first files thesis_script parameters \
	bad_input wrong_order memory \
	passive active no_delay tracepoints overflow \
	writers_serialise concurrent_writers killed killed_in_queue \
	interrupted unload_while_running reader_stays load_loop \
	from_every_cpu \
	device_names device_waits device_counts device_disturbances \
	device_priorities device_bad_input device_wrong_state \
	device_close_asleep device_carried device_many_users device_unload_under_reader \
	nic_files nic_round_trip nic_rate nic_overflow nic_echo nic_burst \
	nic_down_while_flying nic_namespace_ends nic_unload_while_flying nic_queues \
	irqpath_learns irqpath_learns_napi irqpath_learns_work irqpath_learns_no_locks \
	irqpath_pinned irqpath_migrates irqpath_respects_priority \
	irqpath_direct irqpath_direct_migrates irqpath_demux \
	irqpath_charges irqpath_suspends irqpath_toggles irqpath_watchdog irqpath_needs_watchdog \
	irqpath_forced_only irqpath_one_token irqpath_hands_back irqpath_one_runner \
	irqpath_unmasks irqpath_drains irqpath_own_softirqs irqpath_foreign_softirqs \
	irqpath_traced irqpath_moved irqpath_most_urgent_first irqpath_outranked \
	irqpath_killed irqpath_reordered irqpath_withdraws \
	irqpath_lends irqpath_lends_ordinary irqpath_lends_raised irqpath_borrowed \
	irqpath_stopped irqpath_stands_in \
	irqpath_readers \
	irqpath_needs_forced irqpath_needs_token irqpath_needs_runner \
	irqpath_needs_unmask irqpath_needs_drain irqpath_needs_own \
	irqpath_needs_foreign irqpath_needs_priority irqpath_needs_fit \
	irqpath_needs_traced irqpath_needs_affinity irqpath_needs_order \
	irqpath_needs_outranked irqpath_needs_signal irqpath_needs_reorder \
	irqpath_needs_by_hand irqpath_needs_uncrossed irqpath_needs_flow \
	irqpath_needs_lend irqpath_needs_own_priority irqpath_needs_threads \
	irqpath_las_memory irqpath_las_swap irqpath_las_life irqpath_las_segments \
	irqpath_selective_follows irqpath_selective_obeys irqpath_selective_crossed \
	irqpath_selective_serves_threads irqpath_selective_hands_over \
	netprio_follows_priority netprio_follows_change netprio_keeps_order netprio_rises \
	netprio_rise_serves netprio_fair netprio_port_changes_hands \
	netprio_first_recv netprio_holds_device netprio_limits_wait \
	netprio_starved netprio_served_in_time netprio_hotplug netprio_queue_limit netprio_toggles \
	netprio_off_in_flood netprio_unload netprio_netpoll \
	netprio_ends netprio_veth netprio_virtio netprio_exempt netprio_never_holds \
	shield_irqs unload_busy_loop leaks kernel_log)}
