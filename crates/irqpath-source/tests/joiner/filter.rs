// SPDX-License-Identifier: GPL-2.0-or-later
//! What is worth a record: filters, the threshold, new maxima.

use crate::harness::check;

/// Tasks 10 on CPU 0 (interrupt 42) and 12 on CPU 1 (local timer), then 10 again, slower.
const THREE: &str = "
    0 100 irq_entry 42 1
    0 101 waking 10
    0 102 irq_exit 42 1
    0 110 switch 10
    0 120 sys_exit
    1 200 vector_entry local_timer
    1 205 waking 12
    1 206 vector_exit local_timer
    1 230 switch 12
    0 290 switch 0 1
    0 300 irq_entry 42 1
    0 301 waking 10
    0 302 irq_exit 42 1
    0 340 switch 10
    0 350 sys_exit
";
const FIRST: &str =
    "path irq:42 app:10 via=- user hardirq@0=100 waking@0+1 switch_in@0+9 user@0+10";
const TIMER: &str =
    "path local_timer faulter:12 via=- switch_in hardirq@1=200 waking@1+5 switch_in@1+25";
const SLOWER: &str =
    "path irq:42 app:10 via=- user hardirq@0=300 waking@0+1 switch_in@0+39 user@0+10";

/// The records of the three paths with these settings.
fn records(settings: &str, want: &[&str]) {
    check(&format!("{settings}\n{THREE}"), &["path", "loss"], &want.join("\n"));
}

#[test]
fn without_settings_every_new_maximum_of_its_kind() {
    records("", &[FIRST, TIMER, SLOWER]);
}

#[test]
fn a_path_that_is_no_slower_is_not_new() {
    let again = "
        1 890 switch 0 1
        1 900 vector_entry local_timer
        1 905 waking 12
        1 906 vector_exit local_timer
        1 930 switch 12";
    check(&format!("{THREE}{again}"), &["path"], &[FIRST, TIMER, SLOWER].join("\n"));
}

#[test]
fn what_a_system_call_does_itself_makes_no_maximum() {
    // It ran after 9 ns and was in the kernel for 600 ns more: shown over a threshold, not ranked.
    let busy = "
        0 490 switch 0 1
        0 500 irq_entry 42 1
        0 501 waking 10
        0 502 irq_exit 42 1
        0 509 switch 10
        0 1109 sys_exit";
    let script = format!("{THREE}{busy}");
    check(&script, &["path"], &[FIRST, TIMER, SLOWER].join("\n"));
    check(
        &script,
        &["stat"],
        "stat irq:42 app via=- sched=0:20 tid=10 several=0 slowest=40
         stat local_timer faulter via=- tid=12 several=0 slowest=30",
    );
    let long = "path irq:42 app:10 via=- user hardirq@0=500 waking@0+1 switch_in@0+8 user@0+600";
    check(&format!("config threshold_ns 600\n{script}"), &["path"], long);
}

#[test]
fn from_the_threshold_on() {
    records("config threshold_ns 20", &[FIRST, TIMER, SLOWER]);
    records("config threshold_ns 21", &[TIMER, SLOWER]);
    records("config threshold_ns 50", &[SLOWER]);
    records("config threshold_ns 51", &[]);
    records("config threshold_ns 51\nconfig record_all 1", &[FIRST, TIMER, SLOWER]);
}

#[test]
fn by_origin() {
    records("config origin 1 42", &[FIRST, SLOWER]);
    records("config origin 2 0", &[TIMER]);
    records("config origin 1 41", &[]);
    records("config origin 1 0\nconfig origin 2 42", &[]);
    records("config origin 1 41\nconfig origin 2 0\nconfig origin 1 42", &[FIRST, TIMER, SLOWER]);
}

#[test]
fn by_task() {
    records("config tid 10", &[FIRST, SLOWER]);
    records("config tid 11\nconfig tid 12", &[TIMER]);
    records("config comm app", &[FIRST, SLOWER]);
    records("config comm ap", &[]);
    records("config comm app\nconfig tid 12", &[FIRST, TIMER, SLOWER]);
    records("task 10 app user 20 77\nconfig tid 77", &[FIRST, SLOWER]);
}

#[test]
fn the_tracer_is_left_out_unless_asked_for() {
    records("config self_tgid 10", &[TIMER]);
    records("config self_tgid 10\nconfig tid 10", &[FIRST, SLOWER]);
}

#[test]
fn by_cpu() {
    records("config cpu 0", &[FIRST, SLOWER]);
    records("config cpu 1", &[TIMER]);
    records("config cpu 2", &[]);
    records("config cpu 0\nconfig cpu 1", &[FIRST, TIMER, SLOWER]);
    let remote = "
        0 100 irq_entry 42 1
        0 101 waking 12
        0 102 irq_exit 42 1
        1 110 switch 12";
    let want = "path irq:42 faulter:12 via=remote switch_in hardirq@0=100 waking@0+1 switch_in@1+9";
    for cpus in ["config cpu 0", "config cpu 1"] {
        check(&format!("{cpus}\n{remote}"), &["path"], want);
    }
}

#[test]
fn filters_together_must_all_agree() {
    records("config origin 1 42\nconfig tid 12", &[]);
    records("config origin 1 42\nconfig tid 10\nconfig cpu 1", &[]);
    records("config origin 1 42\nconfig tid 10\nconfig cpu 0", &[FIRST, SLOWER]);
}

#[test]
fn what_does_not_fit_into_the_ring_buffer_is_counted() {
    // Two for each of the three: the record and its transitions.
    records("0 1 ring full", &["loss ringbuf_full 6"]);
}

#[test]
fn paths_beyond_the_table_are_counted_and_still_recorded() {
    let settings = "config max_paths 1\nconfig record_all 1";
    records(settings, &[FIRST, TIMER, SLOWER, "loss path_table_full 1"]);
}
