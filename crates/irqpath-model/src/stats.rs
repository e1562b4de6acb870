// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistics per path, per line and per softirq vector.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Histogram, Origin, PathKey, PathRecord, Point, SoftirqVec};

/// Histograms of one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathStats {
    /// The path that is counted here.
    pub key: PathKey,
    /// The target's tid if it was always the same one.
    pub tid: Option<u32>,
    /// First to last stamp.
    pub total: Histogram,
    /// By the point that ends the stage.
    pub stages: BTreeMap<Point, Histogram>,
    /// Longest [`PathRecord::until_running_ns`]; 0 in recordings that did not tell.
    #[serde(default)]
    pub slowest_ns: u64,
    /// `CLOCK_MONOTONIC` ns when counting began; 0 where it is not told.
    #[serde(skip)]
    pub since_ns: u64,
}

/// Most paths that statistics are kept of when they are made from records. The tables of a live
/// source hold fewer; a recording can name more, each in a few bytes
/// and with some kilobytes of histograms.
pub const MAX_PATHS: usize = 8192;

impl PathStats {
    /// Empty statistics for a path.
    pub fn new(key: PathKey) -> Self {
        let total = Histogram::default();
        Self { key, tid: None, total, stages: BTreeMap::new(), slowest_ns: 0, since_ns: 0 }
    }

    /// Adds the counts of another row, and begins with the first of both.
    pub fn merge_with(&mut self, other: &Self) {
        self.tid = self.tid.filter(|_| self.tid == other.tid);
        self.total.merge_with(&other.total);
        self.slowest_ns = self.slowest_ns.max(other.slowest_ns);
        self.since_ns = self.since_ns.min(other.since_ns);
        for (point, histogram) in &other.stages {
            self.stages.entry(*point).or_default().merge_with(histogram);
        }
    }

    /// Counts the times of a record of this path.
    pub fn record_path(&mut self, record: &PathRecord) {
        let first = self.total.is_empty();
        if first {
            self.tid = Some(record.target.tid);
        } else if self.tid != Some(record.target.tid) {
            self.tid = None;
        }
        self.total.record_ns(record.total_ns());
        self.slowest_ns = self.slowest_ns.max(record.until_running_ns());
        for span in record.stages() {
            self.stages.entry(span.to).or_default().record_ns(span.ns());
        }
    }
}

/// Hard interrupts of one line on one CPU since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineStats {
    /// Device line or CPU vector.
    pub origin: Origin,
    /// The CPU that served it.
    pub cpu: u16,
    /// Interrupts, as `/proc/interrupts` counts them.
    pub nr: u64,
    /// Time in the handlers, ns.
    pub run_ns: u64,
    /// Longest handler run, ns.
    pub max_run_ns: u64,
}

/// NAPI polls on one CPU since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NapiStats {
    /// The CPU that served it.
    pub cpu: u16,
    /// How often the device was polled.
    pub nr: u64,
    /// Packets that they handled.
    pub nr_packets: u64,
    /// Polls that used up their budget, so that net_rx had to run again.
    pub nr_exhausted: u64,
}

/// Softirqs of one vector on one CPU since the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SoftirqStats {
    /// The softirq vector that ran.
    pub vec: SoftirqVec,
    /// The CPU that served it.
    pub cpu: u16,
    /// Runs of the action, as `/proc/softirqs` counts them.
    pub nr: u64,
    /// Time in the action, ns.
    pub run_ns: u64,
    /// The longest run of the handler, ns.
    pub max_run_ns: u64,
    /// Time from raise to entry, summed, ns.
    pub delay_ns: u64,
    /// Longest time from raise to entry, ns.
    pub max_delay_ns: u64,
}
