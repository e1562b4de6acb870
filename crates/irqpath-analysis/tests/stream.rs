// SPDX-License-Identifier: GPL-2.0-or-later
//! The stream: when a record is finished, what is wanted and kept, statistics and counts.

mod common;

use std::collections::BTreeMap;

use common::{DISK, NIC, block, idle, names, record, switch, task};
use irqpath_analysis::{
    Accumulator, CountCheck, Engine, EngineConfig, Judged, SlowKeeper, Wanted, compare_counts,
    counts_between, summarize_paths,
};
use irqpath_model::{
    CauseKind, Event, InterruptCounts, LineStats, LossReason, Occupancy, Origin, PathRecord, Point,
    SlowPath, Snapshot, SoftirqStats, SoftirqVec, Stamp, Vector, Via,
};

/// Path of `total` ns from `start` to a target on CPU 0.
fn path(origin: Origin, comm: &str, start: u64, total: u64) -> PathRecord {
    let stamps = [(Point::Waking, start, 0), (Point::SwitchIn, start + total, 0)];
    let mut record = record(origin, Via::empty(), &stamps);
    record.target.comm = comm.into();
    record
}

fn event(record: PathRecord) -> Event {
    Event::Path(Box::new(record))
}

/// `hog` runs from 500 to 2000, then the target.
fn window() -> Vec<Occupancy> {
    let (hog, target) = (task(5, "hog", 120), task(100, "target", 19));
    block(0, &[(500, switch(hog)), (2000, switch(target)), (2500, switch(idle()))])
}

fn engine() -> Engine {
    Engine::new(EngineConfig { threshold_ns: Some(1000), ..EngineConfig::default() }, names())
}

fn kinds(paths: &[SlowPath]) -> Vec<CauseKind> {
    paths.iter().map(|p| p.stages[0].causes[0].kind).collect()
}

#[test]
fn a_record_waits_for_its_transitions() {
    let mut engine = engine();
    engine.push(event(path(DISK, "target", 1000, 1000)));
    assert!(engine.drain().is_empty());
    engine.push(Event::Occupancy(window()[..1].to_vec()));
    assert!(engine.drain().is_empty());
    engine.push(Event::Occupancy(window()[1..].to_vec()));
    assert_eq!(kinds(&engine.drain()), [CauseKind::PreemptOff]);
    assert!(engine.drain().is_empty());
    assert_eq!(engine.nr_pending(), 0);
}

#[test]
fn a_record_does_not_wait_for_ever() {
    let mut engine = engine();
    engine.push(event(path(DISK, "target", 1000, 1000)));
    engine.advance(1_000_001_999);
    assert!(engine.drain().is_empty());
    engine.advance(1_000_002_000);
    assert_eq!(kinds(&engine.drain()), [CauseKind::Unexplained]);
    engine.push(event(path(NIC, "target", 2_000_000_000, 1000)));
    assert_eq!(kinds(&engine.flush()), [CauseKind::Unexplained]);
}

#[test]
fn transitions_may_come_before_their_record() {
    let mut engine = engine();
    engine.push(Event::Occupancy(window()));
    assert!(engine.drain().is_empty());
    engine.push(event(path(DISK, "target", 1000, 1000)));
    assert_eq!(kinds(&engine.drain()), [CauseKind::PreemptOff]);
}

#[test]
fn old_transitions_go_and_needed_ones_stay() {
    let mut engine = engine();
    engine.push(Event::Occupancy(window()[..1].to_vec()));
    engine.push(event(path(DISK, "target", 1000, 1000)));
    let late: Vec<_> = (0..100u64)
        .map(|i| Occupancy {
            ns: 5_000_000 * (i + 1),
            cpu: 1,
            seq: i,
            what: switch(task(i as u32 % 3, "t", 120)),
        })
        .collect();
    engine.push(Event::Occupancy(late));
    assert!(engine.drain().is_empty());
    assert_eq!(engine.nr_transitions(), 101);
    engine.advance(1_000_002_000);
    assert_eq!(engine.drain().len(), 1);
    assert_eq!(engine.nr_transitions(), 2, "each CPU keeps the state at the cut");
    assert_eq!(engine.loss().nr_lost(), 0);
}

/// Only of a path that is explained: nobody misses the others.
#[test]
fn what_the_bounds_cost_is_counted() {
    for (max_transitions, want) in [(100, 0), (2, 1)] {
        let config = EngineConfig { max_transitions, ..EngineConfig::default() };
        let mut engine = Engine::new(config, names());
        engine.push(Event::Occupancy(window()));
        assert_eq!(engine.loss().get(LossReason::OccupancyOverrun), 0);
        // Nothing that is still to come can complete it: it does not wait.
        engine.push(event(path(DISK, "target", 1000, 1000)));
        let kind = if want == 0 { CauseKind::PreemptOff } else { CauseKind::Unexplained };
        assert_eq!(kinds(&engine.drain()), [kind], "{max_transitions}");
        assert_eq!(engine.loss().get(LossReason::OccupancyOverrun), want, "{max_transitions}");
    }
}

