// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets and tracks: writes one packet at a time, and describes a track before its first event.
//!
//! A trace file is one `Trace` message; its packets are length-delimited fields with tag 1, so
//! that the file can be streamed. Names and categories are interned (`intern`), the clock is a
//! default of the sequence: a packet that relies on either says that it needs the incremental
//! state, and the first packet of the sequence starts that state. Events of one track must be
//! written in the order of time, with an end before a begin at the same nanosecond: readers sort
//! by time and keep the order of the file where times are equal.

use std::collections::HashMap;
use std::io::{self, Write};

use irqpath_model::Point;
use prost::Message as _;

use super::intern::Interned;
use super::proto::{
    CLOCK_MONOTONIC, Clock, ClockSnapshot, ORDERING_EXPLICIT, ProcessDescriptor,
    SEQ_INCREMENTAL_STATE_CLEARED, SEQ_NEEDS_INCREMENTAL_STATE, SLICE_BEGIN, SLICE_END,
    TracePacket, TracePacketDefaults, TrackDescriptor,
};
use super::wire::Put as _;

/// Parent of all tracks.
const ROOT: u64 = 1;
/// Our one sequence of packets.
const SEQUENCE: u32 = 1;
/// Our own clock: `CLOCK_MONOTONIC` less the time that most events are after, so that times are
/// short. Ids from 64 to 127 belong to the sequence that describes them.
const OUR_CLOCK: u32 = 64;
/// How long before the first event written an event may lie and still use our clock, ns:
/// transitions come up to a second or so after the paths that need them.
const MARGIN_NS: u64 = 2_000_000_000;
/// Bytes gathered before they are written.
const BATCH: usize = 64 << 10;

/// Overflow tracks of one stage that are still ordered among themselves.
const MAX_LANES: u32 = 1 << 16;

/// A row under a CPU, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Row {
    Stolen,
    Nmi,
    Hardirq,
    Softirq,
    Task,
    /// Who blocked a path here, if stacks were taken.
    Blocked,
    /// A stage of paths, and how many tracks of it are above this one.
    Stage(Point, u32),
}

impl Row {
    fn track_rank(self) -> u32 {
        match self {
            Self::Stolen => 0,
            Self::Nmi => 1,
            Self::Hardirq => 2,
            Self::Softirq => 3,
            Self::Task => 4,
            Self::Blocked => 5,
            Self::Stage(stage, lane) => {
                6 + (stage.index() as u32) * MAX_LANES + lane.min(MAX_LANES - 1)
            }
        }
    }

    /// Distinct under one CPU: readers merge siblings of the same name.
    fn track_name(self, cpu: u16) -> String {
        match self {
            Self::Stolen => format!("CPU {cpu} stolen"),
            Self::Nmi => format!("CPU {cpu} nmi"),
            Self::Hardirq => format!("CPU {cpu} hardirq"),
            Self::Softirq => format!("CPU {cpu} softirq"),
            Self::Task => format!("CPU {cpu} task"),
            Self::Blocked => format!("CPU {cpu} blocked by"),
            Self::Stage(stage, 0) => stage.stage_title().to_owned(),
            Self::Stage(stage, lane) => format!("{} #{}", stage.stage_title(), lane + 1),
        }
    }
}

/// One row of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Track {
    pub cpu: u16,
    pub row: Row,
}

/// A value shown with a slice.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(u64),
}

/// What a slice shows.
#[derive(Debug, Default)]
pub(super) struct Slice<'a> {
    pub name: &'a str,
    /// None where the row says it.
    pub category: Option<&'static str>,
    pub annotations: &'a [(&'static str, Value<'a>)],
    /// A flow that goes on from here.
    pub flow: Option<u64>,
    /// A flow that ends here.
    pub last_flow: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Sink<W: Write> {
    out: W,
    /// Packets that are not written yet.
    buffer: Vec<u8>,
    packet: Vec<u8>,
    event: Vec<u8>,
    annotation: Vec<u8>,
    interned: Interned,
    /// Uuids of the tracks that have been described, in that order: short ones, as each event
    /// has one.
    tracks: HashMap<Track, u64>,
    cpus: HashMap<u16, u64>,
    last_uuid: u64,
    /// Where our clock is 0; none before the first event.
    base_ns: Option<u64>,
    /// Parent of the CPUs: that of this machine.
    root: u64,
    /// Its description, until the first of its tracks is described.
    machine: Option<TrackDescriptor>,
    /// What is added to each time.
    shift_ns: i64,
}

