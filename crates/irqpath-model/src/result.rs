// SPDX-License-Identifier: GPL-2.0-or-later
//! The content of a result directory: `meta.json` and `summary.json`.
//!
//! The schema is versioned: a reader accepts its own major version and names the one it found
//! otherwise. `irqpath schema` prints it.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::{
    BenchSeries, Folded, Histogram, Jitter, LineStats, Loss, Names, NapiStats, PathKey, PathStats,
    Point, Quantiles, Response, SlowPath, SoftirqStats,
};

/// Version of the stored format; a change that old readers cannot follow raises it.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON schema of a document, with `$id` `urn:irqpath:schema:<name>:<SCHEMA_VERSION>`.
pub fn schema<T: JsonSchema>(name: &str) -> Schema {
    let mut schema = schema_for!(T);
    schema.insert("$id".to_owned(), format!("urn:irqpath:schema:{name}:{SCHEMA_VERSION}").into());
    schema
}

/// Who, when, and on what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// irqpath's own version.
    pub irqpath_version: String,
    /// The command line that made the result.
    pub command: Vec<String>,
    /// Host name.
    pub host: String,
    /// Start, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// Where the data come from: `live`, or the name of a recording.
    pub source: String,
    /// The kernel.
    pub kernel: KernelInfo,
    /// The CPUs.
    pub cpu: CpuInfo,
    /// Isolation in force.
    pub isolation: Isolation,
    /// `/proc/interrupts` and `/proc/softirqs` before.
    pub before: InterruptCounts,
    /// The same after.
    pub after: InterruptCounts,
    /// Names of lines and timer callbacks.
    pub names: Names,
    /// True if the machine was the lab's in exact mode: one instruction is one nanosecond.
    #[serde(default)]
    pub is_exact: bool,
    /// What the observer changed on the system it measured, one sentence each; empty is a claim.
    pub observer_effects: Vec<String>,
}

/// Kernel facts that results depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelInfo {
    /// `uname -r`.
    pub release: String,
    /// `uname -v`.
    pub version: String,
    /// `uname -m`.
    pub machine: String,
    /// `/proc/cmdline`.
    pub cmdline: String,
    /// SHA-256 of the configuration, hex; empty if it is not readable.
    pub config_sha256: String,
    /// `none`, `voluntary`, `full`, `lazy`, `rt`, or empty if unknown.
    pub preemption: String,
    /// True if device handlers run in threads by force (PREEMPT_RT or `threadirqs`).
    pub forced_irq_threads: bool,
    /// Current clock source.
    pub clocksource: String,
    /// Policies of an irqpath kernel that were on when the measurement began, by name; empty on
    /// others.
    #[serde(default)]
    pub policies: Vec<String>,
}

impl KernelInfo {
    /// `; policies direct, migrate`, to put after what a table says of the kernel; empty if none
    /// was on.
    pub fn policies_suffix(&self) -> String {
        if self.policies.is_empty() {
            return String::new();
        }
        format!("; policies {}", self.policies.join(", "))
    }
}

/// CPU facts that results depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuInfo {
    /// Model name.
    pub model: String,
    /// Online CPUs, as the kernel writes lists.
    pub online: String,
    /// cpufreq governor of the first CPU; empty if there is no cpufreq.
    pub governor: String,
    /// True if SMT is active.
    pub smt: bool,
    /// Hypervisor, if any.
    pub hypervisor: Option<String>,
    /// Microseconds allowed by `/dev/cpu_dma_latency`, if readable.
    pub cpu_dma_latency_us: Option<i32>,
}

/// CPU lists as the kernel writes them; empty means none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // boot parameters and files of the same name
pub struct Isolation {
    pub isolated: String,
    pub nohz_full: String,
    pub rcu_nocbs: String,
    pub default_smp_affinity: String,
}

/// Counts per row label and CPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptCounts {
    /// CPU of each column.
    pub cpus: Vec<u16>,
    /// `/proc/interrupts`: label (`36`, `LOC`) to counts.
    pub interrupts: BTreeMap<String, Vec<u64>>,
    /// `/proc/softirqs`: label (`NET_RX`) to counts; columns are all possible CPUs.
    pub softirqs: BTreeMap<String, Vec<u64>>,
}

/// Something this kernel or this user cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The tracepoint or feature.
    pub what: String,
    /// What is not shown because of it, and the option that would provide it.
    pub consequence: String,
}

/// The observer's own cost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// Runs of our programs.
    pub nr_events: u64,
    /// Mean time in our programs per run, ns, by the kernel's own BPF statistics over a sample
    /// of the measurement; 0 if those were not available.
    pub mean_event_ns: u64,
    /// How many runs that mean is taken over.
    pub nr_sampled: u64,
    /// CPU time of the irqpath process, ns.
    pub process_cpu_ns: u64,
    /// Peak resident memory of the irqpath process, bytes.
    pub peak_rss_bytes: u64,
    /// Memory of the kernel tables, bytes.
    pub map_bytes: u64,
    /// How long the irqpath process ran at nice -20 because it could not keep up otherwise, ns.
    #[serde(default)]
    pub urgent_ns: u64,
}

/// Quantiles and histogram of one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// The point that ends and names the stage.
    pub stage: Point,
    /// The row of numbers.
    pub quantiles: Quantiles,
    /// All of it.
    pub histogram: Histogram,
}

/// One path's statistics as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathSummary {
    /// Which path.
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
    /// All of it.
    pub histogram: Histogram,
    /// In path order.
    pub stages: Vec<StageSummary>,
    /// Longest time from the first stamp until the target ran, ns; what paths are ranked by. The
    /// maximum of the whole path in results of versions that did not tell.
    #[serde(default)]
    pub slowest_ns: u64,
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

/// `summary.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Every path, first the one whose target once took longest to run.
    pub paths: Vec<PathSummary>,
    /// Hardirqs per line and CPU.
    pub lines: Vec<LineStats>,
    /// Softirqs per vector and CPU.
    pub softirqs: Vec<SoftirqStats>,
    /// NAPI polls per CPU.
    #[serde(default)]
    pub napi: Vec<NapiStats>,
    /// Benchmarks of bottom-half mechanisms; then there are no paths.
    #[serde(default)]
    pub bench: Vec<BenchSeries>,
    /// Response tests, one per CPU; then there are no paths.
    #[serde(default)]
    pub response: Vec<Response>,
    /// Determinism tests, one per CPU; then there are no paths.
    #[serde(default)]
    pub jitter: Vec<Jitter>,
    /// Slowest paths with their causes, first the one whose target took longest to run.
    pub slow: Vec<SlowPath>,
    /// How many records over the threshold there were, kept in `slow` or not.
    pub nr_slow: u64,
    /// The threshold on the whole path, ns, if one was given.
    pub threshold_ns: Option<u64>,
    /// What has no row of its own in `paths`.
    #[serde(default)]
    pub folded: Folded,
    /// What was lost or could not be joined.
    pub loss: Loss,
    /// The observer's cost.
    pub overhead: Overhead,
    /// What this kernel lacks.
    pub missing: Vec<Missing>,
}
