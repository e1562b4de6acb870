// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks as a path sees them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::printable::{name_bytes, printable, printable_name};

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

    /// The printable text.
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

/// Scheduling policy (`include/uapi/linux/sched.h`).
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the kernel's own names
pub enum Policy {
    #[default]
    Normal,
    Fifo,
    Rr,
    Batch,
    Idle,
    Deadline,
    Ext,
}

impl Policy {
    /// From the kernel's number; unknown numbers read as `Normal`.
    pub const fn from_nr(nr: u8) -> Self {
        match nr {
            1 => Self::Fifo,
            2 => Self::Rr,
            3 => Self::Batch,
            5 => Self::Idle,
            6 => Self::Deadline,
            7 => Self::Ext,
            _ => Self::Normal,
        }
    }
}

/// Policy and priority of a task.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub struct Scheduling {
    /// Scheduling policy.
    pub policy: Policy,
    /// Kernel priority, as [`Task::normal_prio`].
    pub prio: i16,
}

impl Scheduling {
    /// True for a task of the normal policy with nice 0, as most are.
    pub fn is_default(self) -> bool {
        self == Self { policy: Policy::Normal, prio: 120 }
    }
}

/// `chrt` notation: `f:80`, `r:10`, `d`, and with the nice value `o:0`, `b:0`, `i:0`, `e:0`.
impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nice = i32::from(self.prio) - 120;
        match (self.prio, self.policy) {
            (i16::MIN..=-1, _) => f.pad("d"),
            (0..=99, policy) => {
                let class = if policy == Policy::Rr { 'r' } else { 'f' };
                write!(f, "{class}:{}", 99 - self.prio)
            }
            (140.., _) => f.pad("idle"),
            (_, Policy::Batch) => write!(f, "b:{nice}"),
            (_, Policy::Idle) => write!(f, "i:{nice}"),
            (_, Policy::Ext) => write!(f, "e:{nice}"),
            _ => write!(f, "o:{nice}"),
        }
    }
}

/// A task at the moment it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Thread id (what the kernel calls pid). 0 is the idle task.
    pub tid: u32,
    /// Thread group id; 0 where the source does not know it.
    pub tgid: u32,
    /// Name.
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

    /// How it is scheduled now, boost included, in the notation of [`Scheduling`].
    pub fn sched(&self) -> String {
        Scheduling { policy: self.policy, prio: self.prio }.to_string()
    }

    /// How it is scheduled without a boost.
    pub fn scheduling(&self) -> Scheduling {
        Scheduling { policy: self.policy, prio: self.normal_prio }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduling_is_written_as_chrt_writes_it() {
        for (policy, prio, want) in [
            (Policy::Fifo, 9, "f:90"),
            (Policy::Rr, 89, "r:10"),
            (Policy::Deadline, -1, "d"),
            (Policy::Normal, 120, "o:0"),
            (Policy::Normal, 100, "o:-20"),
            (Policy::Batch, 125, "b:5"),
            (Policy::Idle, 120, "i:0"),
            (Policy::Ext, 120, "e:0"),
            (Policy::Normal, 140, "idle"),
        ] {
            assert_eq!(Scheduling { policy, prio }.to_string(), want);
        }
    }

    #[test]
    fn a_boost_is_shown_but_is_no_other_scheduling() {
        let task = Task { prio: 9, normal_prio: 120, ..Task::default() };
        assert_eq!(task.sched(), "f:90");
        assert!(task.scheduling().is_default());
    }
}
