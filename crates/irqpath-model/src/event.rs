// SPDX-License-Identifier: GPL-2.0-or-later
//! What a source delivers.

use serde::{Deserialize, Serialize};

use crate::{
    Folded, LineStats, Loss, Missing, NapiStats, Occupancy, Overhead, PathRecord, PathStats,
    SoftirqStats,
};

/// One thing a source delivers while it runs. Transitions that a record needs may arrive up to
/// a second after the record; `irqpath-analysis` waits for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A joined path over the threshold, a new maximum, or (when recording) any path.
    Path(Box<PathRecord>),
    /// Transitions of one CPU, in order of time.
    Occupancy(Vec<Occupancy>),
}

/// The source's own statistics, cumulative since the start. Cheap to take; `top` takes one per
/// refresh.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// `CLOCK_MONOTONIC` ns when it was taken.
    pub ns: u64,
    /// Histograms of every path.
    pub paths: Vec<PathStats>,
    /// Hardirqs per line and CPU.
    pub lines: Vec<LineStats>,
    /// Softirqs per vector and CPU.
    pub softirqs: Vec<SoftirqStats>,
    /// NAPI polls per CPU.
    pub napi: Vec<NapiStats>,
    /// What was lost or could not be joined, by reason.
    pub loss: Loss,
    /// The source's own cost.
    pub overhead: Overhead,
    /// What this kernel lacks.
    pub missing: Vec<Missing>,
    /// What has no row of its own.
    #[serde(default)]
    pub folded: Folded,
}
