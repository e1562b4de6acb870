// SPDX-License-Identifier: GPL-2.0-or-later
//! Which interrupt serves which task, and the priorities that follow from it.
//!
//! Neighbours: `irqpath-analysis` learns an [`Association`] from paths and makes a [`TunePlan`] of
//! them, `irqpath-system` reads [`LiveThread`]s and carries the plan out. The rule to know: a
//! thread is named by its number and start together, a carrier by its name, because a driver
//! that is loaded again has new threads with the old names.

mod document;
mod packets;
mod pins;
mod steer;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use document::{Applied, Changed, Document, Learned, Reset, Status, Tuned, TunedNow};

pub use packets::{PacketDevice, PacketState, Packets};
pub use pins::{MAX_PINS, Pin, PinFile, SECONDARY};
pub use steer::{
    CannotSteer, Flow, FlowRule, FlowTable, FoundRule, NoFlowRule, OTHER_RULE, Receiver,
    SteerState, Steered, SteeredDevice, Steering, Transport,
};

use crate::{Comm, Origin, Scheduling, TaskId};

/// A thread that is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LiveThread {
    /// What names it for good.
    #[serde(flatten)]
    pub id: TaskId,
    /// Name; a kernel thread's may be longer than a path record has it.
    pub comm: String,
    /// True for a kernel thread.
    pub kernel: bool,
    /// Its policy, priority and nice value, without a priority-inheritance boost.
    #[serde(flatten)]
    pub scheduling: Scheduling,
}

/// A kernel thread through which wakeups went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Carrier {
    /// Its name, cut as the kernel's trace points cut it; that of a NAPI thread is whole where it is
    /// known.
    pub comm: Comm,
    /// Wakeups that went through it.
    pub nr: u64,
}

/// An interrupt and a real-time task that it wakes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Association {
    /// The interrupt that wakes the task.
    pub origin: Origin,
    /// Its name, as in `36:virtio1-req.0`.
    pub line: String,
    /// The task; its start is 0 while it was not looked up.
    #[serde(flatten)]
    pub task: TaskId,
    /// Name of the task.
    pub comm: Comm,
    /// Kernel threads on the way; none if the task is woken from hard interrupt context.
    pub carriers: Vec<Carrier>,
    /// Wakeups seen, all counted alike.
    pub nr: u64,
    /// Wakeups seen, those of long ago counted less.
    pub recent: f64,
    /// Share of the interrupt's recent wakeups that reached this task, 0 to 1.
    pub share: f64,
    /// What that share is at least, with 95 % confidence: small if few wakeups were seen.
    pub confidence: f64,
    /// Time since the last wakeup, ns.
    pub age_ns: u64,
    /// True if this was seen often enough to act on it, or is pinned.
    pub established: bool,
    /// True if a person wrote it down; nothing is counted then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// How a thread and a task that it serves are wrongly ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WrongOrder {
    /// The thread does not preempt what runs below the task: interrupt-driven priority inversion.
    ThreadBelow,
    /// The thread is so far above the task that it delays other real-time tasks for nothing.
    ThreadFarAbove,
}

/// A thread and a task that are wrongly ordered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongPair {
    /// The kernel thread, as it was found.
    pub thread: LiveThread,
    /// The highest task that it serves.
    pub task: LiveThread,
    /// In which direction the two priorities are wrong.
    pub order: WrongOrder,
}

/// A priority that a thread should get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TuneChange {
    /// The thread as it is.
    pub thread: LiveThread,
    /// FIFO priority that it should have, 1 to 98.
    pub priority: u8,
    /// The highest task that it serves.
    pub task: LiveThread,
    /// The reason, for people.
    pub why: String,
}

/// Why a thread is left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftAlone {
    /// It has the right priority.
    Right,
    /// It is above its tasks, and nothing real-time lies in between.
    AboveHarmlessly,
    /// Its priority is neither the kernel's default nor ours.
    SetByHand,
    /// Its policy is neither FIFO, RR nor the normal one.
    OtherPolicy,
    /// Its task has a priority of 98 or 99: nothing is left above it.
    NoRoom,
    /// Its task has the deadline policy, which comes before every priority.
    ServesDeadline,
    /// A worker runs something else the next time.
    Worker,
}

impl LeftAlone {
    /// The reason in words for people.
    pub const fn reason_text(self) -> &'static str {
        match self {
            Self::Right => "has the right priority",
            Self::AboveHarmlessly => "is above its tasks, with nothing real-time in between",
            Self::SetByHand => "was set by hand (--force changes it)",
            Self::OtherPolicy => "has another policy than FIFO, RR or the normal one",
            Self::NoRoom => "serves a task at 98 or 99, above which nothing is left",
            Self::ServesDeadline => "serves a deadline task, which comes before every priority",
            Self::Worker => "is a worker that runs other work the next time",
        }
    }
}

/// A thread that is on a path and left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftThread {
    /// The kernel thread, as it was found.
    pub thread: LiveThread,
    /// The reason to leave it alone.
    pub why: LeftAlone,
}

/// An interrupt thread that becomes ordinary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrdinaryThread {
    /// The thread as it is.
    pub thread: LiveThread,
    /// The reason, for people.
    pub why: String,
}

/// An interrupt thread that stays real-time while others become ordinary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptThread {
    /// The thread as it is.
    pub thread: LiveThread,
    /// The reason, for people.
    pub why: String,
}

/// What should be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TunePlan {
    /// What is wrongly ordered.
    pub wrong: Vec<WrongPair>,
    /// Priorities that are to be set.
    pub changes: Vec<TuneChange>,
    /// Threads that we changed before and whose reason is gone.
    pub take_back: Vec<LiveThread>,
    /// Threads left as they are.
    pub left: Vec<LeftThread>,
    /// With `--selective`: interrupt threads that become ordinary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordinary: Vec<OrdinaryThread>,
    /// With `--selective`: interrupt threads that stay real-time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptThread>,
}

impl TunePlan {
    /// True if it changes nothing.
    pub const fn is_nothing(&self) -> bool {
        self.changes.is_empty() && self.take_back.is_empty() && self.ordinary.is_empty()
    }
}
