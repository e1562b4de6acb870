// SPDX-License-Identifier: GPL-2.0-or-later
//! Time stolen by the hypervisor: told once, at the first look after it, and nobody's run time.
//!
//! `stolen NS` lets the hypervisor's count of a CPU grow; the programs see it at their next event.

use crate::harness::{check, paths};

/// Transitions of kind 7 are `ns:7:(high bits):(ns)`.
const STEAL: &str = "config stolen 1\n";

#[track_caller]
fn stolen(script: &str, kinds: &[&str], want: &str) {
    check(&format!("{STEAL}{script}"), kinds, want);
}

#[test]
fn stolen_time_is_told_before_the_transition_that_ends_it() {
    stolen(
        "0 90 switch 11
         0 180 stolen 70
         0 200 irq_entry 42 1
         0 210 irq_exit 42 1
         0 220 switch 0",
        &["left"],
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:11:30:other 200:7:0:70 200:1:1:42 210:2:0:0 220:5:0:0:120:swapper/0",
    );
}

#[test]
fn what_was_stolen_before_the_first_look_is_not_told() {
    stolen(
        "0 10 stolen 123456789
         0 90 switch 11
         0 95 switch 0
         1 100 stolen 5
         1 110 switch 12
         1 120 stolen 6
         1 130 switch 0",
        &["left"],
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:11:30:other 95:5:0:0:120:swapper/0
         left 1 0 110 110:5:0:0:120:swapper/1 110:5:0:12:120:faulter 130:7:0:6 130:5:0:0:120:swapper/1",
    );
}

#[test]
fn more_than_four_seconds_keep_their_length() {
    stolen(
        "0 90 switch 11
         0 5000000000 stolen 4994967396
         0 5000000100 switch 0",
        &["left"],
        // 4 994 967 396 is 1 << 32 and 700 000 100.
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:11:30:other 5000000100:7:1:700000100 5000000100:5:0:0:120:swapper/0",
    );
}

#[test]
fn a_handler_and_a_softirq_do_not_run_while_their_cpu_is_stolen() {
    stolen(
        "0 90 switch 11
         0 100 irq_entry 42 1
         0 105 softirq_raise 3
         0 900 stolen 750
         0 910 irq_exit 42 1
         0 920 softirq_entry 3
         0 1800 stolen 800
         0 1940 softirq_exit 3
         0 2000 vector_entry local_timer
         0 2500 stolen 400
         0 2600 vector_exit local_timer",
        &["line", "softirq"],
        "line irq:42 nr=1 run=60 max=60
         line local_timer:0 nr=1 run=200 max=200
         softirq 3 cpu=0 nr=1 run=220 delay=815 max_delay=815",
    );
}

#[test]
fn every_stamp_of_a_path_looks_for_stolen_time() {
    // Between a raise and a wakeup nothing else happens: the wakeup must not get what was stolen
    // before it.
    stolen(
        "0 90 switch 11
         0 100 irq_entry 42 1
         0 150 stolen 40
         0 160 waking 10
         0 170 irq_exit 42 1
         0 180 stolen 5
         0 190 switch 10
         0 250 stolen 30
         0 290 sys_exit",
        &["left"],
        "left 0 0 90 90:5:0:0:120:swapper/0 90:5:0:11:30:other 100:1:1:42 160:7:0:40 170:2:0:0 190:7:0:5 190:5:0:10:20:app 290:7:0:30 290:5:0:10:20:app",
    );
}

#[test]
fn a_machine_without_a_count_looks_at_nothing() {
    paths(
        "0 90 switch 11
         0 100 irq_entry 42 1
         0 150 stolen 40
         0 160 waking 10
         0 170 irq_exit 42 1
         0 190 switch 10
         0 290 sys_exit",
        "path irq:42 app:10 via=- user hardirq@0=100 waking@0+60 switch_in@0+30 user@0+100",
    );
}
