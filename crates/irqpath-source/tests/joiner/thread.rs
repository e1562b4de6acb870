// SPDX-License-Identifier: GPL-2.0-or-later
//! Irq threads and NAPI threads: they carry the interrupt on to what they wake.

use crate::harness::{check, paths};

/// Interrupt 42 on CPU 0 asks for its thread, which is on the CPU at 120.
const THREADED: &str = "
    0 100 irq_entry 42 2
    0 105 irq_exit 42 2 2
    0 106 waking 20
    0 120 switch 20
";

fn threaded(script: &str, want: &str) {
    paths(&format!("{THREADED}{script}"), want);
}

#[test]
fn the_thread_hands_the_interrupt_on() {
    threaded(
        "0 130 waking 10
         0 140 switch 10 1
         0 150 sys_exit",
        "path irq:42 app:10 via=irq_thread user hardirq@0=100 irq_thread@0+20 waking@0+10 switch_in@0+10 user@0+10",
    );
}

#[test]
fn once_it_sleeps_it_carries_nothing() {
    threaded(
        "0 130 switch 11 1
         0 140 switch 20 1
         0 150 waking 10
         0 160 switch 10 1",
        "",
    );
}

#[test]
fn preempted_or_blocked_on_a_mutex_it_still_carries() {
    threaded(
        "0 130 switch 11 preempt
         0 135 waking 13
         0 140 switch 20 1
         0 150 switch 11 2
         0 160 switch 20 preempt
         0 170 waking 12
         0 180 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=100 irq_thread@0+20 waking@0+50 switch_in@0+10",
    );
}

#[test]
fn it_may_run_on_another_cpu() {
    paths(
        "0 100 irq_entry 42 2
         0 105 irq_exit 42 2 2
         0 106 waking 20
         1 120 switch 20
         1 130 waking 12
         1 140 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=100 irq_thread@1+20 waking@1+10 switch_in@1+10 carried=0,1+6",
    );
}

#[test]
fn a_softirq_that_it_raises_is_its_interrupts() {
    threaded(
        "0 130 softirq_raise 3
         0 140 softirq_entry 3
         0 150 waking 12
         0 155 softirq_exit 3
         0 160 switch 12 1",
        "path irq:42 faulter:12 via=s3+irq_thread switch_in hardirq@0=100 irq_thread@0+20 softirq_raise@0+10 softirq@0+10 waking@0+10 switch_in@0+10",
    );
}

#[test]
fn woken_while_it_runs_the_interrupt_is_counted() {
    threaded(
        "0 130 irq_entry 42 2
         0 135 irq_exit 42 2 2
         0 140 irq_entry 42 2
         0 145 irq_exit 42 2 2
         0 150 switch 11 1",
        "loss coalesced 2",
    );
}

#[test]
fn the_next_interrupt_starts_afresh() {
    threaded(
        "0 130 switch 11 1
         0 200 irq_entry 42 2
         0 205 irq_exit 42 2 2
         0 206 waking 20
         0 220 switch 20 1
         0 230 waking 12
         0 240 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=200 irq_thread@0+20 waking@0+10 switch_in@0+10",
    );
}

#[test]
fn woken_between_setting_its_state_and_sleeping() {
    threaded(
        "0 130 state 1
         0 135 switch 11 preempt
         0 140 irq_entry 42 2
         0 141 irq_exit 42 2 2
         0 142 waking 20
         0 150 switch 20 preempt
         0 160 waking 12
         0 170 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=140 irq_thread@0+10 waking@0+10 switch_in@0+10",
    );
}

#[test]
fn other_wakeups_before_the_threads_do_not_take_its_chain() {
    paths(
        "0 100 irq_entry 42 2
         0 102 waking 12
         0 105 irq_exit 42 2 2
         0 106 waking 20
         0 120 switch 20
         0 125 switch 12 1",
        "path irq:42 faulter:12 via=- switch_in hardirq@0=100 waking@0+2 switch_in@0+23",
    );
}

#[test]
fn a_thread_woken_by_a_task_carries_nothing() {
    paths(
        "0 100 switch 11
         0 106 waking 20
         0 120 switch 20 1
         0 130 waking 10
         0 140 switch 10 1",
        "",
    );
}

#[test]
fn a_napi_thread_carries_the_softirq() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 softirq_entry 3
         0 111 waking 24
         0 112 softirq_exit 3
         0 120 switch 24
         0 130 waking 12
         0 140 switch 12 1",
        "path irq:42 faulter:12 via=s3+napi_thread switch_in hardirq@0=100 irq_thread@0+20 waking@0+10 switch_in@0+10",
    );
}

#[test]
fn an_ordinary_kernel_thread_ends_at_the_switch() {
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 23
         0 102 irq_exit 42 1
         0 110 switch 23
         0 120 waking 10
         0 130 switch 10 1",
        "path irq:42 rcu_exp:23 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9",
    );
}

#[test]
fn a_user_task_named_like_a_thread_is_a_target() {
    check(
        "config record_all 1
         task 30 irq/7-fake fault
         0 100 irq_entry 42 1
         0 101 waking 30
         0 102 irq_exit 42 1
         0 110 switch 30",
        &["path"],
        "path irq:42 irq/7-fake:30 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9",
    );
}

#[test]
fn where_interrupts_of_threads_are_not_followed_only_hardirqs_wake() {
    let script = THREADED.replace("0 120", "0 107")
        + "0 108 irq_entry 43 1
           0 109 waking 12
           0 110 irq_exit 43 1
           0 130 waking 10
           0 140 switch 12 1
           0 150 switch 10 1
           0 160 sys_exit";
    let hardirq = "path irq:43 faulter:12 via=- switch_in hardirq@0=108 waking@0+1 switch_in@0+31";
    let thread = "path irq:42 app:10 via=irq_thread user hardirq@0=100 irq_thread@0+7 waking@0+23 switch_in@0+20 user@0+10";
    paths(&format!("config hardirqs_only 1\n{script}"), hardirq);
    paths(&script, &format!("{hardirq}\n{thread}"));
}