#[test]
fn new_maxima_and_long_paths_are_wanted() {
    let mut wanted = Wanted::new(Some(100), Some(2));
    let rows = [
        (DISK, "a", 50, true),   // first of its path
        (DISK, "a", 50, false),  // no new maximum
        (DISK, "a", 60, true),   // new maximum
        (DISK, "b", 10, true),   // first of another path
        (DISK, "a", 200, true),  // over the threshold
        (DISK, "a", 100, true),  // not below the threshold, second slowest
        (DISK, "a", 100, false), // two slower ones are known
        (DISK, "a", 150, true),  // takes the place of the second slowest
        (NIC, "a", 120, true),   // not among the slowest, but first of its path
        (DISK, "a", 120, false),
    ];
    for (at, (origin, comm, total, want)) in rows.into_iter().enumerate() {
        assert_eq!(wanted.admit_record(&path(origin, comm, 0, total)), want, "row {at}");
    }
    assert_eq!(wanted.nr_over(), 6);
}

#[test]
fn without_a_threshold_only_maxima_are_wanted() {
    let mut wanted = Wanted::new(None, None);
    assert!(wanted.admit_record(&path(DISK, "a", 0, 500)));
    assert!(!wanted.admit_record(&path(DISK, "a", 0, 400)));
    assert_eq!(wanted.nr_over(), 0);
}

#[test]
fn the_keeper_keeps_the_slowest_of_each_path_and_of_all() {
    let mut keeper = SlowKeeper::new(4);
    for (origin, comm, total) in [
        (DISK, "a", 900),
        (DISK, "a", 800),
        (NIC, "a", 10),
        (DISK, "b", 20),
        (DISK, "a", 850),
        (NIC, "a", 15),
        (DISK, "a", 100),
    ] {
        keeper.add_path(SlowPath { record: path(origin, comm, 0, total), stages: Vec::new() });
    }
    let totals: Vec<u64> = keeper.into_vec().iter().map(|p| p.record.total_ns()).collect();
    assert_eq!(totals, [900, 850, 20, 15]);
}

#[test]
fn names_within_one_cgroup_leave_room_for_the_others() {
    let mut keeper = SlowKeeper::new(3);
    for (cgroup, comm, total) in
        [(7, "a", 900), (7, "b", 800), (7, "c", 700), (8, "a", 10), (9, "a", 20)]
    {
        let record = PathRecord { cgroup: Some(cgroup), ..path(DISK, comm, 0, total) };
        keeper.add_path(SlowPath { record, stages: Vec::new() });
    }
    let kept: Vec<_> =
        keeper.iter().map(|p| (p.record.cgroup.unwrap(), p.record.total_ns())).collect();
    assert_eq!(kept, [(7, 900), (9, 20), (8, 10)]);
}

#[test]
fn what_a_system_call_does_itself_is_shown_and_not_ranked() {
    // Both are over the threshold: `cp` ran after 30 and stayed in the kernel for 900.
    let mut own = path(DISK, "cp", 0, 30);
    own.stamps[Point::User.index()] = Some(Stamp { ns: 930, cpu: 0 });
    let late = path(DISK, "late", 0, 400);
    assert_eq!((own.total_ns(), own.until_running_ns()), (930, 30));
    let mut wanted = Wanted::new(Some(100), Some(1));
    assert!(wanted.admit_record(&own) && wanted.admit_record(&late));
    assert_eq!(wanted.nr_over(), 2);
    assert!(!wanted.admit_record(&own), "neither a maximum of its path nor among the slowest");
    let slow = |record: &PathRecord| SlowPath { record: record.clone(), stages: Vec::new() };
    let mut keeper = SlowKeeper::new(1);
    keeper.add_path(slow(&late));
    keeper.add_path(slow(&own));
    assert_eq!(keeper.into_vec(), [slow(&late)]);
    let mut accumulator = Accumulator::new();
    accumulator.record(&own);
    accumulator.record(&late);
    let snapshot = Snapshot { paths: accumulator.stats(), ..Snapshot::default() };
    let summary = summarize_paths(snapshot, vec![slow(&own), slow(&late)], over(2, 100), &names());
    let ranks: Vec<_> = summary
        .traced()
        .paths
        .iter()
        .map(|p| (p.key.comm.as_str(), p.slowest_ns, p.total.max_ns))
        .collect();
    assert_eq!(ranks, [("late", 400, 400), ("cp", 30, 930)]);
    assert_eq!(summary.slow(), [slow(&late), slow(&own)]);
}

