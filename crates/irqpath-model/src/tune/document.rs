// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath tune --json` prints, and its schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Association, LiveThread, Packets, PinFile, Steering, TunePlan};
use crate::Loss;
use crate::change::{Refusal, Undone};

/// What a run that learns has seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Learned {
    /// For how long, ns.
    pub duration_ns: u64,
    /// Interrupts and the real-time tasks that they wake.
    pub associations: Vec<Association>,
    /// What was lost meanwhile: wakeups that are missing in the counts.
    pub loss: Loss,
}

/// A priority that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The thread as it was.
    pub thread: LiveThread,
    /// What it has now, as `f:81`.
    pub now: String,
    /// The reason in words for people.
    pub why: String,
}

/// What was done to the priorities, and what the kernel refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// Priorities that were changed.
    pub changed: Vec<Changed>,
    /// Changes that the kernel refused.
    pub refused: Vec<Refusal>,
    /// Threads whose reason was gone.
    pub taken_back: Vec<LiveThread>,
    /// What became of those.
    pub undone: Undone,
}

impl Applied {
    /// True if nothing was done or tried.
    pub fn is_nothing(&self) -> bool {
        self.changed.is_empty() && self.refused.is_empty() && self.taken_back.is_empty()
    }
}

/// How a thread that we changed is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TunedNow {
    /// As we left it.
    Ours,
    /// Somebody changed it since; reset leaves it.
    ChangedMeanwhile,
    /// The thread is gone.
    Gone,
}

/// A thread that we changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// What people call it.
    pub label: String,
    /// Before us, as `f:50`.
    pub before: String,
    /// The scheduling that irqpath gave it.
    pub wanted: String,
    /// What it has; `None` if it is gone.
    pub now: Option<String>,
    /// Whether the thread still has it.
    pub state: TunedNow,
}

/// The threads that irqpath holds, and how they are now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The threads that irqpath holds.
    pub threads: Vec<Tuned>,
    /// What was known when they were changed.
    pub reasons: Vec<Association>,
    /// Seconds since 1970 when that was.
    pub at_unix_s: u64,
}

/// What a reset did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    /// True if there was something to put back.
    pub was_tuned: bool,
    /// What became of it.
    pub undone: Undone,
    /// Lines of the journal that are damaged; what they said is not undone.
    pub damaged: Vec<usize>,
}

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of a run that learns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<Learned>,
    /// The same: what should be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TunePlan>,
    /// With `--packets`: what was or would be done to network devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
    /// With `--steer`: the receivers and their queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steering: Option<Steering>,
    /// With `--apply`: what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Applied>,
    /// Present after `irqpath tune status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Of `pin`, `unpin`, `apply` and `export`: the pins that stand, or were learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<PinFile>,
    /// Present after `irqpath tune reset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}
