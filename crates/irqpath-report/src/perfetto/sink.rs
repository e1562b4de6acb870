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
    CLOCK_MONOTONIC, Clock, ClockSnapshot, ORDERING_EXPLICIT, SEQ_INCREMENTAL_STATE_CLEARED,
    SEQ_NEEDS_INCREMENTAL_STATE, SLICE_BEGIN, SLICE_END, TracePacket, TracePacketDefaults,
    TrackDescriptor,
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
    /// A stage of paths, and how many tracks of it are above this one.
    Stage(Point, u32),
}

impl Row {
    fn rank(self) -> u32 {
        match self {
            Self::Stolen => 0,
            Self::Nmi => 1,
            Self::Hardirq => 2,
            Self::Softirq => 3,
            Self::Task => 4,
            Self::Stage(stage, lane) => {
                5 + (stage.index() as u32) * MAX_LANES + lane.min(MAX_LANES - 1)
            }
        }
    }

    /// Distinct under one CPU: readers merge siblings of the same name.
    fn name(self, cpu: u16) -> String {
        match self {
            Self::Stolen => format!("CPU {cpu} stolen"),
            Self::Nmi => format!("CPU {cpu} nmi"),
            Self::Hardirq => format!("CPU {cpu} hardirq"),
            Self::Softirq => format!("CPU {cpu} softirq"),
            Self::Task => format!("CPU {cpu} task"),
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

/// Where packets go.
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
        }
    }

    /// Begin a slice at `ns`.
    pub fn begin(&mut self, track: Track, ns: u64, slice: &Slice<'_>) -> io::Result<()> {
        let uuid = self.describe(track, ns)?;
        if self.interned.is_full() {
            self.clear_state(None)?;
        }
        self.event.clear();
        if let Some(category) = slice.category {
            self.event.number(3, self.interned.category(category));
        }
        for &(key, value) in slice.annotations {
            self.annotation.clear();
            self.annotation.number(1, self.interned.key(key));
            match value {
                Value::Number(n) => self.annotation.number(3, n),
                Value::Text(text) => self.annotation.number(17, self.interned.value(text)),
            }
            self.event.bytes(4, &self.annotation);
        }
        self.event.number(9, SLICE_BEGIN.cast_unsigned().into());
        self.event.number(10, self.interned.name(slice.name));
        self.event.number(11, uuid);
        if let Some(flow) = slice.flow {
            self.event.fixed64(47, flow);
        }
        if let Some(flow) = slice.last_flow {
            self.event.fixed64(48, flow);
        }
        self.event_packet(ns)
    }

    /// End the innermost slice of `track` at `ns`.
    pub fn end(&mut self, track: Track, ns: u64) -> io::Result<()> {
        let uuid = self.describe(track, ns)?;
        self.event.clear();
        self.event.number(9, SLICE_END.cast_unsigned().into());
        self.event.number(11, uuid);
        self.event_packet(ns)
    }

    /// Flush and hand the output back. A trace without events still says which clock it has.
    pub fn finish(mut self) -> io::Result<W> {
        self.start(0)?;
        self.write_batch()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// A packet with `self.event` and the interned strings that it is the first to use.
    fn event_packet(&mut self, ns: u64) -> io::Result<()> {
        let after = self.base_ns.and_then(|base| ns.checked_sub(base));
        self.packet.clear();
        self.packet.number(8, after.unwrap_or(ns));
        self.packet.number(10, SEQUENCE.into());
        self.packet.bytes(11, &self.event);
        if let Some(new) = self.interned.take_pending() {
            self.packet.bytes(12, &new.encode_to_vec());
        }
        self.packet.number(13, SEQ_NEEDS_INCREMENTAL_STATE.into());
        if after.is_none() {
            self.packet.number(58, CLOCK_MONOTONIC.into());
        }
        self.write_packet()
    }

    fn message(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        self.packet.clear();
        packet.encode(&mut self.packet).expect("a vector grows as far as is needed");
        self.write_packet()
    }

    fn write_packet(&mut self) -> io::Result<()> {
        self.buffer.bytes(1, &self.packet);
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
        self.message(TracePacket {
            clock_snapshot,
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(OUR_CLOCK),
            }),
            ..TracePacket::default()
        })
    }

    /// The first packets: the clocks, and the root of the tracks.
    fn start(&mut self, ns: u64) -> io::Result<()> {
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
        self.descriptor(TrackDescriptor {
            uuid: Some(ROOT),
            name: Some("irqpath".to_owned()),
            child_ordering: Some(ORDERING_EXPLICIT),
            ..TrackDescriptor::default()
        })
    }

    fn descriptor(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.message(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    /// The uuid of a track, described before its first use.
    fn describe(&mut self, track: Track, ns: u64) -> io::Result<u64> {
        if let Some(&uuid) = self.tracks.get(&track) {
            return Ok(uuid);
        }
        self.start(ns)?;
        let parent = self.describe_cpu(track.cpu)?;
        self.last_uuid += 1;
        let uuid = self.last_uuid;
        self.tracks.insert(track, uuid);
        self.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent),
            name: Some(track.row.name(track.cpu)),
            child_ordering: None,
            sibling_order_rank: Some(track.row.rank().cast_signed()),
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
        self.descriptor(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(ROOT),
            name: Some(format!("CPU {cpu}")),
            child_ordering: Some(ORDERING_EXPLICIT),
            sibling_order_rank: Some(i32::from(cpu)),
        })?;
        Ok(uuid)
    }
}
