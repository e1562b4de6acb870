// SPDX-License-Identifier: GPL-2.0-or-later
//! Histograms and maxima against the exact values.

use std::fmt::Write as _;

use crate::harness::{check, run};
use crate::output::hists;

/// `IP_MAX_PAGES`.
const NR_PAGES: u32 = 12_288;

/// A wakeup of `tid` at `at` by interrupt 42 that is switched in `delay` later, then sleeps.
fn wakeup(at: u64, tid: u32, delay: u64) -> String {
    format!(
        "0 {at} irq_entry 42 1
         0 {at} waking {tid}
         0 {at} irq_exit 42 1
         0 {} switch {tid}
         0 {} switch 0 1\n",
        at + delay,
        at + delay + 1,
    )
}

/// The half-open range of values that belong to a bucket, from the rule and not from the code.
fn range(bucket: u64) -> std::ops::Range<u64> {
    if bucket < 32 {
        return bucket..bucket + 1;
    }
    let shift = bucket / 32 - 1;
    let low = (32 + bucket % 32) << shift;
    low..low + (1 << shift)
}

#[test]
fn every_value_is_in_its_bucket_and_exact_beside_it() {
    let mut values = vec![0, 1, 2, 3, 31, 33, 1_000, 999_999, (1 << 36) - 1, 1 << 36, 1 << 40];
    for power in (5..36).step_by(3) {
        values.extend([(1 << power) - 1, 1 << power, (1 << power) + 1, (1 << power) * 7 / 5]);
    }
    let mut script = String::from("config no_user 1\n");
    let mut at = 1;
    for (tid, delay) in (100..).zip(&values) {
        let _ = write!(script, "{}", wakeup(at, tid, *delay));
        at += delay + 2;
    }
    let Some(out) = run(&script) else { return };
    let hists: Vec<_> = hists(&out).into_iter().filter(|h| h.stage == "switch_in").collect();
    assert_eq!(hists.len(), values.len());
    for (h, v) in hists.iter().zip(values) {
        assert_eq!((h.nr, h.sum, h.min, h.max), (1, v, v, v));
        assert_eq!(h.overflow, u64::from(v >= 1 << 36));
        match h.buckets[..] {
            [(bucket, 1)] => {
                let range = range(bucket);
                assert!(range.contains(&v), "{v} in {range:?}");
                assert!(v < 64 || (range.end - range.start) * 31 <= v, "{v} in {range:?}");
            }
            [] => assert_eq!(h.overflow, 1),
            ref other => panic!("{v} in {other:?}"),
        }
    }
}

#[test]
fn values_of_one_path_add_up() {
    let mut script = String::from("config no_user 1\n");
    for i in 0..50 {
        let _ = write!(script, "{}", wakeup(1 + i * 1_000, 10, i * 7));
    }
    let Some(out) = run(&script) else { return };
    let hists = hists(&out);
    let stages: Vec<_> = hists.iter().map(|h| h.stage.as_str()).collect();
    assert_eq!(stages, ["total", "waking", "switch_in"]);
    for (stage, max) in [(0, 49 * 7), (1, 0), (2, 49 * 7)] {
        let h = &hists[stage];
        assert_eq!((h.nr, h.sum, h.min, h.max), (50, max * 50 / 2, 0, max));
        assert_eq!(h.buckets.iter().map(|b| b.1).sum::<u64>(), 50);
    }
}

#[test]
fn one_name_with_several_tids_is_one_path() {
    let script = "task 30 twin fault\ntask 31 twin fault\nconfig no_user 1\n";
    let script = format!("{script}{}{}", wakeup(100, 30, 5), wakeup(200, 31, 9));
    check(
        &script,
        &["stat", "hist"],
        "stat irq:42 twin via=- tid=30 several=1 slowest=9
         hist total nr=2 sum=14 min=5 max=9 over=0 5:1 9:1
         hist waking nr=2 sum=0 min=0 max=0 over=0 0:2
         hist switch_in nr=2 sum=14 min=5 max=9 over=0 5:1 9:1",
    );
}

#[test]
fn policy_and_priority_are_part_of_the_key() {
    // The main thread and the measuring one of cyclictest have the same name.
    let script = "task 30 cyclictest fault\ntask 31 cyclictest fault\nsched 31 1 9\n";
    let script = format!("config no_user 1\n{script}{}{}", wakeup(100, 30, 50), wakeup(200, 31, 9));
    check(
        &script,
        &["stat"],
        "stat irq:42 cyclictest via=- tid=30 several=0 slowest=50
         stat irq:42 cyclictest via=- sched=1:9 tid=31 several=0 slowest=9",
    );
}

#[test]
fn a_priority_that_is_only_inherited_makes_no_row() {
    let mut script = String::from("config no_user 1\ntask 30 holder fault\n");
    for i in 0..50 {
        let _ = write!(script, "sched 30 0 120 {}\n{}", 98 - i, wakeup(100 + i * 100, 30, 9));
    }
    check(&script, &["stat"], "stat irq:42 holder via=- tid=30 several=0 slowest=9");
}

