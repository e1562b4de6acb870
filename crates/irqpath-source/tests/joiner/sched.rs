// SPDX-License-Identifier: GPL-2.0-or-later
//! The target: remote, running already, asleep again, preempted, exited, sharing a slot.

use crate::harness::paths;

/// Interrupt 42 on CPU 0 wakes task 10 at 101.
const WOKEN: &str = "
    0 100 irq_entry 42 1
    0 101 waking 10
    0 102 irq_exit 42 1 1
";

fn woken(script: &str, want: &str) {
    paths(&format!("{WOKEN}{script}"), want);
}

#[test]
fn on_another_cpu_it_is_remote() {
    woken(
        "2 110 switch 10
         2 120 sys_exit",
        "path irq:42 app:10 via=remote user hardirq@0=100 waking@0+1 switch_in@2+9 user@2+10",
    );
}

#[test]
fn a_task_that_has_not_slept_yet_is_already_running() {
    paths(
        "0 90 switch 10
         0 95 state 1
         0 100 irq_entry 42 1
         0 101 waking 10
         0 102 irq_exit 42 1 1
         0 110 sys_exit",
        "path irq:42 app:10 via=- already_running hardirq@0=100 waking@0+1",
    );
}

#[test]
fn it_sleeps_again_before_user_space() {
    woken(
        "0 110 switch 10
         0 120 switch 0 1
         0 130 switch 10
         0 140 sys_exit",
        "path irq:42 app:10 via=- slept_again hardirq@0=100 waking@0+1 switch_in@0+9",
    );
}

#[test]
fn preempted_on_its_way_to_user_space() {
    woken(
        "0 110 switch 10
         0 114 state 1
         0 115 switch 11 preempt
         0 120 sys_exit
         1 200 switch 10
         1 210 sys_exit
         1 220 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@1+100 on=0,1+99",
    );
}

#[test]
fn yielding_is_not_sleeping() {
    woken(
        "0 110 switch 10
         0 115 switch 11 0
         0 120 switch 10 1
         0 130 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+20",
    );
}

#[test]
fn a_system_call_of_somebody_else_does_not_end_it() {
    woken(
        "0 105 sys_exit
         1 106 switch 11
         1 107 sys_exit
         0 110 switch 10
         1 115 sys_exit
         0 120 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+10",
    );
}

#[test]
fn a_task_that_slept_in_a_fault_or_without_user_stage_ends_at_the_switch() {
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 12
         0 102 irq_exit 42 1 1
         0 110 switch 12
         0 120 sys_exit",
        "path irq:42 faulter:12 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9",
    );
    paths(
        &format!("config no_user 1\n{WOKEN}0 110 switch 10\n0 120 sys_exit"),
        "path irq:42 app:10 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9",
    );
}

#[test]
fn a_task_woken_by_a_task_is_not_the_interrupts_any_more() {
    // It ran and slept again without a switch that was seen.
    woken(
        "1 103 switch 11\n1 105 waking 10\n0 110 switch 10\n0 120 sys_exit",
        "loss path_unseen 1",
    );
}

#[test]
fn one_interrupt_wakes_many() {
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 10
         0 102 waking 11
         0 103 irq_exit 42 1
         0 110 switch 10
         1 111 switch 11
         1 112 sys_exit
         0 113 sys_exit",
        "path irq:42 other:11 via=remote user hardirq@0=100 waking@0+2 switch_in@1+9 user@1+1
         path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+3",
    );
}

#[test]
fn a_task_that_exits_on_its_way_is_counted() {
    woken(
        "0 110 switch 10
         0 115 exit
         0 120 switch 0 128
         0 130 switch 10
         0 140 sys_exit",
        "loss task_exit 1",
    );
}

#[test]
fn tids_that_share_a_slot_are_counted_and_not_mixed() {
    // 32778 is 10 + 32768: the first one keeps the slot, the second has no path.
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 10
         0 102 waking 32778
         0 103 irq_exit 42 1
         1 105 switch 32778
         1 106 sys_exit
         0 110 switch 10
         0 120 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+10
         loss task_slot 1",
    );
}

#[test]
fn a_slot_is_free_again_when_its_path_is_over() {
    woken(
        "0 110 switch 10
         0 120 sys_exit
         0 200 irq_entry 42 1
         0 201 waking 32778
         0 202 irq_exit 42 1
         0 210 switch 32778 1
         0 220 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+10
         path irq:42 t32778:32778 via=- user hardirq@0=200 waking@0+1 switch_in@0+9 user@0+10",
    );
}

#[test]
fn an_exit_leaves_the_slot_of_another_tid_alone() {
    woken(
        "1 103 switch 32778
         1 104 exit
         0 110 switch 10
         0 120 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+10",
    );
}
