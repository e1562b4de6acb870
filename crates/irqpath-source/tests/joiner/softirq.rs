// SPDX-License-Identifier: GPL-2.0-or-later
//! Softirqs: who raised them, where they run, and what a raise while one runs means.

use crate::harness::{check, paths};

#[test]
fn in_irq_exit() {
    paths(
        "0 100 irq_entry 42 1
         0 102 softirq_raise 3
         0 104 irq_exit 42 1
         0 110 softirq_entry 3
         0 115 waking 10
         0 118 softirq_exit 3
         0 130 switch 10
         0 140 sys_exit",
        "path irq:42 app:10 via=s3 user hardirq@0=100 softirq_raise@0+2 softirq@0+8 waking@0+5 switch_in@0+15 user@0+10",
    );
}

#[test]
fn in_ksoftirqd() {
    paths(
        "0 100 irq_entry 42 1
         0 102 softirq_raise 3
         0 103 waking 21
         0 104 irq_exit 42 1
         0 200 switch 21
         0 210 softirq_entry 3
         0 215 waking 10
         0 218 softirq_exit 3
         0 230 switch 10 1
         0 240 sys_exit",
        "path irq:42 app:10 via=s3+ksoftirqd user hardirq@0=100 softirq_raise@0+2 softirq@0+108 waking@0+5 switch_in@0+15 user@0+10",
    );
}

#[test]
fn two_vectors_keep_their_own_origins() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 103 vector_entry local_timer
         0 104 softirq_raise 1
         0 105 vector_exit local_timer
         0 110 softirq_entry 1
         0 111 waking 12
         0 112 softirq_exit 1
         0 113 softirq_entry 3
         0 114 waking 13
         0 115 softirq_exit 3
         0 120 switch 12
         0 130 switch 13 1
         0 131 sys_exit",
        "path local_timer faulter:12 via=s1 switch_in hardirq@0=103 softirq_raise@0+1 softirq@0+6 waking@0+1 switch_in@0+9
         path irq:42 t13:13 via=s3 user hardirq@0=100 softirq_raise@0+1 softirq@0+12 waking@0+1 switch_in@0+16 user@0+1",
    );
}

#[test]
fn the_first_of_two_raises_counts() {
    check(
        "config record_all 1
         0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 105 irq_entry 43 1
         0 106 softirq_raise 3
         0 107 irq_exit 43 1
         0 110 softirq_entry 3
         0 111 waking 12
         0 112 softirq_exit 3
         0 120 switch 12",
        &["path", "loss", "softirq"],
        "path irq:42 faulter:12 via=s3 switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+9 waking@0+1 switch_in@0+9
         softirq 3 cpu=0 nr=1 run=2 delay=9 max_delay=9",
    );
}

#[test]
fn a_raise_while_it_runs_starts_a_new_origin() {
    check(
        "config record_all 1
         0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 softirq_entry 3
         0 120 irq_entry 43 1
         0 121 softirq_raise 3
         0 122 irq_exit 43 1
         0 125 waking 12
         0 130 softirq_exit 3
         0 140 softirq_entry 3
         0 145 waking 13
         0 150 softirq_exit 3
         0 160 switch 12
         0 170 switch 13 1
         0 171 sys_exit",
        &["path", "loss", "softirq"],
        "path irq:42 faulter:12 via=s3 switch_in hardirq@0=100 softirq_raise@0+1 softirq@0+9 waking@0+15 switch_in@0+35
         path irq:43 t13:13 via=s3 user hardirq@0=120 softirq_raise@0+1 softirq@0+19 waking@0+5 switch_in@0+25 user@0+1
         softirq 3 cpu=0 nr=2 run=30 delay=28 max_delay=19",
    );
}

#[test]
fn a_softirq_that_raises_itself_keeps_its_interrupt() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         0 110 softirq_entry 3
         0 115 softirq_raise 3
         0 118 softirq_exit 3
         0 120 softirq_entry 3
         0 125 waking 12
         0 130 softirq_exit 3
         0 140 switch 12",
        "path irq:42 faulter:12 via=s3 switch_in hardirq@0=100 softirq_raise@0+15 softirq@0+5 waking@0+5 switch_in@0+15",
    );
}

#[test]
fn raised_by_a_task_the_softirq_is_the_origin() {
    paths(
        "0 90 switch 11
         0 100 softirq_raise 3
         0 110 softirq_entry 3
         0 115 waking 10
         0 118 softirq_exit 3
         0 130 switch 10 1
         0 140 sys_exit",
        "path softirq:3 app:10 via=s3 user softirq_raise@0=100 softirq@0+10 waking@0+5 switch_in@0+15 user@0+10",
    );
}

#[test]
fn a_hardirq_on_top_of_a_softirq_is_its_own_origin() {
    paths(
        "0 100 softirq_raise 3
         0 110 softirq_entry 3
         0 115 irq_entry 7 1
         0 116 waking 12
         0 117 irq_exit 7 1
         0 120 softirq_exit 3
         0 130 switch 12",
        "path irq:7 faulter:12 via=- switch_in hardirq@0=115 waking@0+1 switch_in@0+14",
    );
}

#[test]
fn a_softirq_whose_raise_was_not_seen_has_no_origin() {
    paths("0 110 softirq_entry 3\n0 115 waking 10\n0 118 softirq_exit 3\n0 130 switch 10", "");
}

#[test]
fn each_cpu_has_its_own_pending_bits() {
    paths(
        "0 100 irq_entry 42 1
         0 101 softirq_raise 3
         0 102 irq_exit 42 1
         1 105 softirq_entry 3
         1 106 waking 12
         1 107 softirq_exit 3
         1 120 switch 12",
        "",
    );
}

#[test]
fn a_cpu_that_goes_away_takes_its_pending_origins_along() {
    paths(
        "1 100 irq_entry 42 1
         1 101 softirq_raise 3
         1 102 irq_exit 42 1
         0 103 ipi 1
         0 110 cpuhp 1
         1 200 vector_entry reschedule
         1 201 waking 12
         1 202 vector_exit reschedule
         1 203 softirq_entry 3
         1 204 waking 13
         1 205 softirq_exit 3
         1 210 switch 12
         1 220 switch 13 1",
        "path reschedule faulter:12 via=- switch_in hardirq@1=200 waking@1+1 switch_in@1+9",
    );
}

#[test]
fn vectors_out_of_range_are_ignored() {
    check(
        "0 100 softirq_raise 10\n0 101 softirq_entry 15\n0 102 softirq_exit 4096",
        &["path", "loss", "softirq"],
        "",
    );
}

#[test]
fn napi_counts_polls_packets_and_used_up_budgets() {
    check(
        "0 1 napi 0 64\n0 2 napi 10 64\n0 3 napi 64 64",
        &["napi"],
        "napi cpu=0 nr=3 packets=74 exhausted=1",
    );
}