#[test]
fn the_way_is_part_of_the_key() {
    let way = "
        0 100 irq_entry 42 1
        0 101 waking 12
        0 102 irq_exit 42 1
        1 110 switch 12
        1 120 switch 0 1
        0 200 irq_entry 42 1
        0 201 softirq_raise 3
        0 202 irq_exit 42 1
        0 203 softirq_entry 3
        0 204 waking 12
        0 205 softirq_exit 3
        0 210 switch 12";
    check(
        way,
        &["stat"],
        "stat irq:42 faulter via=remote tid=12 several=0 slowest=10
         stat irq:42 faulter via=s3 tid=12 several=0 slowest=10",
    );
}

#[test]
fn pages_run_out_and_what_has_none_is_counted() {
    // The last page goes to the first stage; the second and the total have none.
    let script = format!(
        "config no_user 1\nconfig pages_taken {}\n{}",
        NR_PAGES - 2,
        wakeup(100, 12, 5).repeat(3)
    );
    check(
        &script,
        &["hist", "pages", "loss"],
        "hist waking nr=3 sum=0 min=0 max=0 over=0 0:3
         pages 12287
         loss hist_table_full 6",
    );
}

#[test]
fn a_pool_whose_counters_wrap_hands_out_every_page_once() {
    // The counters of taken and returned numbers wrap after the first two of six pages.
    let paths = wakeup(100, 12, 5) + &wakeup(300, 13, 5).replace(" 42 ", " 43 ");
    let script = format!("config no_user 1\nconfig pool_at {}\n{paths}", u32::MAX - 1);
    let hist = "hist total nr=1 sum=5 min=5 max=5 over=0 5:1
         hist waking nr=1 sum=0 min=0 max=0 over=0 0:1
         hist switch_in nr=1 sum=5 min=5 max=5 over=0 5:1\n";
    check(&script, &["hist", "pages", "loss"], &format!("{hist}{hist}pages 4"));
}

#[test]
fn a_retired_row_and_its_pages_begin_anew() {
    let first = wakeup(100, 10, 5) + &wakeup(200, 11, 9);
    let later = wakeup(300, 12, 7) + &wakeup(400, 10, 3);
    // Six pages are left for two paths: three that were never taken, then those of the first one.
    let script = format!("config no_user 1\n{first}retired 0\nconfig pages_taken 12284\n{later}");
    check(
        &script,
        &["stat", "hist", "loss"],
        "stat irq:42 other via=- sched=0:30 tid=11 several=0 slowest=9
         hist total nr=1 sum=9 min=9 max=9 over=0 9:1
         hist waking nr=1 sum=0 min=0 max=0 over=0 0:1
         hist switch_in nr=1 sum=9 min=9 max=9 over=0 9:1
         stat irq:42 faulter via=- tid=12 several=0 slowest=7
         hist total nr=1 sum=7 min=7 max=7 over=0 7:1
         hist waking nr=1 sum=0 min=0 max=0 over=0 0:1
         hist switch_in nr=1 sum=7 min=7 max=7 over=0 7:1
         stat irq:42 app via=- sched=0:20 tid=10 several=0 slowest=3
         hist total nr=1 sum=3 min=3 max=3 over=0 3:1
         hist waking nr=1 sum=0 min=0 max=0 over=0 0:1
         hist switch_in nr=1 sum=3 min=3 max=3 over=0 3:1",
    );
}

#[test]
fn an_entry_that_is_another_paths_by_now_mixes_nothing() {
    let first = wakeup(100, 10, 5) + &wakeup(200, 11, 9);
    let Some(out) = run(&format!("config no_user 1\n{first}stale 0 1\n{}", wakeup(300, 10, 70)))
    else {
        return;
    };
    let totals: Vec<_> = hists(&out).into_iter().filter(|h| h.stage == "total").collect();
    // The table is printed by its entries: both lead to the second row, which did not change.
    assert_eq!(totals.iter().map(|h| (h.nr, h.max)).collect::<Vec<_>>(), [(1, 9), (1, 9), (1, 70)]);
    assert!(out.contains("stat irq:42 (others)") && out.contains("folded 1"), "{out}");
}

#[test]
fn cpus_that_race_for_a_page_leak_none() {
    let Some(out) = run("0 1 race 3000\n") else { return };
    let line = out.lines().find(|l| l.starts_with("race ")).expect("a race");
    let value = |key: &str| -> u64 {
        let word = line.split(' ').find_map(|w| w.strip_prefix(key)).expect("key=value");
        word.parse().expect("a number")
    };
    assert_eq!((value("used="), value("times=")), (3_000, 6_000), "{line}");
    assert_eq!(value("taken="), 3_000 + value("spare="), "{line}");
    assert!(value("spare=") <= 2, "{line}");
}

#[test]
fn a_bucket_goes_on_where_32_bits_end() {
    let before = u64::from(u32::MAX);
    let script = ["config no_user 1\n", &wakeup(1, 10, 40), &format!("counted {before}\n")];
    let Some(out) = run(&(script.concat() + &wakeup(1_000, 10, 40))) else { return };
    for h in hists(&out) {
        assert_eq!(h.buckets.iter().map(|b| b.1).collect::<Vec<_>>(), [before + 1], "{}", h.stage);
    }
}
