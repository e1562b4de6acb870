// SPDX-License-Identifier: GPL-2.0-or-later
//! Determinism tests: how much longer than ideal a computation takes, and what interrupts one.
//!
//! `irqpath-source` measures, `irqpath-analysis` counts, `irqpath-report` shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bucket, Cause, CauseKind, Histogram, Quantiles};

/// Where the ideal time of the loop comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdealSource {
    /// It was given: another run's, on an idle or shielded CPU.
    Given,
    /// The shortest loop of this run.
    Best,
}

/// The same computation again and again: how long each took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loops {
    /// Sines computed per loop.
    pub nr_sines: u64,
    /// What a loop takes if nothing comes in between, ns.
    pub ideal_ns: u64,
    /// How that is known.
    pub ideal_from: IdealSource,
    /// The shortest loop, in ns.
    pub min_ns: u64,
    /// The mean of all loops, in ns.
    pub mean_ns: u64,
    /// The longest loop, in ns.
    pub max_ns: u64,
    /// Longest loop minus ideal, ns; 0 if no loop was longer.
    pub jitter_ns: u64,
    /// Loops that were measured and found no room.
    pub nr_lost: u64,
    /// What loops took beyond the ideal: the row of numbers.
    pub excess: Quantiles,
    /// The lengths of all loops, ns.
    pub histogram: Histogram,
}

impl Loops {
    /// The jitter in percent of the ideal.
    pub fn jitter_percent(&self) -> f64 {
        if self.ideal_ns == 0 {
            return 0.0;
        }
        self.jitter_ns as f64 * 100.0 / self.ideal_ns as f64
    }
}

/// One interruption of a task that does nothing but look at the clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interruption {
    /// Start since the measurement began, ns: the last time the clock was seen before it.
    pub at_ns: u64,
    /// Until the clock was seen again, ns.
    pub ns: u64,
    /// What ran meanwhile, longest first; empty if nothing was traced. `Own` is the entry to and
    /// exit from the kernel, or time in which the tracepoints saw nothing else run.
    pub causes: Vec<Cause>,
}

/// What took time in interruptions, all of them together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptionCause {
    /// The kind of what interrupted the task.
    pub kind: CauseKind,
    /// The interrupt, softirq or task, as everywhere in a result.
    pub who: String,
    /// In how many interruptions.
    pub n: u64,
    /// Time it took in all of them, ns.
    pub total_ns: u64,
    /// Time it took in one of them at most, ns.
    pub max_ns: u64,
}

/// Interruptions over a threshold, on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interruptions {
    /// Shorter ones are not looked at, ns.
    pub threshold_ns: u64,
    /// Time between two looks at the clock when nothing comes in between, ns: the shortest seen.
    pub look_ns: u64,
    /// Looks at the clock.
    pub nr_looks: u64,
    /// How long the clock was looked at, ns.
    pub lasted_ns: u64,
    /// The row of numbers.
    pub quantiles: Quantiles,
    /// The lengths of all interruptions, ns.
    pub histogram: Histogram,
    /// Exact counts between bounds that double, from 1 us.
    pub doubling: Vec<Bucket>,
    /// Time in interruptions, ns.
    pub total_ns: u64,
    /// Interruptions that were seen and could not be kept.
    pub nr_lost: u64,
    /// The longest ones, longest first.
    pub longest: Vec<Interruption>,
    /// What took the time, by total time; empty if nothing was traced.
    pub causes: Vec<InterruptionCause>,
}

/// One CPU under test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Jitter {
    /// The CPU that the measuring task was bound to.
    pub cpu: u16,
    /// The task's thread id.
    pub tid: u32,
    /// Its scheduling as it was in force: `f:80`, `o:0`.
    pub sched: String,
    /// The loop test; `None` if it was not asked for.
    pub loops: Option<Loops>,
    /// The continuous test; `None` if it was not asked for.
    pub interruptions: Option<Interruptions>,
}
