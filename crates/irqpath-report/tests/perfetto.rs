// SPDX-License-Identifier: GPL-2.0-or-later
//! The trace is read back as a reader does (`perfetto_support`), and compared with what went in.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;
mod perfetto_support;

use common::{any_record, names, record, task};
use irqpath_model::{
    Occupancy, Origin, PathRecord, Point, SoftirqVec, StageSpan, Transition, Vector,
};
use irqpath_report::perfetto::PerfettoWriter;
use perfetto_support::{Read, Slice, Step, read, without_number};
use proptest::prelude::*;

fn traced(records: &[PathRecord], occupancy: &[Occupancy]) -> Read {
    let mut writer = PerfettoWriter::new(Vec::new());
    for record in records {
        writer.write_path(record, &names()).unwrap();
    }
    writer.write_occupancy(occupancy, &names()).unwrap();
    read(&writer.finish().unwrap())
}

fn path_name(record: &PathRecord) -> String {
    format!("{} \u{2192} {}", names().origin(record.origin), record.target.comm)
}

/// The steps of a record's flow.
fn steps(record: &PathRecord) -> Vec<Step> {
    let spans = record.stages();
    let step = |(i, span): (usize, &StageSpan)| Step {
        cpu: format!("CPU {}", span.end.cpu),
        stage: span.to.stage_title().to_owned(),
        name: path_name(record),
        start: span.start.ns,
        is_last: i + 1 == spans.len(),
    };
    spans.iter().enumerate().map(step).collect()
}

