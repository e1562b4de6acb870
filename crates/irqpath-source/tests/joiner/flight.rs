// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder: every path is kept beside the transitions, and only one over a threshold is
//! delivered.

use crate::harness::{check, run};

/// The local timer wakes task 10 at `at` and it runs `late` later.
fn wakeup(at: u64, late: u64) -> String {
    let ran = at + 20 + late;
    format!(
        "0 {at} vector_entry local_timer\n0 {} waking 10\n0 {} vector_exit local_timer\n\
         0 {ran} switch 10\n0 {} sys_exit\n0 {} switch 0 1\n",
        at + 10,
        at + 15,
        ran + 5,
        ran + 10,
    )
}

#[test]
fn what_is_over_no_threshold_stays_in_the_kernel() {
    let script = format!("config kept 4\nconfig kept_ns 1000\n{}", wakeup(1000, 50));
    check(
        &script,
        &["path", "kept", "occ", "stat"],
        "kept 1
         path local_timer app:10 via=- user hardirq@0=1000 waking@0+10 switch_in@0+60 user@0+5",
    );
}

#[test]
fn a_whole_path_or_a_stage_over_its_threshold_is_delivered() {
    for (setting, delivered) in [
        ("kept_ns 75", 1),
        ("kept_ns 76", 0),
        ("stage_ns 8 60", 1),
        ("stage_ns 8 61", 0),
        ("stage_ns 7 10", 1),
        ("stage_ns 2 1", 0),
    ] {
        let Some(out) = run(&format!("config kept 4\nconfig {setting}\n{}", wakeup(1000, 50)))
        else {
            return;
        };
        // One more is the kept one.
        let paths = out.lines().filter(|line| line.starts_with("path ")).count();
        assert_eq!(paths, delivered + 1, "{setting}\n{out}");
        assert!(!out.lines().any(|line| line.starts_with("occ ")), "{setting}\n{out}");
    }
}

#[test]
fn statistics_beside_the_ring_deliver_a_path_once_for_either_threshold() {
    for (settings, delivered) in [
        ("config threshold_ns 75\nconfig kept_ns 75", 1),
        ("config threshold_ns 76\nconfig kept_ns 75", 1),
        ("config threshold_ns 75\nconfig kept_ns 76", 1),
        ("config threshold_ns 76\nconfig stage_ns 8 60", 1),
        ("config threshold_ns 76\nconfig kept_ns 76", 0),
    ] {
        let script = format!("config beside 4\n{settings}\n{}", wakeup(1000, 50));
        let Some(out) = run(&script) else { return };
        let count = |start: &str| out.lines().filter(|line| line.starts_with(start)).count();
        assert_eq!((count("path "), count("kept ")), (delivered + 1, 1), "{settings}\n{out}");
        assert!(count("stat ") > 0, "{settings}\n{out}");
    }
}

#[test]
fn the_ring_of_paths_goes_round() {
    let script: String = (1..=6).map(|n| wakeup(n * 1000, n)).collect();
    let Some(out) = run(&format!("config kept 4\n{script}")) else { return };
    let kept: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("kept ")).collect();
    assert_eq!(kept, ["5", "6", "3", "4"]);
    let newest = "path local_timer app:10 via=- user hardirq@0=6000 ";
    assert!(out.lines().any(|line| line.starts_with(newest)), "{out}");
    assert!(!out.contains("hardirq@0=2000"), "{out}");
}

#[test]
fn who_blocks_for_long_leaves_a_stack_and_the_idle_task_does_not() {
    // Task 11 runs when 10 is woken, for 100; then nobody does.
    let script = "config kept 4\nconfig stack_ns 100
        0 1000 switch 11
        0 2000 vector_entry local_timer\n0 2010 waking 10\n0 2015 vector_exit local_timer
        0 2110 switch 10\n0 2120 sys_exit\n0 2130 switch 0 1
        0 3000 vector_entry local_timer\n0 3010 waking 10\n0 3015 vector_exit local_timer
        0 3200 switch 10\n0 3210 switch 0 1";
    check(script, &["stack"], "stack cpu of other:11 for 10 from=2010+100 n=1");
    check(&script.replace("stack_ns 100", "stack_ns 101"), &["stack"], "");
}

#[test]
fn a_late_timer_tells_who_kept_interrupts_off() {
    let script = "config kept 4\nconfig stack_ns 50
        0 1000 switch 11
        0 2000 vector_entry local_timer\n0 2005 hrtimer_entry 1940\n0 2010 hrtimer_exit
        0 2015 vector_exit local_timer";
    check(script, &["stack"], "stack irqs of other:11 for 0 from=1940+60 n=1");
}

#[test]
fn who_held_the_lock_of_an_irq_thread_leaves_a_stack() {
    let script = "config kept 4\nconfig stack_ns 100
        0 1000 irq_entry 42 2\n0 1010 irq_exit 42 2 2\n0 1020 waking 20
        0 1050 switch 20\n0 1100 switch 11 2
        0 1300 waking 20\n0 1350 switch 20 preempt";
    check(script, &["stack"], "stack lock of other:11 for 20 from=1100+200 n=1");
}
