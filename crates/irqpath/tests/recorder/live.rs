// SPDX-License-Identifier: GPL-2.0-or-later
//! Every path of some seconds under load.

use std::time::Duration;

use irqpath_witness::{Differences, Kind};

use crate::{Load, RECORD_BYTES, wait_for_machine};
use irqpath_testing::session::Session;

/// Paths per load.
const AT_LEAST: u64 = 10_000;
const ROUND: Duration = Duration::from_secs(3);
/// A machine that is too slow for `AT_LEAST` paths in this many rounds fails.
const ROUNDS: usize = 8;

/// The differences under this load, and how often the witness itself was late.
fn compare_recorders(load: &str) -> (Differences, u64) {
    let (mut differences, mut nr_late) = (Differences::default(), 0);
    for _ in 0..ROUNDS {
        let load = Load::start(load, ROUND.as_secs() + 4);
        let session = Session::run(ROUND, RECORD_BYTES).expect("trace and record");
        drop(load);
        let judge = session.compare(&mut differences);
        nr_late += session.record.nr_late;
        println!(
            "{} events, {} late, skipped {:?}, {} switches unseen, irqpath lost {:?}",
            session.record.events.len(),
            session.record.nr_late,
            session.record.skipped,
            judge.nr_unseen(),
            session.loss.0
        );
        if differences.nr_paths >= AT_LEAST {
            break;
        }
    }
    println!("{load}: {differences}");
    (differences, nr_late)
}

/// Measurements in which a host may have been too busy. A mistake of irqpath's is in all of them.
const ATTEMPTS: usize = 3;

/// What must hold: no false join and no wrong cause, ever; and what a busy host can feign as seldom
/// as it is allowed, in one of [`ATTEMPTS`] measurements at least.
fn assert_true(load: &str) {
    let mut noises = Vec::new();
    for _ in 0..ATTEMPTS {
        let (differences, nr_late) = compare_recorders(load);
        let paths = differences.nr_paths;
        assert!(paths >= AT_LEAST, "only {paths} paths in {ROUNDS} rounds");
        assert_eq!(differences.nr_false_joins(), 0, "false joins: {differences}");
        assert_eq!(differences.nr_of(Kind::WrongCpu), 0, "causes of another CPU: {differences}");
        assert_eq!(
            differences.nr_of(Kind::UnseenCause),
            0,
            "causes that nobody saw: {differences}"
        );
        assert_eq!(differences.nr_of(Kind::Steal), 0, "stolen time by another name: {differences}");
        let noise = find_excess(&differences, nr_late);
        if noise.is_empty() {
            return;
        }
        noises.push(noise.join(", "));
    }
    panic!("in each of {ATTEMPTS} measurements: {}", noises.join("; "));
}

/// What differs too often. The two recorders read the clock one after the other, and the CPU may
/// stand still in between: a host need not count that as stolen, and it was up to 120 us. One such
/// moment is in the causes of every path that waits for that CPU. What differs by no more than
/// irqpath's reading was later is a `Boundary`; nothing else is allowed for.
fn find_excess(differences: &Differences, nr_late: u64) -> Vec<String> {
    let paths = differences.nr_paths;
    let mut found = Vec::new();
    let mut allow = |kind: Kind, most: u64| {
        let nr = differences.nr_of(kind);
        if nr > most {
            found.push(format!("{kind:?} in {nr} of {paths} paths, at most {most}"));
        }
    };
    // A path has some five of the sixteen events of its time.
    allow(Kind::Duration, paths / 1000 + nr_late / 2);
    for kind in [Kind::Points, Kind::Via, Kind::End, Kind::Cause] {
        allow(kind, paths / 1000);
    }
    // Too many moves during one wait are said to be unknown.
    for kind in [Kind::Unexplained, Kind::Boundary, Kind::Time, Kind::Interrupted, Kind::Unsure] {
        allow(kind, paths / 200);
    }
    found
}

#[test]
fn paths_under_the_demos_load_are_what_was_recorded() {
    let Some(_alone) = wait_for_machine("paths under the demo's load") else { return };
    assert_true("demo_load");
}

#[test]
fn paths_of_tasks_that_are_moved_while_they_wait_are_what_was_recorded() {
    let Some(_alone) = wait_for_machine("paths of moved tasks") else { return };
    assert_true("migration_load");
}
