// SPDX-License-Identifier: GPL-2.0-or-later
//! The policies of the irqpath kernel and what it has learned. `irqpath policy --json` prints a
//! [`Document`] of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A policy of the running kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelPolicy {
    /// The name of its directory, as `migrate`.
    pub name: String,
    /// Whether it is on.
    pub enabled: bool,
    /// What can be set, as the kernel writes it.
    pub settings: BTreeMap<String, String>,
    /// What it has counted since boot.
    pub counters: BTreeMap<String, u64>,
}

/// An interrupt and a real-time task that it wakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Association {
    /// Number of the interrupt.
    pub irq: u32,
    /// Name of its action; the kernel keeps 15 bytes of it.
    pub name: String,
    /// Kernel thread id of the task that is served.
    pub tid: u32,
    /// Its name; what is not printable is escaped, as in C.
    pub comm: String,
    /// Its own real-time priority.
    pub priority: u32,
    /// Wakeups of the task by this interrupt.
    pub nr_wakeups: u64,
    /// Handlers that the task ran.
    pub nr_runs: u64,
    /// Those of them that did not wake the task.
    pub nr_mispredicted: u64,
    /// Share of the handlers that did, 0 to 1; `None` if it ran none.
    pub success: Option<f64>,
    /// Since the last wakeup, ns.
    pub age_ns: u64,
    /// At 0 the task is offered no handler.
    pub trust: u32,
    /// Made by hand, with [`pin`]: it is not forgotten and keeps its trust.
    pub pinned: bool,
    /// Address spaces loaded for the sake of these handlers.
    pub nr_mm_switched: u64,
}

/// All of them, by interrupt, the highest priority first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Associations {
    /// By interrupt, the highest priority first.
    pub list: Vec<Association>,
    /// False if there are more than the kernel shows.
    pub complete: bool,
    /// Lines that could not be read.
    pub nr_unreadable: usize,
}

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of `status`: all; of `enable` and `disable`: those that were named, as they are now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Vec<KernelPolicy>>,
    /// Present after `irqpath policy assoc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub associations: Option<Associations>,
}
