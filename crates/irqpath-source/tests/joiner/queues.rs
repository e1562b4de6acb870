// SPDX-License-Identifier: GPL-2.0-or-later
//! On whose run queue a target was: `on=CPU,CPU+NS`, with the time of each move since the wakeup.

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
fn a_target_waits_where_its_wakeup_puts_it() {
    // Chosen by the wakeup, within it: this is not a move.
    woken(
        "0 103 migrate 10 2 placed
         2 110 switch 10
         2 120 sys_exit",
        "path irq:42 app:10 via=remote user hardirq@0=100 waking@0+1 switch_in@2+9 user@2+10",
    );
}

#[test]
fn a_target_that_is_moved_waits_for_the_other_cpu_from_then_on() {
    woken(
        "0 103 migrate 10 1 placed
         3 140 migrate 10 2
         2 150 switch 10
         2 160 sys_exit",
        "path irq:42 app:10 via=remote user hardirq@0=100 waking@0+1 switch_in@2+49 user@2+10 on=1,2+39",
    );
}

#[test]
fn moved_on_its_way_to_user_space() {
    woken(
        "0 110 switch 10
         0 120 switch 11 preempt
         1 130 migrate 10 1
         1 140 switch 10
         1 150 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@1+40 on=0,1+29",
    );
}

#[test]
fn more_moves_than_there_is_room_for_lead_to_an_unknown_cpu() {
    woken(
        "1 111 migrate 10 1
         1 112 migrate 10 2
         1 113 migrate 10 3
         1 114 migrate 10 2
         1 115 migrate 10 0
         1 116 migrate 10 3
         1 117 migrate 10 2
         1 118 migrate 10 3
         1 119 migrate 10 1
         1 120 switch 10
         1 130 sys_exit",
        "path irq:42 app:10 via=remote user hardirq@0=100 waking@0+1 switch_in@1+19 user@1+10 on=0,1+10,2+11,3+12,2+13,0+14,3+15,2+16,65535+17",
    );
}

#[test]
fn moves_of_other_tasks_and_of_the_carrier_are_not_the_target_s() {
    paths(
        "0 100 irq_entry 42 2
         0 101 irq_exit 42 2 2
         0 102 waking 20
         0 105 migrate 20 1
         1 110 switch 20
         1 115 migrate 11 1
         1 120 waking 12
         1 130 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=100 irq_thread@1+10 waking@1+10 switch_in@1+10 carried=0,1+5",
    );
}

#[test]
fn more_moves_of_the_carrier_lead_from_an_unknown_cpu() {
    paths(
        "0 100 irq_entry 42 2
         0 101 irq_exit 42 2 2
         0 102 waking 20
         0 105 migrate 20 1
         0 107 migrate 20 2
         2 110 switch 20
         2 120 waking 12
         2 130 switch 12 1
         2 200 irq_entry 42 2
         2 201 irq_exit 42 2 2
         2 202 waking 20
         2 210 switch 20 1
         2 220 waking 12
         2 230 switch 12 1",
        "path irq:42 faulter:12 via=irq_thread switch_in hardirq@0=100 irq_thread@2+10 waking@2+10 switch_in@2+10 carried=65535,2+7
         path irq:42 faulter:12 via=irq_thread switch_in hardirq@2=200 irq_thread@2+10 waking@2+10 switch_in@2+10",
    );
}

#[test]
fn a_later_wait_begins_anew() {
    woken(
        "1 105 migrate 10 1
         1 110 switch 10
         1 120 sys_exit
         1 130 switch 0 1
         1 200 irq_entry 42 1
         1 201 waking 10
         1 202 irq_exit 42 1
         1 210 switch 10
         1 220 sys_exit",
        "path irq:42 app:10 via=remote user hardirq@0=100 waking@0+1 switch_in@1+9 user@1+10 on=0,1+4
         path irq:42 app:10 via=- user hardirq@1=200 waking@1+1 switch_in@1+9 user@1+10",
    );
}
