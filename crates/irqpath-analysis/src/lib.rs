// SPDX-License-Identifier: GPL-2.0-or-later
//! From events to causes and statistics. Pure: no I/O, no clock, no OS; time is what the events
//! say.
//!
//! - [`Timelines`]: who occupied each CPU, from the transitions a source delivers.
//! - [`attribute_path`]: the causes of one path, stage by stage.
//! - [`Engine`]: the same for a stream, waiting for transitions that arrive late.
//! - [`SlowKeeper`]: which slow paths to keep.
//! - [`Accumulator`], [`summarize_paths`]: statistics of all paths.
//! - [`bench`]: benchmarks of bottom-half mechanisms.
//! - [`learn`]: which interrupt serves which task, and the priorities that follow.
//! - [`difference`]: how much two measurements differ, and whether their samples show it.
//! - [`response`], [`jitter`]: response and determinism tests.
//! - [`Occupants`]: all that was on a CPU on which nothing should be.
//! - [`counts_between`], [`compare_counts`]: our counts beside the kernel's.
//!
//! The rule: a hole is never explained. What no transition covers is reported as unexplained,
//! and the causes of a stage add up to its length to the nanosecond.

mod accumulate;
mod attribute;
pub mod bench;
mod counts;
pub mod difference;
mod engine;
pub mod jitter;
pub mod learn;
mod occupants;
pub mod response;
mod slow;
mod timeline;
mod wanted;

pub use accumulate::{Accumulator, Judged, summarize_paths};
pub use attribute::attribute_path;
pub use counts::{CountCheck, compare_counts, counts_between};
pub use engine::{Engine, EngineConfig};
pub use occupants::Occupants;
pub use slow::{DEFAULT_SLOW, SlowKeeper};
pub use timeline::{Frame, Layer, Occupant, Over, Segment, Timeline, Timelines};
pub use wanted::Wanted;
