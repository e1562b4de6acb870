// SPDX-License-Identifier: GPL-2.0-or-later
//! What cannot be kept off shielded CPUs, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Switch;

/// Why something stays on the shielded CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// A kernel thread that belongs to its CPU.
    PerCpuThread,
    /// The kernel refused.
    Refused,
    /// It has to be said when the kernel starts.
    NeedsBoot,
    /// irqbalance runs and cannot be told.
    Irqbalance,
    /// The wanted mechanism is not to be had; another one is used.
    NoPartition,
    /// Somebody undid its change at once, or makes more of its kind.
    Contested,
}

/// Something that cannot be kept off the shielded CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// What.
    pub label: String,
    /// What it belongs to.
    pub switch: Switch,
    /// Which kind of reason.
    pub kind: ObstacleKind,
    /// Why, in words.
    pub reason: String,
    /// The system's error number, 0 if there was none.
    pub errno: i32,
    /// What would help: a boot parameter or a line of a configuration file.
    pub fix: Option<String>,
}