impl<W: Write> Sink<W> {
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BATCH + 4096),
            packet: Vec::new(),
            event: Vec::new(),
            annotation: Vec::new(),
            interned: Interned::default(),
            tracks: HashMap::new(),
            cpus: HashMap::new(),
            last_uuid: ROOT,
            base_ns: None,
            root: ROOT,
            machine: None,
            shift_ns: 0,
        }
    }

    /// From here on everything is another machine's, which is shown as a process of this name. Its
    /// times are moved by `shift_ns`.
    pub fn begin_machine(&mut self, name: &str, nr: u32, shift_ns: i64) {
        self.tracks.clear();
        self.cpus.clear();
        self.shift_ns = shift_ns;
        self.last_uuid += 1;
        self.root = self.last_uuid;
        let process =
            ProcessDescriptor { pid: Some(nr.cast_signed()), process_name: Some(name.to_owned()) };
        self.machine = Some(TrackDescriptor {
            uuid: Some(self.root),
            process: Some(process),
            child_ordering: Some(ORDERING_EXPLICIT),
            ..TrackDescriptor::default()
        });
    }

    fn shift_time(&self, ns: u64) -> u64 {
        ns.saturating_add_signed(self.shift_ns)
    }

    /// Begin a slice at `ns`.
    pub fn begin_slice(&mut self, track: Track, ns: u64, slice: &Slice<'_>) -> io::Result<()> {
        let ns = self.shift_time(ns);
        let uuid = self.describe_track(track, ns)?;
        if self.interned.is_full() {
            self.clear_state(None)?;
        }
        self.event.clear();
        if let Some(category) = slice.category {
            self.event.put_number(3, self.interned.intern_category(category));
        }
        for &(key, value) in slice.annotations {
            self.annotation.clear();
            self.annotation.put_number(1, self.interned.intern_key(key));
            match value {
                Value::Number(n) => self.annotation.put_number(3, n),
                Value::Text(text) => {
                    self.annotation.put_number(17, self.interned.intern_value(text));
                }
            }
            self.event.put_bytes(4, &self.annotation);
        }
        self.event.put_number(9, SLICE_BEGIN.cast_unsigned().into());
        self.event.put_number(10, self.interned.intern_name(slice.name));
        self.event.put_number(11, uuid);
        if let Some(flow) = slice.flow {
            self.event.put_fixed64(47, flow);
        }
        if let Some(flow) = slice.last_flow {
            self.event.put_fixed64(48, flow);
        }
        self.event_packet(ns)
    }

    /// End the innermost slice of `track` at `ns`.
    pub fn end_slice(&mut self, track: Track, ns: u64) -> io::Result<()> {
        let ns = self.shift_time(ns);
        let uuid = self.describe_track(track, ns)?;
        self.event.clear();
        self.event.put_number(9, SLICE_END.cast_unsigned().into());
        self.event.put_number(11, uuid);
        self.event_packet(ns)
    }

    /// Flush and hand the output back. A trace without events still says which clock it has.
    pub fn finish(mut self) -> io::Result<W> {
        self.start_sequence(0)?;
        self.write_batch()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// A packet with `self.event` and the interned strings that it is the first to use.
    fn event_packet(&mut self, ns: u64) -> io::Result<()> {
        let after = self.base_ns.and_then(|base| ns.checked_sub(base));
        self.packet.clear();
        self.packet.put_number(8, after.unwrap_or(ns));
        self.packet.put_number(10, SEQUENCE.into());
        self.packet.put_bytes(11, &self.event);
        if let Some(new) = self.interned.take_pending() {
            self.packet.put_bytes(12, &new.encode_to_vec());
        }
        self.packet.put_number(13, SEQ_NEEDS_INCREMENTAL_STATE.into());
        if after.is_none() {
            self.packet.put_number(58, CLOCK_MONOTONIC.into());
        }
        self.write_packet()
    }

    fn encode_packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        self.packet.clear();
        packet.encode(&mut self.packet).expect("a vector grows as far as is needed");
        self.write_packet()
    }

    fn write_packet(&mut self) -> io::Result<()> {
        self.buffer.put_bytes(1, &self.packet);
        if self.buffer.len() < BATCH { Ok(()) } else { self.write_batch() }
    }

    fn write_batch(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Start the incremental state anew: no interned strings, and the defaults again.
    fn clear_state(&mut self, clock_snapshot: Option<ClockSnapshot>) -> io::Result<()> {
        self.interned.clear();
        self.encode_packet(TracePacket {
            clock_snapshot,
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(OUR_CLOCK),
            }),
            ..TracePacket::default()
        })
    }

    /// The first packets: the clocks, and the root of the tracks.
    fn start_sequence(&mut self, ns: u64) -> io::Result<()> {
        if self.base_ns.is_some() {
            return Ok(());
        }
        let base = ns.saturating_sub(MARGIN_NS);
        self.base_ns = Some(base);
        let clock = |id, ns| Clock { clock_id: Some(id), timestamp: Some(ns) };
        self.clear_state(Some(ClockSnapshot {
            clocks: vec![clock(CLOCK_MONOTONIC, base), clock(OUR_CLOCK, 0)],
            primary_trace_clock: Some(CLOCK_MONOTONIC),
        }))?;
        self.write_descriptor(TrackDescriptor {
            uuid: Some(ROOT),
            name: Some("irqpath".to_owned()),
            child_ordering: Some(ORDERING_EXPLICIT),
            ..TrackDescriptor::default()
        })
    }

    fn write_descriptor(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.encode_packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        })
    }

    /// The uuid of a track, described before its first use.
    fn describe_track(&mut self, track: Track, ns: u64) -> io::Result<u64> {
        if let Some(&uuid) = self.tracks.get(&track) {
            return Ok(uuid);
        }
        self.start_sequence(ns)?;
        if let Some(machine) = self.machine.take() {
            self.write_descriptor(machine)?;
        }
        let parent = self.describe_cpu(track.cpu)?;
        self.last_uuid += 1;
        let uuid = self.last_uuid;
        self.tracks.insert(track, uuid);
        self.write_descriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            process: None,
            name: Some(track.row.track_name(track.cpu)),
            child_ordering: None,
            sibling_order_rank: Some(track.row.track_rank().cast_signed()),
        })?;
        Ok(uuid)
    }

    fn describe_cpu(&mut self, cpu: u16) -> io::Result<u64> {
        if let Some(&uuid) = self.cpus.get(&cpu) {
            return Ok(uuid);
        }
        self.last_uuid += 1;
        let uuid = self.last_uuid;
        self.cpus.insert(cpu, uuid);
        self.write_descriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(self.root),
            process: None,
            name: Some(format!("CPU {cpu}")),
            child_ordering: Some(ORDERING_EXPLICIT),
            sibling_order_rank: Some(i32::from(cpu)),
        })?;
        Ok(uuid)
    }
}
