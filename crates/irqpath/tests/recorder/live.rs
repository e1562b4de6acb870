// SPDX-License-Identifier: GPL-2.0-or-later
//! Every path of some seconds under load.

use std::time::Duration;

use irqpath_witness::{Differences, Kind};

use crate::session::Session;
use crate::{Load, RECORD_BYTES, ready};

/// Paths per load.
const AT_LEAST: u64 = 10_000;
const ROUND: Duration = Duration::from_secs(3);
/// A machine that is too slow for `AT_LEAST` paths in this many rounds fails.
const ROUNDS: usize = 8;

/// The differences under this load, and how often the witness itself was late.
fn compare(load: &str) -> (Differences, u64) {
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

/// What must hold everywhere and always. The two recorders read the clock one after the other, and
/// the CPU may stand still in between: a host need not count that as stolen, and it was up to 120 us.
/// One such moment is in the causes of every path that waits for that CPU. What differs by no more
/// than irqpath's reading was later is a `Boundary`; nothing else is allowed for.
fn assert_true((differences, nr_late): &(Differences, u64)) {
    let paths = differences.nr_paths;
    assert!(paths >= AT_LEAST, "only {paths} paths in {ROUNDS} rounds");
    assert_eq!(differences.nr_false_joins(), 0, "false joins: {differences}");
    assert_eq!(differences.nr(Kind::WrongCpu), 0, "causes of another CPU: {differences}");
    assert_eq!(differences.nr(Kind::UnseenCause), 0, "causes that nobody saw: {differences}");
    assert_eq!(differences.nr(Kind::Steal), 0, "stolen time by another name: {differences}");
    let seldom = |kind: Kind, one_in: u64| {
        let nr = differences.nr(kind);
        assert!(nr * one_in <= paths, "{kind:?} in {nr} of {paths} paths: {differences}");
    };
    // A path has some five of the sixteen events of its time.
    let late = nr_late / 2;
    let nr = differences.nr(Kind::Duration);
    assert!(nr * 1000 <= paths + late * 1000, "{nr} lengths of {paths}, {late}: {differences}");
    for kind in [Kind::Points, Kind::Via, Kind::End, Kind::Cause] {
        seldom(kind, 1000);
    }
    // Too many moves during one wait are said to be unknown.
    for kind in [Kind::Unexplained, Kind::Boundary, Kind::Time, Kind::Interrupted, Kind::Unsure] {
        seldom(kind, 200);
    }
}

#[test]
fn paths_under_the_demos_load_are_what_was_recorded() {
    let Some(_alone) = ready("paths under the demo's load") else { return };
    assert_true(&compare("demo_load"));
}

#[test]
fn paths_of_tasks_that_are_moved_while_they_wait_are_what_was_recorded() {
    let Some(_alone) = ready("paths of moved tasks") else { return };
    assert_true(&compare("migration_load"));
}
