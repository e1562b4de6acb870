// SPDX-License-Identifier: GPL-2.0-or-later
//! Mistakes found by these tests, each with the shortest script that showed it.

use crate::harness::{check, paths};

#[test]
fn a_full_path_table_does_not_hide_a_slow_path() {
    check(
        "config threshold_ns 5
         config max_paths 0
         0 100 irq_entry 42 1
         0 101 waking 12
         0 102 irq_exit 42 1
         0 110 switch 12",
        &["path", "loss"],
        "path irq:42 faulter:12 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9
         loss path_table_full 1",
    );
}

#[test]
fn a_task_still_running_elsewhere_has_no_scheduling_latency() {
    paths(
        "1 90 switch 10
         1 95 state 1
         0 100 irq_entry 42 1
         0 101 waking 10
         0 102 irq_exit 42 1
         1 103 sys_exit
         1 5000 switch 11 preempt
         1 9000 switch 10
         1 9001 sys_exit",
        "path irq:42 app:10 via=- already_running hardirq@0=100 waking@0+1",
    );
}

#[test]
fn the_cpu_filter_looks_only_at_points_that_were_met() {
    check(
        "config record_all 1
         config cpu 0
         1 90 switch 10
         1 95 state 1
         1 100 irq_entry 42 1
         1 101 waking 10
         1 102 irq_exit 42 1",
        &["path"],
        "",
    );
}

#[test]
fn an_exit_whose_entry_was_not_seen_wakes_no_thread() {
    paths(
        "0 100 irq_exit 42 2 2
         0 101 waking 20
         0 110 switch 20
         0 120 waking 12
         0 130 switch 12 1",
        "",
    );
}

#[test]
fn a_wheel_timer_leaves_the_raise_of_its_interrupt_alone() {
    paths(
        "0 1000 vector_entry local_timer
         0 1001 hrtimer_entry 900
         0 1002 softirq_raise 1
         0 1003 hrtimer_exit
         0 1004 vector_exit local_timer
         0 1010 softirq_entry 1
         0 1011 timer_entry 1
         0 1012 waking 12
         0 1013 timer_exit
         0 1014 timer_entry 2
         0 1015 waking 13
         0 1016 timer_exit
         0 1020 softirq_exit 1
         0 1030 switch 12
         0 1040 switch 13 1
         0 1041 sys_exit",
        "path local_timer faulter:12 via=s1 switch_in raise@0=900 hardirq@0+100 softirq_raise@0+2 softirq@0+8 waking@0+2 switch_in@0+18 fn=1
         path local_timer t13:13 via=s1 user raise@0=900 hardirq@0+100 softirq_raise@0+2 softirq@0+8 waking@0+5 switch_in@0+25 user@0+1 fn=2",
    );
}

#[test]
fn nested_too_deep_a_wakeup_belongs_to_nobody() {
    check(
        "config record_all 1
         0 100 irq_entry 1 1
         0 101 irq_entry 2 1
         0 102 irq_entry 3 1
         0 103 irq_entry 4 1
         0 104 irq_entry 5 1
         0 105 waking 12
         0 106 irq_exit 5 1
         0 110 switch 12",
        &["path"],
        "",
    );
}
