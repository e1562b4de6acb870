// SPDX-License-Identifier: GPL-2.0-or-later
//! Switches for which the kernel runs no program: seen afterwards, counted, never joined.
//!
//! `hidden` is such a switch. The kernel that we met runs no program while a thread of pid 1 is
//! current, so that the switch to it (here task 13) is seen and the one away from it is not.

use crate::harness::{check, paths};

/// CPU 0 runs task 13; interrupt 42 on CPU 1 wakes task 10.
const WOKEN: &str = "
    0 90 switch 13
    1 100 irq_entry 42 1
    1 101 waking 10
    1 102 irq_exit 42 1
";

fn woken(script: &str, want: &str) {
    paths(&format!("{WOKEN}{script}"), want);
}

#[test]
fn a_target_that_leaves_without_having_come_is_not_joined() {
    // It comes at 110, unseen; what is seen at 900 is another switch to it.
    woken(
        "0 110 hidden 10
         0 200 switch 11 preempt
         0 900 switch 10
         0 910 sys_exit",
        "loss switch_unseen 1
         loss path_unseen 1",
    );
}

#[test]
fn what_ran_around_an_unseen_switch_is_told_as_unseen() {
    check(
        "0 90 switch 13
         0 110 hidden 10
         0 200 switch 11
         0 210 irq_entry 42 1",
        &["left", "loss"],
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:13:120:t13 200:6:0:10:20:app 200:5:0:11:30:other 210:1:1:42
         loss switch_unseen 1",
    );
}

#[test]
fn an_interrupt_sees_at_once_that_a_switch_was_missed() {
    check(
        "0 90 switch 13
         0 110 hidden 10
         0 150 irq_entry 42 1
         0 160 irq_exit 42 1
         0 200 switch 11",
        &["left", "loss"],
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:13:120:t13 150:6:0:10:20:app 150:1:1:42 160:2:0:0 200:5:0:11:30:other
         loss switch_unseen 1",
    );
}

#[test]
fn the_first_task_of_a_cpu_was_not_missed() {
    paths("0 90 hidden 10\n0 100 switch 11\n1 90 hidden 12\n1 95 irq_entry 7 1", "");
}

#[test]
fn a_return_to_user_space_after_an_unseen_switch_is_not_joined() {
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 10
         0 102 irq_exit 42 1
         0 110 switch 10
         0 120 switch 13 preempt
         0 130 hidden 10
         0 140 sys_exit
         0 150 switch 11 1
         0 900 switch 10
         0 910 sys_exit",
        "loss switch_unseen 1
         loss path_unseen 1",
    );
}

#[test]
fn a_carrier_that_came_unseen_carries_nothing() {
    paths(
        "0 90 switch 13
         1 100 irq_entry 42 2
         1 101 irq_exit 42 2 2
         1 102 waking 20
         0 110 hidden 20
         0 120 switch 11 preempt
         0 130 switch 20 1
         0 140 waking 12
         0 150 switch 12 1",
        "loss switch_unseen 1
         loss path_unseen 1",
    );
}

#[test]
fn a_work_item_begins_in_a_kworker_that_came_unseen() {
    paths(
        "1 100 irq_entry 42 1
         1 101 queue_work 0x1000
         1 102 irq_exit 42 1
         0 103 switch 13
         0 110 hidden 22
         0 120 work_start 0x1000
         0 130 waking 12
         0 140 work_end
         0 150 switch 12 1",
        "path irq:42 faulter:12 via=work switch_in hardirq@1=100 work_queue@1+1 work@0+19 waking@0+10 switch_in@0+20
         loss switch_unseen 1",
    );
}

#[test]
fn an_ipi_after_an_unseen_switch_has_no_raise() {
    // The first one arrived while nothing was seen; its sending must not be taken for this one's.
    paths(
        "0 90 switch 13
         1 100 ipi 0
         0 500 hidden 11
         1 890 ipi 0
         0 900 vector_entry reschedule
         0 901 waking 12
         0 902 vector_exit reschedule
         0 910 switch 12",
        "path reschedule faulter:12 via=- switch_in hardirq@0=900 waking@0+1 switch_in@0+9
         loss switch_unseen 1",
    );
}

#[test]
fn a_softirq_that_was_pending_at_an_unseen_switch_has_no_origin() {
    paths(
        "0 90 switch 11
         0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 switch 13
         0 120 hidden 11
         0 890 switch 21
         0 900 softirq_entry 3
         0 901 waking 12
         0 902 softirq_exit 3
         0 910 switch 12",
        "loss switch_unseen 1
         loss path_unseen 1",
    );
}

#[test]
fn a_target_woken_on_its_way_out_is_joined_at_its_switch_in() {
    for leave in ["leave", "leave delayed"] {
        paths(
            &format!(
                "0 90 switch 10
                 0 95 {leave}
                 1 100 irq_entry 42 1
                 1 101 waking 10
                 1 102 irq_exit 42 1
                 0 103 switch 0 1
                 0 120 switch 10
                 0 130 sys_exit"
            ),
            "path irq:42 app:10 via=remote user hardirq@1=100 waking@1+1 switch_in@0+19 user@0+10",
        );
    }
}

#[test]
fn a_target_that_its_cpu_took_back_has_no_switch_in() {
    // Woken on its way out and picked again: the next switch to it is of another time.
    paths(
        "0 90 switch 10
         0 95 leave
         1 100 irq_entry 42 1
         1 101 waking 10
         1 102 irq_exit 42 1
         0 200 switch 11 preempt
         0 900 switch 10
         0 910 sys_exit",
        "loss stale_wakeup 1",
    );
}
