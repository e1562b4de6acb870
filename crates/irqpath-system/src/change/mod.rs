// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of the host that can be taken back: what is changed ([`Target`]), from and to what
//! ([`Value`]), and the way to the host ([`Access`]).
//!
//! `apply` writes a change down in the [journal](crate::journal) before it makes it and looks
//! afterwards whether the kernel did it; `undo` puts a value back only where it still is one of
//! ours. Shield and tune use the same code, each with a journal of its own.
//!
//! The rule to know: values are compared by what they mean (`3` and `00000003` are one mask),
//! because the kernel does not print what was written.

mod access;
mod allowed;
mod apply;
mod irqbalance;
mod real;
mod undo;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use access::Access;
pub use allowed::{Allowed, PARTITION_DIRECTORY, RUN_DIRECTORY};
pub use apply::{Outcome, Step, Verdict, apply};
pub(crate) use irqbalance::is_genuine as is_genuine_irqbalance;
pub use real::RealAccess;
pub use undo::{Left, LeftReason, Undone, put_back, undo};
pub use value::{Policy, Scheduling, Value};

/// How a file's text is read and written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A CPU mask in hexadecimal.
    Mask,
    /// A CPU list.
    List,
    /// Words, compared without the space around them.
    Text,
    /// A cgroup's `cgroup.subtree_control`: whether the controller of this name is switched on.
    Controller(String),
}

/// A task that cannot be mistaken for a later one with the same number.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct TaskId {
    /// Thread id.
    pub tid: u32,
    /// Start in clock ticks since boot, field 22 of `/proc/TID/stat`.
    pub start_ticks: u64,
}

/// What is changed. Paths are relative to the host's root and have no leading slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// The content of a file.
    File {
        /// Where.
        path: String,
        /// How it is written.
        form: Form,
    },
    /// The CPUs that a task may use.
    TaskAffinity {
        /// Which.
        task: TaskId,
    },
    /// A task's policy and priority.
    TaskScheduling {
        /// Which.
        task: TaskId,
    },
    /// The cgroup that a process is in, as the path of its directory.
    ProcessCgroup {
        /// Its main thread.
        task: TaskId,
        /// Directory in which the hierarchy is mounted.
        mount: String,
    },
    /// Whether a cgroup exists.
    Cgroup {
        /// Its directory.
        path: String,
    },
    /// The CPUs that a running irqbalance leaves alone, told through its socket.
    Irqbalance {
        /// Its process.
        task: TaskId,
    },
}

impl Target {
    /// The task it belongs to, if any.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::TaskAffinity { task }
            | Self::TaskScheduling { task }
            | Self::ProcessCgroup { task, .. }
            | Self::Irqbalance { task } => Some(*task),
            Self::File { .. } | Self::Cgroup { .. } => None,
        }
    }
}

impl std::fmt::Display for Target {
    /// Paths are quoted, as those of a forged journal may hold anything.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, .. } | Self::Cgroup { path } => write!(f, "{path:?}"),
            Self::ProcessCgroup { mount, .. } => write!(f, "a cgroup below {mount:?}"),
            Self::TaskAffinity { task } | Self::TaskScheduling { task } => {
                write!(f, "task {}", task.tid)
            }
            Self::Irqbalance { task } => write!(f, "irqbalance (process {})", task.tid),
        }
    }
}

/// A change about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// What is changed.
    #[serde(flatten)]
    pub target: Target,
    /// What people call it: `irq 36 (virtio1-req.0)`.
    pub label: String,
    /// Its value just before.
    pub before: Value,
    /// What it will be.
    pub new: Value,
}
