// SPDX-License-Identifier: GPL-2.0-or-later
//! Work items: the path travels with the item, not with the kworker.

use crate::harness::paths;

#[test]
fn from_a_hardirq() {
    paths(
        "0 100 irq_entry 42 1
         0 102 queue_work 0x1000
         0 103 waking 22
         0 104 irq_exit 42 1
         0 110 switch 22
         0 120 work_start 0x1000
         0 130 waking 10
         0 135 work_end
         0 140 switch 10 1
         0 150 sys_exit",
        "path irq:42 app:10 via=work user hardirq@0=100 work_queue@0+2 work@0+18 waking@0+10 switch_in@0+10 user@0+10",
    );
}

#[test]
fn from_a_softirq_to_another_cpu() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 6
         0 102 irq_exit 42 1
         0 110 softirq_entry 6
         0 112 queue_work 0x1000
         0 113 waking 22
         0 114 softirq_exit 6
         1 115 switch 22
         1 120 work_start 0x1000
         1 130 waking 12
         1 135 work_end
         1 140 switch 12 1",
        "path irq:42 faulter:12 via=s6+work switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+9 work_queue@0+2 work@1+8 waking@1+10 switch_in@1+10",
    );
}

#[test]
fn after_its_end_the_kworker_carries_nothing() {
    paths(
        "0 100 irq_entry 42 1
         0 102 queue_work 0x1000
         0 104 irq_exit 42 1
         0 110 switch 22
         0 120 work_start 0x1000
         0 125 work_end
         0 130 waking 10
         0 131 work_start 0x2000
         0 132 waking 11
         0 133 work_end
         0 134 switch 0 1
         0 135 switch 22
         0 136 waking 10
         0 140 switch 10 1
         0 150 switch 11 1",
        "",
    );
}

#[test]
fn queued_again_by_a_task_it_is_the_tasks() {
    paths(
        "0 100 irq_entry 42 1
         0 102 queue_work 0x1000
         0 104 irq_exit 42 1
         0 105 switch 11
         0 106 queue_work 0x1000
         0 110 switch 22 1
         0 120 work_start 0x1000
         0 125 waking 12
         0 130 work_end
         0 140 switch 12 1",
        "",
    );
}

#[test]
fn a_kworker_that_sleeps_inside_keeps_the_chain() {
    for state in ["1", "2", "preempt"] {
        paths(
            &format!(
                "0 100 irq_entry 42 1
                 0 102 queue_work 0x1000
                 0 104 irq_exit 42 1
                 0 110 switch 22
                 0 120 work_start 0x1000
                 0 130 switch 11 {state}
                 0 135 waking 13
                 0 136 waking 22
                 0 140 switch 22 1
                 0 150 waking 12
                 0 155 work_end
                 0 160 switch 12 1"
            ),
            "path irq:42 faulter:12 via=work switch_in hardirq@0=100 work_queue@0+2 work@0+18 waking@0+30 switch_in@0+10",
        );
    }
}

#[test]
fn work_that_queues_work_is_the_same_path() {
    paths(
        "0 100 irq_entry 42 1
         0 102 queue_work 0x1000
         0 104 irq_exit 42 1
         0 110 switch 22
         0 120 work_start 0x1000
         0 130 queue_work 0x2000
         0 131 work_end
         0 140 work_start 0x2000
         0 150 waking 12
         0 155 work_end
         0 160 switch 12 1",
        "path irq:42 faulter:12 via=work switch_in hardirq@0=100 work_queue@0+30 work@0+10 waking@0+10 switch_in@0+10",
    );
}

#[test]
fn bh_work_runs_inside_a_softirq() {
    paths(
        "0 100 irq_entry 42 1
         0 101 queue_work 0x1000
         0 102 softirq_raise 6
         0 103 irq_exit 42 1
         0 110 softirq_entry 6
         0 112 work_start 0x1000
         0 114 waking 12
         0 115 work_end
         0 116 softirq_exit 6
         0 120 switch 12",
        "path irq:42 faulter:12 via=work switch_in hardirq@0=100 work_queue@0+1 work@0+11 waking@0+2 switch_in@0+6",
    );
}

#[test]
fn items_that_share_a_slot_are_counted_and_not_mixed() {
    // Both addresses fold to slot 1: the second item takes it.
    paths(
        "0 100 irq_entry 42 1
         0 101 queue_work 0x10000
         0 102 queue_work 0x8
         0 103 irq_exit 42 1
         0 110 switch 22
         0 120 work_start 0x10000
         0 121 waking 12
         0 122 work_end
         0 130 work_start 0x8
         0 131 waking 13
         0 132 work_end
         0 140 switch 12 1
         0 150 switch 13 1
         0 151 sys_exit",
        "path irq:42 t13:13 via=work user hardirq@0=100 work_queue@0+2 work@0+28 waking@0+1 switch_in@0+19 user@0+1
         loss work_slot 1",
    );
}
