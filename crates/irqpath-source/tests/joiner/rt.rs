// SPDX-License-Identifier: GPL-2.0-or-later
//! PREEMPT_RT: softirqs that are preempted, locks that sleep, threads for everything.

use crate::harness::{check, paths};

#[test]
fn a_softirq_preempted_in_the_middle_goes_on_with_its_task() {
    check(
        "config record_all 1
         0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 switch 21
         0 120 softirq_entry 3
         0 130 switch 11 preempt
         0 135 waking 13
         0 140 switch 21 1
         0 150 waking 12
         0 160 softirq_exit 3
         0 170 waking 14
         0 180 switch 12 1",
        &["path", "loss", "softirq"],
        "path irq:42 faulter:12 via=s3+ksoftirqd switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+19 waking@0+30 switch_in@0+30
         softirq 3 cpu=0 nr=1 run=40 delay=19 max_delay=19",
    );
}

#[test]
fn two_tasks_in_softirqs_keep_their_own() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 103 vector_entry local_timer
         0 104 softirq_raise 1
         0 105 vector_exit local_timer
         0 110 switch 21
         0 120 softirq_entry 3
         0 130 switch 25 preempt
         0 140 softirq_entry 1
         0 150 switch 21 4096
         0 155 waking 12
         0 160 switch 25 4096
         0 165 waking 13
         0 170 softirq_exit 1
         0 175 switch 21 1
         0 180 softirq_exit 3
         0 185 switch 12 1
         0 190 switch 13 1
         0 191 sys_exit",
        "path irq:42 faulter:12 via=s3+ksoftirqd switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+19 waking@0+35 switch_in@0+30
         path local_timer t13:13 via=s1+ktimers user hardirq@0=103 softirq_raise@0+1 softirq@0+36 waking@0+25 switch_in@0+25 user@0+1",
    );
}

#[test]
fn the_second_of_two_tasks_with_one_place_for_softirqs_is_counted_as_lost() {
    check(
        "config record_all 1
         0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 switch 21
         0 120 softirq_entry 3
         0 130 switch 4117 preempt
         0 131 vector_entry local_timer
         0 132 softirq_raise 1
         0 133 vector_exit local_timer
         0 140 softirq_entry 1
         0 150 switch 21 4096
         0 155 waking 12
         0 160 softirq_exit 3
         0 161 switch 4117 1
         0 162 waking 13
         0 163 softirq_exit 1
         0 171 vector_entry local_timer
         0 172 softirq_raise 1
         0 173 vector_exit local_timer
         0 174 softirq_entry 1
         0 175 switch 12 4096
         0 176 switch 4117 1
         0 177 waking 13
         0 178 softirq_exit 1
         0 180 switch 13 1
         0 181 sys_exit",
        &["path", "loss"],
        "path irq:42 faulter:12 via=s3+ksoftirqd switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+19 waking@0+35 switch_in@0+20
         path local_timer t13:13 via=s1 user hardirq@0=171 softirq_raise@0+1 softirq@0+2 waking@0+3 switch_in@0+3 user@0+1
         loss task_slot 1",
    );
}

#[test]
fn an_irq_thread_runs_the_softirq_that_it_raised() {
    paths(
        "0 100 irq_entry 42 2
         0 105 irq_exit 42 2 2
         0 106 waking 20
         0 120 switch 20
         0 130 softirq_raise 3
         0 140 softirq_entry 3
         0 145 switch 11 preempt
         0 150 switch 20 1
         0 155 waking 12
         0 160 softirq_exit 3
         0 165 waking 13
         0 170 switch 12 1
         0 175 switch 13 1
         0 176 sys_exit",
        "path irq:42 faulter:12 via=s3+irq_thread switch_in hardirq@0=100 irq_thread@0+20 softirq_raise@0+10 softirq@0+10 waking@0+15 switch_in@0+15
         path irq:42 t13:13 via=irq_thread user hardirq@0=100 irq_thread@0+20 waking@0+45 switch_in@0+10 user@0+1",
    );
}

#[test]
fn a_lock_handed_over_is_not_a_new_wakeup() {
    paths(
        "0 100 irq_entry 42 1
         0 101 waking 10
         0 102 irq_exit 42 1
         0 110 switch 10
         0 115 switch 11 4096
         0 120 irq_entry 43 1
         0 121 waking 10
         0 122 irq_exit 43 1
         0 130 switch 10 1
         0 140 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+30",
    );
}

#[test]
fn a_thread_blocked_on_a_lock_still_carries() {
    paths(
        "0 100 irq_entry 42 2
         0 105 irq_exit 42 2 2
         0 106 waking 20
         0 120 switch 20
         0 130 switch 11 4096
         0 135 irq_entry 43 1
         0 136 waking 20
         0 137 irq_exit 43 1
         0 140 switch 20 1
         0 150 waking 12
         0 160 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=100 irq_thread@0+20 waking@0+30 switch_in@0+10",
    );
}

/// Two tasks whose numbers differ by the number of slots. The salt of a run is secret.
const IN_ONE_SLOT: &str = "0 100 irq_entry 42 1
     0 101 softirq_raise 3
     0 102 irq_exit 42 1
     0 110 switch 21
     0 120 softirq_entry 3
     0 125 irq_entry 43 1
     0 126 waking 32789
     0 127 irq_exit 43 1
     0 130 switch 11 preempt
     0 135 switch 21 1
     0 140 waking 12
     0 145 softirq_exit 3
     0 150 switch 12 1";

#[test]
fn a_preempted_softirq_without_a_slot_is_counted() {
    // 32789 is 21 + 32768: it has a path and keeps the slot that ksoftirqd would need.
    paths(IN_ONE_SLOT, "loss task_slot 1");
}

#[test]
fn which_tasks_share_a_slot_depends_on_the_salt() {
    paths(
        &format!("config slot_salt 2654435769\n{IN_ONE_SLOT}"),
        "path irq:42 faulter:12 via=s3+ksoftirqd switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+19 waking@0+20 switch_in@0+10",
    );
}
