// SPDX-License-Identifier: GPL-2.0-or-later
//! `meta.json`: who measured, when, and on what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Names;

/// Who, when, and on what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION) of the writer.
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