fn over(nr_slow: u64, threshold_ns: u64) -> Judged {
    Judged { threshold_ns: Some(threshold_ns), nr_slow, nr_slow_by_hypervisor: 0 }
}

#[test]
fn the_summary_has_the_slowest_path_first() {
    let mut accumulator = Accumulator::new();
    for (origin, comm, total) in
        [(DISK, "a", 100), (NIC, "a", 900), (DISK, "a", 300), (DISK, "b", 500)]
    {
        accumulator.record(&path(origin, comm, 0, total));
    }
    assert_eq!(accumulator.nr_records(), 4);
    let snapshot = Snapshot { paths: accumulator.stats(), ..Snapshot::default() };
    let slow = [100, 900]
        .map(|total| SlowPath { record: path(DISK, "a", 0, total), stages: Vec::new() })
        .to_vec();
    let summary = summarize_paths(snapshot, slow, over(7, 90), &names());
    let rows: Vec<_> = summary
        .traced()
        .paths
        .iter()
        .map(|p| (p.origin_name.as_str(), p.key.comm.as_str(), p.total.n, p.total.max_ns))
        .collect();
    assert_eq!(
        rows,
        [("40", "a", 1, 900), ("36:virtio1-req.0", "b", 1, 500), ("36:virtio1-req.0", "a", 2, 300),]
    );
    assert_eq!(summary.slow()[0].record.total_ns(), 900);
    assert_eq!((summary.traced().nr_slow, summary.traced().threshold_ns), (7, Some(90)));
}

fn counts(
    cpus: &[u16],
    interrupts: &[(&str, &[u64])],
    softirqs: &[(&str, &[u64])],
) -> InterruptCounts {
    let rows = |rows: &[(&str, &[u64])]| -> BTreeMap<String, Vec<u64>> {
        rows.iter().map(|(label, row)| ((*label).to_owned(), row.to_vec())).collect()
    };
    InterruptCounts { cpus: cpus.to_vec(), interrupts: rows(interrupts), softirqs: rows(softirqs) }
}

#[test]
fn counts_between_follow_hotplug_and_wrapping() {
    let before =
        counts(&[0, 1], &[("36", &[5, 7]), ("LOC", &[4_294_967_290, 9])], &[("RCU", &[1])]);
    let after = counts(
        &[1, 2],
        &[("36", &[10, 2]), ("LOC", &[3, 1]), ("40", &[4, 4])],
        &[("RCU", &[4, 2])],
    );
    let between = counts_between(&before, &after);
    assert_eq!(between.cpus, [1, 2]);
    assert_eq!(between.interrupts["36"], [3, 2]);
    assert_eq!(between.interrupts["LOC"], [3, 1], "a counter that went back started again");
    assert_eq!(between.interrupts["40"], [4, 4]);
    assert_eq!(between.softirqs["RCU"], [3, 2]);
    let wrapped = counts(&[0, 1], &[("LOC", &[4, 9])], &[]);
    assert_eq!(counts_between(&before, &wrapped).interrupts["LOC"], [10, 0]);
}

#[test]
fn our_counts_stand_beside_the_kernel_s() {
    let line = |origin, cpu, nr| LineStats { origin, cpu, nr, run_ns: 0, max_run_ns: 0 };
    let lines = [
        line(DISK, 0, 3),
        line(DISK, 1, 4),
        line(Origin::Vector(Vector::CallFunction), 0, 2),
        line(Origin::Vector(Vector::CallFunctionSingle), 0, 5),
    ];
    let softirqs = [SoftirqStats {
        vec: SoftirqVec::NetRx,
        cpu: 0,
        nr: 6,
        run_ns: 0,
        max_run_ns: 0,
        delay_ns: 0,
        max_delay_ns: 0,
    }];
    let before = counts(&[0, 1], &[("36", &[1, 1]), ("CAL", &[0, 0])], &[("NET_RX", &[1, 1])]);
    let after = counts(
        &[0, 1],
        &[("36", &[4, 5]), ("CAL", &[8, 0]), ("NMI", &[9, 9]), ("7", &[1, 0]), ("RES", &[0, 0])],
        &[("NET_RX", &[5, 3]), ("HI", &[0, 0])],
    );
    let checks = compare_counts(&before, &after, &lines, &softirqs);
    let check = |label: &str, ours, kernel| CountCheck { label: label.to_owned(), ours, kernel };
    assert_eq!(
        checks,
        [check("36", 7, 7), check("7", 0, 1), check("CAL", 7, 8), check("NET_RX", 6, 6)]
    );
    assert_eq!(checks[2].abs_difference(), 1);
}
