// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes of a host that can be taken back: where ([`Target`]), from and to what ([`Value`]), and
//! what became of them.
//!
//! `irqpath-system` makes and undoes them; the documents of shield and tune carry them. The rule
//! to know: values are compared by what they mean (`3` and `00000003` are one mask), because the
//! kernel does not print what was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuList, Scheduling, TaskId};

/// What is changed. Paths are relative to the host's root and have no leading slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// The content of a file.
    File {
        /// The file, from the root of the host without the first slash.
        path: String,
        /// How it is written.
        form: Form,
    },
    /// The CPUs that a task may use.
    TaskAffinity {
        /// The thread, with its start time, as thread ids are used again.
        task: TaskId,
    },
    /// A task's policy and priority.
    TaskScheduling {
        /// The thread, with its start time, as thread ids are used again.
        task: TaskId,
    },
    /// The cgroup that a process is in, as the path of its directory.
    ProcessCgroup {
        /// The main thread stands for the whole process.
        task: TaskId,
        /// Directory in which the hierarchy is mounted.
        mount: String,
    },
    /// The cgroup that one thread is in, likewise. Its process stays in the cgroup above.
    ThreadCgroup {
        /// The thread, with its start time, as thread ids are used again.
        task: TaskId,
        /// Directory in which the hierarchy is mounted.
        mount: String,
    },
    /// Whether a cgroup exists.
    Cgroup {
        /// Its directory, from the root of the host without the first slash.
        path: String,
    },
    /// The CPUs that a running irqbalance leaves alone, told through its socket.
    Irqbalance {
        /// The process of the daemon.
        task: TaskId,
    },
    /// The flow rule of a network device at a location, in words; empty if there is none.
    FlowRule {
        /// The device, by name.
        device: String,
        /// The rule's place in the device's table.
        location: u32,
    },
    /// The interrupts that a running irqbalance leaves alone, told likewise: `8 40`.
    IrqbalanceLines {
        /// The process of the daemon.
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
            | Self::ThreadCgroup { task, .. }
            | Self::Irqbalance { task }
            | Self::IrqbalanceLines { task } => Some(*task),
            Self::File { .. } | Self::Cgroup { .. } | Self::FlowRule { .. } => None,
        }
    }
}

impl std::fmt::Display for Target {
    /// Paths are quoted, as those of a forged journal may hold anything.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, .. } | Self::Cgroup { path } => write!(f, "{path:?}"),
            Self::FlowRule { device, location } => {
                write!(f, "flow rule {location} of {device:?}")
            }
            Self::ProcessCgroup { mount, .. } | Self::ThreadCgroup { mount, .. } => {
                write!(f, "a cgroup below {mount:?}")
            }
            Self::TaskAffinity { task } | Self::TaskScheduling { task } => {
                write!(f, "task {}", task.tid)
            }
            Self::Irqbalance { task } | Self::IrqbalanceLines { task } => {
                write!(f, "irqbalance (process {})", task.tid)
            }
        }
    }
}

/// How a file's text is read and written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A CPU mask in hexadecimal.
    Mask,
    /// CPUs as the kernel lists them: `0-3,8`.
    List,
    /// Words, compared without the space around them.
    Text,
    /// A cgroup's `cgroup.subtree_control`: whether the controller of this name is switched on.
    Controller(String),
}

/// A value of a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// CPUs, of a mask, a list or an affinity.
    Cpus(CpuList),
    /// Words of a file, or the directory of a cgroup.
    Text(String),
    /// Whether something is there, or switched on.
    Present(bool),
    /// How a task is scheduled: policy and priority.
    Scheduling(Scheduling),
}

impl Value {
    /// The CPUs, if it is a list of them.
    pub const fn cpus(&self) -> Option<&CpuList> {
        match self {
            Self::Cpus(cpus) => Some(cpus),
            _ => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpus(cpus) if cpus.is_empty() => f.write_str("no CPU"),
            Self::Cpus(cpus) => write!(f, "CPU {cpus}"),
            Self::Text(text) if text.is_empty() => f.write_str("none"),
            Self::Text(text) => f.write_str(text),
            Self::Present(true) => f.write_str("there"),
            Self::Present(false) => f.write_str("absent"),
            Self::Scheduling(scheduling) => scheduling.fmt(f),
        }
    }
}

