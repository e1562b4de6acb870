// SPDX-License-Identifier: GPL-2.0-or-later
//! The trace is read back as a reader does: packets sorted by time, equal times in file order.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::collections::{BTreeMap, HashMap};

use common::{any_record, names, record, task};
use irqpath_model::{Occupancy, Origin, PathRecord, SoftirqVec, Transition, Vector};
use irqpath_report::perfetto::PerfettoWriter;
use irqpath_report::perfetto::proto::{SLICE_BEGIN, SLICE_END, Trace, TracePacket};
use proptest::prelude::*;
use prost::Message;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Slice {
    track: String,
    name: String,
    start: u64,
    end: u64,
    depth: usize,
}

struct Read {
    slices: Vec<Slice>,
    /// Flow id to the slices' names in order, and whether each one terminates it.
    flows: BTreeMap<u64, Vec<(String, bool)>>,
    packets: Vec<TracePacket>,
}

fn read(bytes: &[u8]) -> Read {
    let packets = Trace::decode(bytes).unwrap().packet;
    let mut tracks = HashMap::new();
    let mut parents = HashMap::new();
    for d in packets.iter().filter_map(|p| p.track_descriptor.as_ref()) {
        let old = tracks.insert(d.uuid.unwrap(), d.name.clone().unwrap());
        assert_eq!(old, None, "a track is described once");
        parents.insert(d.uuid.unwrap(), d.parent_uuid);
    }
    for parent in parents.values().flatten() {
        assert!(tracks.contains_key(parent), "a parent is described");
    }
    let mut events: Vec<_> = packets.iter().filter(|p| p.track_event.is_some()).collect();
    events.sort_by_key(|p| p.timestamp.unwrap());
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    let mut slices = Vec::new();
    let mut flows: BTreeMap<u64, Vec<(String, bool)>> = BTreeMap::new();
    for packet in events {
        assert_eq!(packet.timestamp_clock_id, Some(3));
        let event = packet.track_event.as_ref().unwrap();
        let uuid = event.track_uuid.unwrap();
        let stack = open.entry(uuid).or_default();
        match event.r#type.unwrap() {
            SLICE_BEGIN => {
                let name = event.name.clone().unwrap();
                for id in &event.flow_ids {
                    flows.entry(*id).or_default().push((name.clone(), false));
                }
                for id in &event.terminating_flow_ids {
                    flows.entry(*id).or_default().push((name.clone(), true));
                }
                stack.push((name, packet.timestamp.unwrap()));
            }
            SLICE_END => {
                let (name, start) = stack.pop().expect("an end has a begin");
                let end = packet.timestamp.unwrap();
                slices.push(Slice {
                    track: tracks[&uuid].clone(),
                    name,
                    start,
                    end,
                    depth: stack.len(),
                });
            }
            other => panic!("event type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "a begin has an end");
    slices.sort();
    Read { slices, flows, packets }
}

fn traced(records: &[PathRecord], occupancy: &[Occupancy]) -> Read {
    let mut writer = PerfettoWriter::new(Vec::new());
    for record in records {
        writer.path(record, &names()).unwrap();
    }
    writer.occupancy(occupancy, &names()).unwrap();
    read(&writer.finish().unwrap())
}

/// Every stage of every record appears as it is, inside a slice of its path, and flows join them.
fn check(records: &[PathRecord]) {
    let trace = traced(records, &[]);
    let mut want: Vec<(String, u64, u64)> = records
        .iter()
        .flat_map(PathRecord::stages)
        .map(|s| (s.to.stage_title().to_owned(), s.start.ns, s.end.ns))
        .collect();
    let inner = trace.slices.iter().filter(|s| s.depth == 1);
    let mut got: Vec<_> = inner.map(|s| (s.name.clone(), s.start, s.end)).collect();
    want.sort();
    got.sort();
    assert_eq!(got, want);
    assert!(trace.slices.iter().all(|s| s.depth < 2));
    let nr_flows = records.iter().filter(|r| r.stages().len() > 1).count();
    assert_eq!(trace.flows.len(), nr_flows);
    for steps in trace.flows.values() {
        let ends: Vec<bool> = steps.iter().map(|(_, last)| *last).collect();
        assert!(ends.len() > 1 && ends[ends.len() - 1], "a flow terminates");
        assert!(ends[..ends.len() - 1].iter().all(|last| !last), "a flow terminates once");
    }
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
        steps in prop::collection::vec((0u8..6, 0u64..40, 0u64..30, 0u16..2), 0..120),
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
        _ => Transition::NmiEnd { duration_ns: n },
    }
}

#[test]
fn a_path_over_two_cpus_has_a_segment_on_each() {
    let trace = traced(&[record()], &[]);
    let outer: Vec<_> = trace.slices.iter().filter(|s| s.depth == 0).collect();
    let tracks: Vec<_> = outer.iter().map(|s| s.track.as_str()).collect();
    assert_eq!(tracks, ["CPU 0 stages", "CPU 1 stages"]);
    assert_eq!(outer[0].name, "36:virtio1-req.0 \u{2192} fio");
    assert_eq!(outer[0].end, outer[1].start);
    let steps: Vec<_> = trace.flows[&1].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        steps,
        [
            "handler to softirq raise",
            "softirq delay",
            "handler to wakeup",
            "scheduling latency",
            "return to user"
        ]
    );
}

#[test]
fn overlapping_paths_take_lanes_and_give_them_back() {
    let (mut second, mut third) = (record(), record());
    second.stamps.iter_mut().flatten().for_each(|s| s.ns += 1_000);
    third.stamps.iter_mut().flatten().for_each(|s| s.ns += 900_000);
    let trace = traced(&[record(), second, third], &[]);
    let on = |track: &str| trace.slices.iter().filter(|s| s.track == track && s.depth == 0).count();
    assert_eq!((on("CPU 1 stages"), on("CPU 1 stages #2"), on("CPU 1 stages #3")), (2, 1, 0));
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
        occ(40, 4, Transition::SoftirqEntry(SoftirqVec::NetRx)),
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
