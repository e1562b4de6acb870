// SPDX-License-Identifier: GPL-2.0-or-later
//! Rows that are retired while the running kernel counts in them.

#![allow(clippy::print_stdout)] // a test says what it skips

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use irqpath_model::{Event, LossReason, PathStats};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CapabilitySet, capabilities};

use super::BpfSource;
use crate::{Config, Source as _};

const RENAMES: &str = "IRQPATH_TEST_RENAMES";
const FEW_PATHS: u16 = 64;
/// All rows of a table for so few paths: 320 are for others.
const NR_ROWS: usize = FEW_PATHS as usize + 320;

/// As the process of a test that was started again: sleeps under one name after the other.
fn rename_for_ever(seed: &str) -> ! {
    for nr in 0_u64.. {
        let name = std::ffi::CString::new(format!("r{seed}.{}", nr / 4)).unwrap();
        rustix::thread::set_name(&name).unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
    unreachable!()
}

fn start_renaming(test: &str, seed: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("bpf::rows_tests::{test}")])
        .env(RENAMES, seed.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn sum(paths: &[PathStats]) -> u64 {
    paths.iter().map(|path| path.total.len()).sum()
}

fn nr_paths(events: &[Event]) -> u64 {
    events.iter().filter(|event| matches!(event, Event::Path(_))).count() as u64
}

#[test]
fn rows_that_are_used_again_and_again_count_every_path_once() {
    if let Ok(seed) = std::env::var(RENAMES) {
        rename_for_ever(&seed);
    }
    let needed = CapabilitySet::BPF | CapabilitySet::PERFMON;
    if !capabilities(None).is_ok_and(|held| held.effective.contains(needed)) {
        println!("skipped: needs CAP_BPF and CAP_PERFMON");
        return;
    }
    let test = "rows_that_are_used_again_and_again_count_every_path_once";
    let mut children: Vec<Child> = (0..4).map(|seed| start_renaming(test, seed)).collect();
    let tids = children.iter().map(Child::id).collect();
    // Of these tasks alone, each path is known; without a filter, tasks and names have shares.
    let exact = retire_often(&Config { tids, ..config() }, &children);
    let shared = retire_often(&config(), &children);
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A full ring buffer says how much it lost, not how much of it were paths.
    let possible = exact.recorded..=exact.recorded + exact.lost;
    assert!(possible.contains(&exact.counted), "{} of {possible:?}", exact.counted);
    assert!(exact.retired >= 2 * NR_ROWS, "{} rows were used again", exact.retired);
    assert!(shared.retired >= 2 * NR_ROWS, "{} of shares", shared.retired);
}

fn config() -> Config {
    Config {
        record_all: true,
        max_paths: Some(FEW_PATHS),
        no_user: true,
        buffer_bytes: 32 << 20,
        ..Config::default()
    }
}

fn send_all(children: &[Child], signal: Signal) {
    for child in children {
        kill_process(Pid::from_child(child), signal).unwrap();
    }
}

/// Rows that were retired, paths that were counted and recorded, and records that were lost.
struct Counts {
    retired: usize,
    counted: u64,
    recorded: u64,
    lost: u64,
}

fn retire_often(config: &Config, children: &[Child]) -> Counts {
    let mut source = BpfSource::open(config).unwrap();
    let (mut nr_recorded, mut retired, mut before) = (0, Vec::new(), 0);
    let end = Instant::now() + Duration::from_secs(30);
    while retired.len() < 2 * NR_ROWS && Instant::now() < end {
        nr_recorded += nr_paths(&source.poll_events(Duration::from_millis(5)).unwrap());
        retired.extend(source.retire_idle(Duration::ZERO).unwrap());
        let now = sum(&source.take_snapshot().unwrap().paths) + sum(&retired);
        assert!(now >= before, "the total fell from {before} to {now}");
        before = now;
    }
    // A path that ends while the programs are detached is counted and not recorded.
    send_all(children, Signal::STOP);
    std::thread::sleep(Duration::from_millis(50));
    let (events, last) = source.finish().unwrap();
    send_all(children, Signal::CONT);
    nr_recorded += nr_paths(&events);
    for reason in [LossReason::PathTableFull, LossReason::HistogramTableFull] {
        assert_eq!(last.loss.get(reason), 0, "{reason:?}");
    }
    let counted = sum(&last.paths) + sum(&retired);
    let lost = last.loss.get(LossReason::RingbufFull);
    Counts { retired: retired.len(), counted, recorded: nr_recorded, lost }
}