impl Form {
    /// The value in a file's text; `None` if the text has not this form.
    pub fn parse(&self, text: &str) -> Option<Value> {
        Some(match self {
            Self::Mask => Value::Cpus(CpuList::from_mask(text)?),
            Self::List => Value::Cpus(text.parse().ok()?),
            Self::Text => Value::Text(text.trim().to_owned()),
            Self::Controller(name) => Value::Present(text.split_whitespace().any(|w| w == name)),
        })
    }

    /// What has to be written for `value`. An empty list is a new line: writing nothing would
    /// not reach the kernel.
    pub fn format(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Mask, Value::Cpus(cpus)) => cpus.to_mask(),
            (Self::Controller(name), Value::Present(true)) => format!("+{name}"),
            (Self::Controller(name), Value::Present(false)) => format!("-{name}"),
            (_, Value::Cpus(cpus)) => format!("{cpus}\n"),
            (_, Value::Text(text)) => format!("{text}\n"),
            (_, other) => other.to_string(),
        }
    }
}

/// Why a value was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum LeftReason {
    /// Somebody else changed it after us; it is theirs now.
    ChangedMeanwhile {
        /// The value that was found instead of ours.
        found: Value,
        /// What we had made it.
        ours: Value,
    },
    /// The system refused; a later reset tries again.
    Refused {
        /// The system's error number, 0 if there was none.
        errno: i32,
        /// The kernel's error, without its number.
        reason: String,
    },
}

/// A value that was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// The file, task or cgroup that keeps our value.
    pub target: Target,
    /// What people call it.
    pub label: String,
    /// What it was before us.
    pub original: Value,
    /// Why it was left.
    #[serde(flatten)]
    pub reason: LeftReason,
}

/// Counts of what undoing did, and the values that it left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// Values that were set to what they were before us.
    pub restored: usize,
    /// Values that were as before already.
    pub already: usize,
    /// Targets that are not there any more: tasks that ended, devices that left.
    pub gone: usize,
    /// Values that were left, and why.
    pub left: Vec<Left>,
}

impl Undone {
    /// Adds what another round did.
    pub fn extend(&mut self, other: Self) {
        self.restored += other.restored;
        self.already += other.already;
        self.gone += other.gone;
        self.left.extend(other.left);
    }

    /// True if something is still to be put back.
    pub fn is_unfinished(&self) -> bool {
        self.left.iter().any(|left| matches!(left.reason, LeftReason::Refused { .. }))
    }
}

/// A change that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What people call the target.
    pub label: String,
    /// What it should have become.
    pub new: Value,
    /// The system's error number; 0 if there was none (the value just did not change).
    pub errno: i32,
    /// What the system said.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_means_equal_however_it_is_written() {
        let list = |t: &str| Value::Cpus(t.parse().unwrap());
        for (form, texts, want) in [
            (Form::Mask, ["3\n", "00000003", "0,00000003\n"], list("0-1")),
            (Form::List, ["0-1\n", "0,1", "1,0"], list("0-1")),
            (Form::Text, ["member\n", " member", "member"], Value::Text("member".into())),
            (
                Form::Controller("cpuset".into()),
                ["cpuset", "cpu cpuset\n", "cpuset io"],
                Value::Present(true),
            ),
        ] {
            for text in texts {
                assert_eq!(form.parse(text).as_ref(), Some(&want), "{text:?}");
            }
            let written = form.format(&want);
            assert!(!written.is_empty());
            if !matches!(form, Form::Controller(_)) {
                assert_eq!(form.parse(&written), Some(want));
            }
        }
        assert_eq!(Form::Controller("cpuset".into()).parse("cpu io"), Some(Value::Present(false)));
        assert_eq!(Form::Mask.parse("0-3"), None);
        assert_eq!(Form::List.format(&list("")), "\n");
    }
}
