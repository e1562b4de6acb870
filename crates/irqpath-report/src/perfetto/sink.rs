// SPDX-License-Identifier: GPL-2.0-or-later
//! Packets and tracks: writes one packet at a time, and describes a track before its first event.
//!
//! A trace file is one `Trace` message; its packets are length-delimited fields with tag 1, so
//! that the file can be streamed. Events of one track must be written in the order of time, with
//! an end before a begin at the same nanosecond: readers sort by time and keep the order of the
//! file where times are equal.

use std::collections::HashSet;
use std::io::{self, Write};

use prost::Message as _;

use super::proto::{
    CLOCK_MONOTONIC, Clock, ClockSnapshot, DebugAnnotation, ORDERING_EXPLICIT,
    SEQ_INCREMENTAL_STATE_CLEARED, SLICE_BEGIN, SLICE_END, TracePacket, TrackDescriptor,
    TrackEvent,
};

/// Parent of all tracks.
const ROOT: u64 = 1;
/// Our one sequence of packets.
const SEQUENCE: u32 = 1;

/// A row under a CPU, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Row {
    Nmi,
    Hardirq,
    Softirq,
    Task,
    /// The n-th lane of path stages, from 0.
    Stages(u32),
}

impl Row {
    fn rank(self) -> u32 {
        match self {
            Self::Nmi => 0,
            Self::Hardirq => 1,
            Self::Softirq => 2,
            Self::Task => 3,
            Self::Stages(lane) => 4 + lane,
        }
    }

    /// Distinct under one CPU: readers merge siblings of the same name.
    fn name(self, cpu: u16) -> String {
        match self {
            Self::Nmi => format!("CPU {cpu} nmi"),
            Self::Hardirq => format!("CPU {cpu} hardirq"),
            Self::Softirq => format!("CPU {cpu} softirq"),
            Self::Task => format!("CPU {cpu} task"),
            Self::Stages(0) => format!("CPU {cpu} stages"),
            Self::Stages(lane) => format!("CPU {cpu} stages #{}", lane + 1),
        }
    }
}

/// One row of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Track {
    pub cpu: u16,
    pub row: Row,
}

impl Track {
    fn parent_uuid(self) -> u64 {
        (u64::from(self.cpu) + 1) << 32
    }

    fn uuid(self) -> u64 {
        self.parent_uuid() + 1 + u64::from(self.row.rank())
    }
}

/// What a slice shows.
#[derive(Debug, Default)]
pub(super) struct Slice {
    pub name: String,
    pub category: &'static str,
    pub annotations: Vec<DebugAnnotation>,
    /// A flow that goes on from here.
    pub flow: Option<u64>,
    /// A flow that ends here.
    pub last_flow: Option<u64>,
}

/// Where packets go.
#[derive(Debug)]
pub(super) struct Sink<W: Write> {
    out: W,
    buffer: Vec<u8>,
    /// Uuids that have been described.
    described: HashSet<u64>,
    started: bool,
}

impl<W: Write> Sink<W> {
    pub fn new(out: W) -> Self {
        Self { out, buffer: Vec::new(), described: HashSet::new(), started: false }
    }

    /// Begin a slice at `ns`.
    pub fn begin(&mut self, track: Track, ns: u64, slice: Slice) -> io::Result<()> {
        self.describe(track, ns)?;
        let event = TrackEvent {
            debug_annotations: slice.annotations,
            r#type: Some(SLICE_BEGIN),
            track_uuid: Some(track.uuid()),
            categories: vec![slice.category.to_owned()],
            name: Some(slice.name),
            flow_ids: slice.flow.into_iter().collect(),
            terminating_flow_ids: slice.last_flow.into_iter().collect(),
        };
        self.event(ns, event)
    }

    /// End the innermost slice of `track` at `ns`.
    pub fn end(&mut self, track: Track, ns: u64) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(SLICE_END),
            track_uuid: Some(track.uuid()),
            ..TrackEvent::default()
        };
        self.event(ns, event)
    }

    /// Flush and hand the output back. A trace without events still says which clock it has.
    pub fn finish(mut self) -> io::Result<W> {
        self.start(0)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn event(&mut self, ns: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(ns),
            timestamp_clock_id: Some(CLOCK_MONOTONIC),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(SEQUENCE);
        self.buffer.clear();
        // Field 1 of `Trace`, length-delimited.
        self.buffer.push(0x0a);
        packet
            .encode_length_delimited(&mut self.buffer)
            .expect("a vector grows as far as is needed");
        self.out.write_all(&self.buffer)
    }

    /// The first packets: the clock that all times are in, and the root of the tracks.
    fn start(&mut self, ns: u64) -> io::Result<()> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        let clock = Clock { clock_id: Some(CLOCK_MONOTONIC), timestamp: Some(ns) };
        self.packet(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![clock],
                primary_trace_clock: Some(CLOCK_MONOTONIC),
            }),
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            ..TracePacket::default()
        })?;
        self.descriptor(TrackDescriptor {
            uuid: Some(ROOT),
            name: Some("irqpath".to_owned()),
            child_ordering: Some(ORDERING_EXPLICIT),
            ..TrackDescriptor::default()
        })
    }

    fn descriptor(&mut self, descriptor: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })
    }

    fn describe(&mut self, track: Track, ns: u64) -> io::Result<()> {
        self.start(ns)?;
        if self.described.insert(track.parent_uuid()) {
            self.descriptor(TrackDescriptor {
                uuid: Some(track.parent_uuid()),
                parent_uuid: Some(ROOT),
                name: Some(format!("CPU {}", track.cpu)),
                child_ordering: Some(ORDERING_EXPLICIT),
                sibling_order_rank: Some(i32::from(track.cpu)),
            })?;
        }
        if self.described.insert(track.uuid()) {
            self.descriptor(TrackDescriptor {
                uuid: Some(track.uuid()),
                parent_uuid: Some(track.parent_uuid()),
                name: Some(track.row.name(track.cpu)),
                child_ordering: None,
                sibling_order_rank: Some(track.row.rank().cast_signed()),
            })?;
        }
        Ok(())
    }
}
