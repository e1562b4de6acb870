// SPDX-License-Identifier: GPL-2.0-or-later
//! Hardirqs: device lines, CPU vectors, nesting, IPIs, and attaching in the middle.

use crate::harness::{check, paths};

#[test]
fn a_device_interrupt_wakes_a_task() {
    paths(
        "0 100 irq_entry 42 1
         0 110 waking 10
         0 115 irq_exit 42 1 1
         0 130 switch 10
         0 150 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+10 switch_in@0+20 user@0+20",
    );
}

#[test]
fn a_task_that_wakes_a_task_is_no_path() {
    paths("0 100 switch 11\n0 110 waking 10\n0 120 switch 10 1\n0 130 sys_exit", "");
}

#[test]
fn after_the_handler_wakeups_are_nobodys() {
    paths(
        "0 100 vector_entry irq_work
         0 110 vector_exit irq_work
         0 120 waking 10
         0 130 switch 10",
        "",
    );
}

#[test]
fn the_innermost_of_nested_hardirqs_is_the_origin() {
    paths(
        "0 100 irq_entry 1 1
         0 110 irq_entry 2 1
         0 120 irq_entry 3 1
         0 130 vector_entry local_timer
         0 131 waking 10
         0 132 vector_exit local_timer
         0 133 waking 11
         0 140 irq_exit 3 1
         0 141 waking 12
         0 142 irq_exit 2 1
         0 143 waking 13
         0 144 irq_exit 1 1
         0 150 switch 10
         0 151 sys_exit
         0 160 switch 11 1
         0 161 sys_exit
         0 170 switch 12 1
         0 180 switch 13 1
         0 181 sys_exit",
        "path local_timer app:10 via=- user hardirq@0=130 waking@0+1 switch_in@0+19 user@0+1
         path irq:3 other:11 via=- user hardirq@0=120 waking@0+13 switch_in@0+27 user@0+1
         path irq:2 faulter:12 via=- switch_in hardirq@0=110 waking@0+31 switch_in@0+29
         path irq:1 t13:13 via=- user hardirq@0=100 waking@0+43 switch_in@0+37 user@0+1",
    );
}

#[test]
fn nesting_that_is_too_deep_is_counted_and_the_outer_ones_go_on() {
    paths(
        "0 100 irq_entry 1 1
         0 110 irq_entry 2 1
         0 120 irq_entry 3 1
         0 130 irq_entry 4 1
         0 140 irq_entry 5 1
         0 150 irq_exit 5 1
         0 160 waking 10
         0 161 irq_exit 4 1
         0 170 switch 10
         0 171 sys_exit",
        "path irq:4 app:10 via=- user hardirq@0=130 waking@0+30 switch_in@0+10 user@0+1
         loss nesting_too_deep 1",
    );
}

#[test]
fn a_switch_heals_exits_that_were_missed() {
    paths(
        "0 100 irq_entry 1 1
         0 110 irq_entry 2 1
         0 120 switch 11
         0 130 waking 10
         0 140 irq_entry 3 1
         0 150 waking 12
         0 160 irq_exit 3 1
         0 170 switch 12 1
         0 180 switch 10 1
         0 181 sys_exit",
        "path irq:3 faulter:12 via=- switch_in hardirq@0=140 waking@0+10 switch_in@0+20",
    );
}

#[test]
fn two_actions_of_a_shared_line_are_one_interrupt() {
    check(
        "config record_all 1
         0 100 irq_entry 42 3
         0 104 irq_exit 42 3
         0 105 irq_entry 42 1
         0 106 waking 10
         0 107 irq_exit 42 1 1
         0 120 switch 10
         0 121 sys_exit
         0 200 irq_entry 42 3
         0 201 irq_exit 42 3
         0 202 irq_entry 42 1
         0 203 irq_exit 42 1",
        &["path", "line"],
        "path irq:42 app:10 via=- user hardirq@0=105 waking@0+1 switch_in@0+14 user@0+1
         line irq:42 nr=2 run=8 max=4",
    );
}

#[test]
fn the_raise_of_an_ipi_is_its_sending() {
    paths(
        "0 90 ipi 1
         0 95 ipi 1
         1 100 vector_entry reschedule
         1 105 waking 10
         1 106 vector_exit reschedule
         1 110 switch 10
         1 115 sys_exit
         0 190 ipi 1 0xffff
         1 200 vector_entry reschedule
         1 201 vector_exit reschedule
         1 202 vector_entry call_function_single
         1 203 waking 11
         1 204 vector_exit call_function_single
         1 210 switch 11 1
         1 211 sys_exit",
        "path reschedule app:10 via=- user raise@1=90 hardirq@1+10 waking@1+5 switch_in@1+5 user@1+5
         path call_function_single other:11 via=- user raise@1=190 hardirq@1+12 waking@1+1 switch_in@1+7 user@1+1",
    );
}

#[test]
fn an_ipi_is_taken_once() {
    paths(
        "0 90 ipi 1
         1 100 vector_entry reschedule
         1 101 vector_exit reschedule
         1 200 vector_entry reschedule
         1 201 waking 12
         1 202 vector_exit reschedule
         1 210 switch 12",
        "path reschedule faulter:12 via=- switch_in hardirq@1=200 waking@1+1 switch_in@1+9",
    );
}

#[test]
fn an_ipi_to_a_cpu_that_is_not_there_is_ignored() {
    paths("0 90 ipi 99", "");
}

#[test]
fn exits_whose_entries_were_not_seen_do_nothing() {
    check(
        "config record_all 1
         0 100 irq_exit 42 1 1
         0 110 vector_exit local_timer
         0 115 timer_exit
         0 116 hrtimer_exit
         0 120 softirq_exit 3
         0 130 work_end
         0 140 sys_exit
         0 150 exit
         0 160 waking 10
         0 170 switch 10",
        &["path", "loss", "line", "softirq"],
        "",
    );
}

#[test]
fn lines_beyond_the_table_are_joined_and_counted() {
    paths(
        "0 100 irq_entry 5000 1
         0 101 waking 12
         0 102 irq_exit 5000 1
         0 110 switch 12",
        "path irq:5000 faulter:12 via=- switch_in hardirq@0=100 waking@0+1 switch_in@0+9
         loss range 1",
    );
}

#[test]
fn an_nmi_reports_its_length_at_its_end() {
    check("2 1000 nmi 300", &["nmi"], "nmi 2 end=1000 run=300");
}
