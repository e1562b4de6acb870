// SPDX-License-Identifier: GPL-2.0-or-later
//! `meta.json`: who measured, when, and on what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::{Capture, Clocks};
use crate::{Names, printable};

/// Who, when, and on what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Meta {
    /// [`SCHEMA_VERSION`](super::SCHEMA_VERSION) of the writer.
    pub schema_version: u32,
    /// The version of irqpath that wrote this.
    pub irqpath_version: String,
    /// The command line that made the result.
    pub command: Vec<String>,
    /// Name of the host that was measured.
    pub host: String,
    /// The boot of that host, as `/proc/sys/kernel/random/boot_id` names it; empty in results of
    /// versions that did not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// What no other run has; an exact run of the lab has that of every run of the same inputs.
    /// Empty in results of versions that did not tell.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run_id: String,
    /// The revision under test: what `IRQPATH_COMMIT` says, in the lab the checkout's. Empty if
    /// neither is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commit: String,
    /// Start, RFC 3339, UTC.
    pub started_at: String,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// The wall clock beside the clock of every time; `None` in results that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// What the result is of, if the flight recorder made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Where the data come from: `live`, or the name of a recording.
    pub source: String,
    /// The kernel that was measured.
    pub kernel: KernelInfo,
    /// The CPUs that were measured.
    pub cpu: CpuInfo,
    /// CPU lists of the isolation in force.
    pub isolation: Isolation,
    /// `/proc/interrupts` and `/proc/softirqs` before.
    pub before: InterruptCounts,
    /// Counts of `/proc/interrupts` and `/proc/softirqs` at the end.
    pub after: InterruptCounts,
    /// Names of lines and timer callbacks.
    pub names: Names,
    /// True if the machine was the lab's in exact mode: one instruction is one nanosecond.
    #[serde(default)]
    pub is_exact: bool,
    /// What the observer changed on the system it measured, one sentence each; empty is a claim.
    pub observer_effects: Vec<String>,
}

/// Which run a row of a table is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[allow(missing_docs)] // the members of [`Meta`] of the same name, and the kernel's release
pub struct RunIdentity {
    pub host: String,
    pub boot_id: String,
    pub run_id: String,
    pub commit: String,
    pub kernel: String,
}

impl Meta {
    /// What tells the rows of this run from those of every other one.
    pub fn run_identity(&self) -> RunIdentity {
        let text = |text: &str| printable(text).into_owned();
        RunIdentity {
            host: text(&self.host),
            boot_id: text(&self.boot_id),
            run_id: text(&self.run_id),
            commit: text(&self.commit),
            kernel: text(&self.kernel.release),
        }
    }
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
    /// The clock source that was in use.
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
    /// Model name of the processor.
    pub model: String,
    /// Online CPUs, as the kernel writes lists.
    pub online: String,
    /// cpufreq governor of the first CPU; empty if there is no cpufreq.
    pub governor: String,
    /// True if SMT is active.
    pub smt: bool,
    /// Name of the hypervisor; `None` on a real machine.
    pub hypervisor: Option<String>,
    /// Microseconds allowed by `/dev/cpu_dma_latency`, if readable.
    pub cpu_dma_latency_us: Option<i32>,
}

impl CpuInfo {
    /// True if this was a virtual machine.
    pub fn is_virtual(&self) -> bool {
        self.hypervisor.is_some()
    }
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
