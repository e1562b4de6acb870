// SPDX-License-Identifier: GPL-2.0-or-later
//! The trace is read back as a reader does: packets sorted by time, equal times in file order.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use std::collections::{BTreeMap, HashMap};

use common::{any_record, names, record, task};
use irqpath_model::{Occupancy, Origin, PathRecord, SoftirqVec, Transition, Vector};
use irqpath_report::perfetto::PerfettoWriter;
use irqpath_report::perfetto::proto::{
    InternedString, SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, SLICE_BEGIN,
    SLICE_END, Trace, TracePacket,
};
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

/// One index of interned strings: what the present state holds, and what was ever meant.
#[derive(Default)]
struct Index {
    now: HashMap<u64, String>,
    ever: HashMap<u64, String>,
}

impl Index {
    fn add(&mut self, new: &[InternedString]) {
        for InternedString { iid, str } in new {
            let (iid, text) = (iid.unwrap(), str.clone().unwrap());
            assert_ne!(iid, 0, "0 means not set");
            let old = self.ever.insert(iid, text.clone());
            assert!(old.is_none(), "{iid} is {old:?} and {text}");
            self.now.insert(iid, text);
        }
    }

    fn get(&self, iid: u64) -> String {
        self.now.get(&iid).unwrap_or_else(|| panic!("{iid} is used before it is defined")).clone()
    }
}

/// The events and their names, by the rules of incremental state, in the order of the file.
fn named_events(packets: &[TracePacket]) -> Vec<(&TracePacket, u64, Option<String>)> {
    let mut clock = None;
    let snapshot = packets[0].clock_snapshot.as_ref().unwrap();
    let [base, zero] = [3, 64].map(|id| {
        snapshot.clocks.iter().find(|c| c.clock_id == Some(id)).unwrap().timestamp.unwrap()
    });
    assert_eq!(zero, 0);
    let mut indexes: [Index; 4] = Default::default();
    let mut events = Vec::new();
    for packet in packets {
        assert_eq!(packet.trusted_packet_sequence_id, Some(1));
        let flags = packet.sequence_flags.unwrap_or(0);
        if flags & SEQ_INCREMENTAL_STATE_CLEARED != 0 {
            clock = None;
            for index in &mut indexes {
                index.now.clear();
            }
        }
        if let Some(defaults) = &packet.trace_packet_defaults {
            clock = defaults.timestamp_clock_id;
        }
        if let Some(new) = &packet.interned_data {
            indexes[0].add(&new.event_categories);
            indexes[1].add(&new.event_names);
            indexes[2].add(&new.debug_annotation_names);
            indexes[3].add(&new.debug_annotation_string_values);
        }
        let Some(event) = &packet.track_event else { continue };
        let ns = match packet.timestamp_clock_id.or(clock) {
            Some(3) => packet.timestamp.unwrap(),
            Some(64) => base + packet.timestamp.unwrap(),
            other => panic!("clock {other:?} was not described"),
        };
        assert_ne!(flags & SEQ_NEEDS_INCREMENTAL_STATE, 0, "what uses the state says so");
        for iid in &event.category_iids {
            indexes[0].get(*iid);
        }
        for annotation in &event.debug_annotations {
            indexes[2].get(annotation.name_iid.unwrap());
            annotation.string_value_iid.map(|iid| indexes[3].get(iid));
        }
        events.push((packet, ns, event.name_iid.map(|iid| indexes[1].get(iid))));
    }
    events
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
    let mut events = named_events(&packets);
    events.sort_by_key(|(_, ns, _)| *ns);
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    let mut slices = Vec::new();
    let mut flows: BTreeMap<u64, Vec<(String, bool)>> = BTreeMap::new();
    for (packet, ns, name) in events {
        let event = packet.track_event.as_ref().unwrap();
        let uuid = event.track_uuid.unwrap();
        let stack = open.entry(uuid).or_default();
        match event.r#type.unwrap() {
            SLICE_BEGIN => {
                let name = name.unwrap();
                for id in &event.flow_ids {
                    flows.entry(*id).or_default().push((name.clone(), false));
                }
                for id in &event.terminating_flow_ids {
                    flows.entry(*id).or_default().push((name.clone(), true));
                }
                stack.push((name, ns));
            }
            SLICE_END => {
                let (name, start) = stack.pop().expect("an end has a begin");
                let end = ns;
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
    let is_split = |r: &&PathRecord| r.stages().windows(2).any(|w| w[0].end.cpu != w[1].end.cpu);
    let nr_flows = records.iter().filter(is_split).count();
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
    let path = "36:virtio1-req.0 \u{2192} fio".to_owned();
    assert_eq!(trace.flows[&1], [(path.clone(), false), (path, true)]);
}

#[test]
fn events_before_our_clock_keep_their_time() {
    let (mut early, mut late) = (record(), record());
    early.stamps.iter_mut().flatten().for_each(|s| s.ns -= 900_000_000);
    late.stamps.iter_mut().flatten().for_each(|s| s.ns += 9_000_000_000);
    check(&[late, early]);
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

#[test]
fn more_names_than_the_state_holds_start_it_anew() {
    let mut writer = PerfettoWriter::new(Vec::new());
    for tid in 1..70_000 {
        let switch = Transition::SwitchIn(task(tid, "short", 120));
        writer.occupancy(&[occ(tid.into(), tid.into(), switch)], &names()).unwrap();
    }
    let trace = read(&writer.finish().unwrap());
    let clears = trace.packets.iter().filter(|p| p.sequence_flags == Some(1)).count();
    assert_eq!((trace.slices.len(), clears), (69_999, 2));
    let last = trace.slices.iter().max_by_key(|s| s.start);
    assert_eq!(last.map(|s| s.name.as_str()), Some("short:69999"));
}