/// Every stage of every record is one slice on a track of its CPU and stage, no slice lies in
/// another, and a flow leads through all stages of each record that has more than one.
fn check(records: &[PathRecord]) {
    let trace = traced(records, &[]);
    let mut want: Vec<(String, String, String, u64, u64)> = records
        .iter()
        .flat_map(|r| r.stages().into_iter().map(move |s| (r, s)))
        .map(|(r, s)| {
            let (cpu, stage) = (format!("CPU {}", s.end.cpu), s.to.stage_title().to_owned());
            (cpu, stage, path_name(r), s.start.ns, s.end.ns)
        })
        .collect();
    let of = |s: &Slice| {
        let stage = without_number(&s.track).to_owned();
        (s.cpu.clone(), stage, s.name.clone(), s.start, s.end)
    };
    let mut got: Vec<_> = trace.slices.iter().map(of).collect();
    want.sort();
    got.sort();
    assert_eq!(got, want);
    assert!(trace.slices.iter().all(|s| s.depth == 0));
    let with_flow = records.iter().map(steps).filter(|steps| steps.len() > 1);
    let flows: Vec<_> = trace.flows.into_values().collect();
    assert_eq!(flows, with_flow.collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn slices_nest_and_flows_terminate(
        records in prop::collection::vec(any_record(), 0..30), same_cpus in any::<bool>(),
    ) {
        let mut records = records;
        if same_cpus {
            // Few CPUs and short times: many ties and overlaps.
            for stamp in records.iter_mut().flat_map(|r| r.stamps.iter_mut().flatten()) {
                stamp.cpu %= 2;
                stamp.ns %= 64;
            }
        }
        check(&records);
    }

    #[test]
    fn any_occupancy_nests(
        steps in prop::collection::vec((0u8..7, 0u64..40, 0u64..30, 0u16..2), 0..120),
    ) {
        let mut at = 0;
        let transitions: Vec<_> = steps.into_iter().map(|(kind, dt, seq, cpu)| {
            at += dt;
            Occupancy { ns: at, cpu, seq, what: transition(kind, dt) }
        }).collect();
        traced(&[], &transitions);
    }
}

fn transition(kind: u8, n: u64) -> Transition {
    match kind {
        0 => Transition::HardirqEntry(Origin::Vector(Vector::LocalTimer)),
        1 => Transition::HardirqExit,
        2 => Transition::SoftirqEntry(SoftirqVec::NetRx),
        3 => Transition::SoftirqExit,
        4 => Transition::SwitchIn(task(n as u32 % 3, "worker", 120)),
        5 => Transition::Stolen { duration_ns: n },
        _ => Transition::NmiEnd { duration_ns: n },
    }
}

#[test]
fn each_stage_lies_on_its_own_track_of_its_cpu() {
    let trace = traced(&[record()], &[]);
    let mut slices: Vec<_> = trace.slices.iter().collect();
    slices.sort_by_key(|s| s.start);
    let tracks: Vec<_> = slices.iter().map(|s| (s.cpu.as_str(), s.track.as_str())).collect();
    assert_eq!(
        tracks,
        [
            ("CPU 0", "handler to softirq raise"),
            ("CPU 0", "softirq delay"),
            ("CPU 0", "handler to wakeup"),
            ("CPU 1", "scheduling latency"),
            ("CPU 1", "return to user"),
        ]
    );
    assert!(slices.iter().all(|s| s.name == "36:virtio1-req.0 \u{2192} fio"));
    assert!(slices.windows(2).all(|w| w[0].end == w[1].start));
    assert_eq!(trace.flows[&1], steps(&record()));
    let descriptors = trace.packets.iter().filter_map(|p| p.track_descriptor.as_ref());
    let ranks: Vec<_> = descriptors
        .filter(|d| d.name.as_ref().is_some_and(|name| tracks.iter().any(|(_, t)| t == name)))
        .map(|d| d.sibling_order_rank.unwrap())
        .collect();
    assert!(ranks.is_sorted() && ranks[0] > 3, "below what ran, in the order of a path: {ranks:?}");
}

#[test]
fn a_flow_goes_through_a_stage_that_took_no_time() {
    let mut instant = record();
    let raised = instant.stamps[Point::SoftirqRaise.index()];
    instant.stamps[Point::Softirq.index()] = raised;
    instant.stamps[Point::Waking.index()] = raised;
    check(&[instant.clone(), record(), instant]);
}

#[test]
fn a_path_of_one_stage_has_no_flow() {
    let mut short = record();
    for point in &Point::ALL[..Point::SwitchIn.index()] {
        short.stamps[point.index()] = None;
    }
    check(&[short.clone()]);
    assert!(traced(&[short], &[]).flows.is_empty());
}

#[test]
fn events_before_our_clock_keep_their_time() {
    let (mut early, mut late) = (record(), record());
    early.stamps.iter_mut().flatten().for_each(|s| s.ns -= 900_000_000);
    late.stamps.iter_mut().flatten().for_each(|s| s.ns += 9_000_000_000);
    check(&[late, early]);
}

#[test]
fn targets_that_wait_at_once_take_overflow_tracks_and_give_them_back() {
    let (mut second, mut third) = (record(), record());
    second.stamps.iter_mut().flatten().for_each(|s| s.ns += 100_000);
    third.stamps.iter_mut().flatten().for_each(|s| s.ns += 1_000_000);
    let records = [record(), second, third];
    check(&records);
    let trace = traced(&records, &[]);
    let on = |track: &str| trace.slices.iter().filter(|s| s.track == track).count();
    let waits = ["scheduling latency", "scheduling latency #2", "scheduling latency #3"];
    assert_eq!(waits.map(on), [2, 1, 0]);
    assert_eq!(["softirq delay", "softirq delay #2"].map(on), [3, 0], "these did not overlap");
}

fn occ(ns: u64, seq: u64, what: Transition) -> Occupancy {
    Occupancy { ns, cpu: 0, seq, what }
}

#[test]
fn repeated_transitions_are_drawn_once_and_nothing_is_drawn_over_a_gap() {
    let timer = || Transition::HardirqEntry(Origin::Vector(Vector::LocalTimer));
    let block = [
        occ(10, 1, Transition::SwitchIn(task(7, "worker", 120))),
        occ(20, 2, timer()),
        occ(25, 0, Transition::NmiEnd { duration_ns: 3 }),
        occ(30, 3, Transition::HardirqExit),
        occ(39, 4, Transition::Stolen { duration_ns: 8 }),
        occ(40, 5, Transition::SoftirqEntry(SoftirqVec::NetRx)),
    ];
    let mut all = block.to_vec();
    all.extend(block);
    all.push(occ(900, 9, Transition::SwitchIn(task(0, "swapper/0", 140))));
    let got: Vec<_> =
        traced(&[], &all).slices.into_iter().map(|s| (s.track, s.name, s.start, s.end)).collect();
    let slice = |track: &str, name: &str, start, end| {
        (format!("CPU 0 {track}"), name.to_owned(), start, end)
    };
    assert_eq!(
        got,
        [
            slice("hardirq", "LOC:local_timer", 20, 30),
            slice("nmi", "nmi", 22, 25),
            slice("softirq", "net_rx", 40, 40),
            slice("stolen", "stolen", 31, 39),
            slice("task", "worker:7", 10, 40),
        ]
    );
}

#[test]
fn an_empty_trace_still_names_its_clock() {
    let trace = traced(&[], &[]);
    assert!(trace.slices.is_empty());
    let snapshot = trace.packets[0].clock_snapshot.as_ref().unwrap();
    assert_eq!(snapshot.primary_trace_clock, Some(3));
}

#[test]
fn more_names_than_the_state_holds_start_it_anew() {
    let mut writer = PerfettoWriter::new(Vec::new());
    for tid in 1..70_000 {
        let switch = Transition::SwitchIn(task(tid, "short", 120));
        writer.write_occupancy(&[occ(tid.into(), tid.into(), switch)], &names()).unwrap();
    }
    let trace = read(&writer.finish().unwrap());
    let clears = trace.packets.iter().filter(|p| p.sequence_flags == Some(1)).count();
    assert_eq!((trace.slices.len(), clears), (69_999, 2));
    let last = trace.slices.iter().max_by_key(|s| s.start);
    assert_eq!(last.map(|s| s.name.as_str()), Some("short:69999"));
}

#[test]
fn hosts_are_processes_and_their_times_are_moved() {
    use irqpath_model::record::{Blocked, KernelStack};
    use irqpath_report::perfetto::proto::{SLICE_BEGIN, Trace};
    use prost::Message as _;

    let stack = |cpu, from_ns, until_ns| KernelStack {
        cpu,
        from_ns,
        until_ns,
        why: Blocked::Cpu,
        tid: 5,
        comm: "worker".into(),
        waiter: 6,
        frames: vec![1],
    };
    let functions = [(1, "schedule".to_owned())].into();
    let mut writer = PerfettoWriter::new(Vec::new());
    writer.begin_machine("a\u{9b}", 0).unwrap();
    writer.write_stacks(&[stack(0, 9_000_000_000, 9_000_000_100)], &functions).unwrap();
    writer.begin_machine("b", -4_000_000_000).unwrap();
    let overlapping =
        [stack(0, 13_000_000_000, 13_000_000_100), stack(0, 13_000_000_050, 13_000_000_300)];
    writer.write_stacks(&overlapping, &functions).unwrap();
    let trace = Trace::decode(writer.finish().unwrap().as_slice()).unwrap();
    let tracks: Vec<_> = trace.packet.iter().filter_map(|p| p.track_descriptor.as_ref()).collect();
    let processes: Vec<_> = tracks.iter().filter_map(|track| track.process.as_ref()).collect();
    let names: Vec<&str> = processes.iter().map(|process| process.process_name()).collect();
    assert_eq!(names, ["a\\u{9b}", "b"]);
    // Times count from two seconds before the first one.
    let begins: Vec<u64> = trace
        .packet
        .iter()
        .filter(|p| p.track_event.as_ref().is_some_and(|event| event.r#type() == SLICE_BEGIN))
        .filter_map(|p| p.timestamp)
        .collect();
    assert_eq!(begins, [2_000_000_000, 2_000_000_000, 2_000_000_100]);
    let uuids: std::collections::BTreeSet<_> = tracks.iter().map(|track| track.uuid()).collect();
    assert_eq!(uuids.len(), tracks.len(), "no two tracks share a number");
}
