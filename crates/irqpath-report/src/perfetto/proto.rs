// SPDX-License-Identifier: GPL-2.0-or-later
//! The few messages of Perfetto's trace format that we write (`protos/perfetto/trace/*.proto`).
//!
//! Declared by hand instead of generated: a few messages against a `protoc` at build time. Field
//! numbers are the format; a test decodes what we wrote with the same messages, and unknown
//! fields are skipped by every reader. The names are Perfetto's own.

/// `SLICE_BEGIN` of `TrackEvent.Type`.
pub const SLICE_BEGIN: i32 = 1;
/// `SLICE_END` of `TrackEvent.Type`.
pub const SLICE_END: i32 = 2;
/// `CLOCK_MONOTONIC` of `BuiltinClock`.
pub const CLOCK_MONOTONIC: u32 = 3;
/// `SEQ_INCREMENTAL_STATE_CLEARED` of `TracePacket.SequenceFlags`.
pub const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE` of `TracePacket.SequenceFlags`.
pub const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;
/// `EXPLICIT` of `TrackDescriptor.ChildTracksOrdering`.
pub const ORDERING_EXPLICIT: i32 = 3;

/// The whole file: a list of packets.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// The first packet has the clocks.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet: a clock snapshot, a track descriptor, or an event.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// What holds for every packet of a sequence that does not say otherwise.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct TracePacketDefaults {
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// New entries of the indexes of a sequence.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct InternedData {
    #[prost(message, repeated, tag = "1")]
    pub event_categories: Vec<InternedString>,
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<InternedString>,
}

/// An entry of an index. Perfetto has a message per index, all of this form.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct InternedString {
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub str: Option<String>,
}

/// Which clocks there are, and how they relate.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
    #[prost(uint32, optional, tag = "2")]
    pub primary_trace_clock: Option<u32>,
}

/// One clock of a snapshot.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
}

/// A process, here a machine.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A track: a row in the UI, or a group of rows.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// The begin or end of a slice.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A named value shown with a slice.
#[derive(Clone, PartialEq, prost::Message)]
#[allow(missing_docs)] // Perfetto's own fields
pub struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    #[prost(uint64, optional, tag = "17")]
    pub string_value_iid: Option<u64>,
}
