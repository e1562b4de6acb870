// SPDX-License-Identifier: GPL-2.0-or-later
//! What `trace` measures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Folded, Histogram, LineStats, Names, NapiStats, PathKey, PathStats, Point, Quantiles, SlowPath,
    SoftirqStats,
};

/// Quantiles and histogram of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// The point that ends and names the stage.
    pub stage: Point,
    /// The row of numbers.
    pub quantiles: Quantiles,
    /// All lengths, ns, for pages and comparisons.
    pub histogram: Histogram,
}

/// One path's statistics as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// The path that is summed up here.
    pub key: PathKey,
    /// The origin's name, for people.
    pub origin_name: String,
    /// The carriers, for people.
    pub via: String,
    /// Policy and priority of the target, for people: `f:90`; empty where it is not known.
    #[serde(default)]
    pub sched: String,
    /// The target's tid if it was always the same one.
    pub tid: Option<u32>,
    /// First to last stamp.
    pub total: Quantiles,
    /// All lengths, ns, for pages and comparisons.
    pub histogram: Histogram,
    /// The stages, in the order in which a path passes them.
    pub stages: Vec<StageSummary>,
    /// Longest time from the first stamp until the target ran, ns; what paths are ranked by. The
    /// maximum of the whole path in results of versions that did not tell.
    #[serde(default)]
    pub slowest_ns: u64,
    /// `CLOCK_MONOTONIC` ns when counting began, of a live source; 0 where it is not told.
    #[serde(skip)]
    pub since_ns: u64,
}

impl PathSummary {
    /// From statistics, with names.
    pub fn new(stats: PathStats, names: &Names) -> Self {
        let told_ns = Some(stats.slowest_ns).filter(|ns| *ns > 0);
        Self {
            slowest_ns: told_ns.unwrap_or_else(|| stats.total.max_ns()),
            origin_name: names.origin(stats.key.origin),
            via: stats.key.via.describe(),
            sched: stats.key.sched.map(|sched| sched.to_string()).unwrap_or_default(),
            tid: stats.tid,
            since_ns: stats.since_ns,
            total: stats.total.quantiles(),
            histogram: stats.total,
            stages: stats
                .stages
                .into_iter()
                .map(|(stage, histogram)| StageSummary {
                    stage,
                    quantiles: histogram.quantiles(),
                    histogram,
                })
                .collect(),
            key: stats.key,
        }
    }
}

/// All paths of a measurement, and the interrupts that they came from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Paths {
    /// Every path, first the one whose target once took longest to run.
    pub paths: Vec<PathSummary>,
    /// Hardirqs per line and CPU.
    pub lines: Vec<LineStats>,
    /// Softirqs per vector and CPU.
    pub softirqs: Vec<SoftirqStats>,
    /// NAPI polls per CPU.
    pub napi: Vec<NapiStats>,
    /// Slowest paths with their causes, first the one whose target took longest to run.
    pub slow: Vec<SlowPath>,
    /// How many records over the threshold there were, kept in `slow` or not.
    pub nr_slow: u64,
    /// How many of these would be below the threshold without the hypervisor's share.
    pub nr_slow_by_hypervisor: u64,
    /// The threshold on the whole path, ns, if one was given.
    pub threshold_ns: Option<u64>,
    /// What has no row of its own in `paths`.
    pub folded: Folded,
}

impl Paths {
    /// Paths over the threshold that the hypervisor's share does not excuse.
    pub fn nr_slow_by_us(&self) -> u64 {
        self.nr_slow.saturating_sub(self.nr_slow_by_hypervisor)
    }
}
