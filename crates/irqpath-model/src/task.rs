// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks as a path sees them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::printable::{name_bytes, printable, printable_name};
use crate::{Policy, Scheduling};

/// A task's `comm`, printable: what is not is escaped, so that two names never look the same and
/// none can steer what shows it. See [`crate::printable()`].
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Comm(String);

impl Comm {
    /// From the kernel's NUL-padded array.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        Self(printable_name(&bytes[..end]))
    }

    /// From text that a `Comm` was written as. Only what is not printable is escaped again.
    pub fn from_stored(text: &str) -> Self {
        Self(printable(text).into_owned())
    }

    /// The name as printable text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes that the kernel has, which may steer a terminal. For comparing only.
    pub fn to_kernel_bytes(&self) -> Vec<u8> {
        name_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Comm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from_stored(&text))
    }
}

impl From<&str> for Comm {
    fn from(s: &str) -> Self {
        Self(printable_name(s.as_bytes()))
    }
}

impl fmt::Display for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What names a task for good: the kernel gives a number out again, but not within one clock tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct TaskId {
    /// Kernel thread id, which can be used again later.
    pub tid: u32,
    /// When it started, clock ticks since boot (field 22 of `/proc/TID/stat`).
    pub start_ticks: u64,
}

/// A task at the moment it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Thread id (what the kernel calls pid). 0 is the idle task.
    pub tid: u32,
    /// Thread group id; 0 where the source does not know it.
    pub tgid: u32,
    /// Its name at that moment; a task can change it.
    pub comm: Comm,
    /// Effective kernel priority (`task_struct::prio`): -1 deadline, 0..=98 real-time with lower
    /// meaning more urgent, 100..=139 normal, 140 idle. Includes a priority-inheritance boost.
    pub prio: i16,
    /// Priority without a boost (`normal_prio`).
    pub normal_prio: i16,
    /// Scheduling policy; `Normal` where the source does not know it.
    pub policy: Policy,
}

impl Task {
    /// True for a per-CPU idle task.
    pub fn is_idle(&self) -> bool {
        self.tid == 0
    }

    /// True if it runs with real-time or deadline priority now, boost included.
    pub fn is_realtime(&self) -> bool {
        self.prio < 100
    }

    /// True while it holds a lock that a more urgent task waits for.
    pub fn is_boosted(&self) -> bool {
        self.prio < self.normal_prio
    }

    /// How it is scheduled now, boost included.
    pub fn effective_scheduling(&self) -> Scheduling {
        Scheduling::from_prio(self.policy, self.prio)
    }

    /// How it is scheduled without a boost.
    pub fn scheduling(&self) -> Scheduling {
        Scheduling::from_prio(self.policy, self.normal_prio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boost_is_shown_but_is_no_other_scheduling() {
        let task = Task { prio: 9, normal_prio: 120, ..Task::default() };
        assert_eq!(task.effective_scheduling(), Scheduling::fifo(90));
        assert!(task.scheduling().is_default());
    }
}
