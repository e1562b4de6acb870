// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads a trace as Perfetto's own reader does: packets in the order of the file for what is
//! incremental, events sorted by time, equal times in the order of the file.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::collections::{BTreeMap, BTreeSet, HashMap};

use irqpath_report::perfetto::proto::{
    InternedString, SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, SLICE_BEGIN,
    SLICE_END, Trace, TracePacket,
};
use prost::Message;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slice {
    /// The name of the track above: the CPU.
    pub cpu: String,
    pub track: String,
    pub name: String,
    pub start: u64,
    pub end: u64,
    pub depth: usize,
}

/// A slice that a flow goes through, in the order of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    pub cpu: String,
    /// Without the number of an overflow track.
    pub stage: String,
    pub name: String,
    pub start: u64,
    pub is_last: bool,
}

pub struct Read {
    pub slices: Vec<Slice>,
    pub flows: BTreeMap<u64, Vec<Step>>,
    pub packets: Vec<TracePacket>,
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

/// The stage that a track shows: overflow tracks are `stage #2`, `stage #3`.
pub fn without_number(track: &str) -> &str {
    track.split_once(" #").map_or(track, |(stage, _)| stage)
}

pub fn read(bytes: &[u8]) -> Read {
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
    let siblings: BTreeSet<_> = tracks.iter().map(|(uuid, name)| (parents[uuid], name)).collect();
    assert_eq!(siblings.len(), tracks.len(), "readers merge siblings of one name");
    let cpu = |uuid: u64| tracks[&parents[&uuid].unwrap()].clone();
    let mut events = named_events(&packets);
    events.sort_by_key(|(_, ns, _)| *ns);
    let mut open: HashMap<u64, Vec<(String, u64)>> = HashMap::new();
    let mut slices = Vec::new();
    let mut flows: BTreeMap<u64, Vec<Step>> = BTreeMap::new();
    for (packet, ns, name) in events {
        let event = packet.track_event.as_ref().unwrap();
        let uuid = event.track_uuid.unwrap();
        let stack = open.entry(uuid).or_default();
        match event.r#type.unwrap() {
            SLICE_BEGIN => {
                let name = name.unwrap();
                let step = |is_last| Step {
                    cpu: cpu(uuid),
                    stage: without_number(&tracks[&uuid]).to_owned(),
                    name: name.clone(),
                    start: ns,
                    is_last,
                };
                for id in &event.flow_ids {
                    flows.entry(*id).or_default().push(step(false));
                }
                for id in &event.terminating_flow_ids {
                    flows.entry(*id).or_default().push(step(true));
                }
                stack.push((name, ns));
            }
            SLICE_END => {
                let (name, start) = stack.pop().expect("an end has a begin");
                let end = ns;
                slices.push(Slice {
                    cpu: cpu(uuid),
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
