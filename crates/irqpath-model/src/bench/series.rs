// SPDX-License-Identifier: GPL-2.0-or-later
//! The summary of one benchmark by one clock, as `summary.json` keeps it. Lengths are ns.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BenchConfig, BenchOverflow, BenchQuantiles, Clock, ClockRate, Latencies};

/// What the distinct values of a clock tell about its resolution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockResolution {
    /// Different latencies that occurred.
    pub nr_distinct: u64,
    /// Largest step, in ticks, of which all differences between latencies are multiples; 0 with
    /// fewer than two of them.
    pub step_ticks: u64,
    /// Smallest difference between two different latencies, ns; 0 with fewer than two.
    pub min_gap_ns: u64,
}

/// Runs in which the same happened between top and bottom half.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchCause {
    /// For people: `Entr.+Sched.`, `slow sched_waking to sched_switch`; empty for runs that met nothing beyond
    /// the base path and are not over Q95, or were slow all over.
    pub label: String,
    /// Tracepoints met more often than on the base path, sorted; repeated ones once.
    pub tracepoints: Vec<String>,
    /// Of runs over Q95 that met nothing beyond the base path: the checkpoints before and after
    /// each of the few stages to which at least half of the delay is due.
    #[serde(default)]
    pub slow_stages: Vec<[String; 2]>,
    /// True if one of them is the entry of an interrupt.
    pub is_irq: bool,
    /// The row of numbers.
    pub quantiles: BenchQuantiles,
    /// How many of them took longer than the series' `q95_ns`.
    pub nr_over_q95: u64,
    /// The latencies of its runs, exactly.
    pub latencies: Latencies,
}

/// Who is to blame for the runs over Q95.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchTail {
    /// Complete runs over `q95_ns`, with and without interrupt.
    pub nr_over_q95: u64,
    /// Those with something between their halves that undelayed runs do not have.
    pub nr_explained: u64,
    /// Others, which were slow in a few stages only.
    #[serde(default)]
    pub nr_slow_stages: u64,
}

impl BenchTail {
    /// Runs over Q95 without a named cause: slow all over.
    pub const fn nr_unexplained(self) -> u64 {
        self.nr_over_q95.saturating_sub(self.nr_explained + self.nr_slow_stages)
    }
}

/// One benchmark by one clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BenchSeries {
    /// What tells this series from the others of the result: `workqueue, load 256`. Unique there.
    pub label: String,
    /// Machine or kernel, where a result joins several; else empty.
    #[serde(default)]
    pub set: String,
    /// The parameters that the module ran with.
    pub config: BenchConfig,
    /// The clock whose stamps are evaluated.
    pub clock: Clock,
    /// Ticks per second of the clock.
    pub rate: ClockRate,
    /// Runs that were recorded, complete or not.
    pub nr_runs: u64,
    /// Runs with an interrupt between top and bottom half; `None` if no tracepoint that would
    /// have shown one was hooked.
    pub nr_irq: Option<u64>,
    /// Of these, runs whose bottom half came after the next run had begun.
    pub nr_late: u64,
    /// Runs without top or bottom half; in no other number.
    pub nr_incomplete: u64,
    /// Runs whose stamps ran backwards; in no other number.
    pub nr_backwards: u64,
    /// Over the runs without an interrupt in between.
    pub quantiles: BenchQuantiles,
    /// Longest of all complete runs, ns.
    pub max_irq_ns: u64,
    /// Where the axis of the series ends by default, ns.
    pub bound_ns: u64,
    /// Runs without an interrupt in between that are longer than that.
    pub nr_oob: u64,
    /// Runs without an interrupt in between.
    pub latencies: Latencies,
    /// Latencies of the runs that an interrupt fell into.
    pub irq_latencies: Latencies,
    /// The smallest steps of the clock that were seen.
    pub resolution: ClockResolution,
    /// Tracepoints that most undelayed runs meet between their halves, in order.
    pub base_path: Vec<String>,
    /// All complete runs by what happened in between, the most frequent first; empty if no
    /// tracepoint was hooked that shows more than interrupts.
    pub causes: Vec<BenchCause>,
    /// Runs over Q95 and their causes; `None` where `causes` is empty for that reason.
    pub tail: Option<BenchTail>,
    /// Checkpoints that found no room; `None` if the module did not say.
    pub overflow: Option<BenchOverflow>,
    /// What one checkpoint takes, ns, if this is the clock it was measured by.
    pub checkpoint_cost_ns: Option<u64>,
    /// Interrupts and softirqs while the benchmark ran, all CPUs, by the label of their row in
    /// `/proc`; empty if they were not kept.
    #[serde(default)]
    pub interrupts: BTreeMap<String, u64>,
}
