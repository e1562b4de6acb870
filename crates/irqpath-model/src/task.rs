// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks as a path sees them.

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

impl std::fmt::Display for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

    /// `chrt` notation: `f:80`, `r:10`, `d`, `o:0` (with the nice value).
    pub fn sched(&self) -> String {
        match self.prio {
            i16::MIN..=-1 => "d".to_owned(),
            p @ 0..=99 => {
                let class = if self.policy == Policy::Rr { 'r' } else { 'f' };
                format!("{class}:{}", 99 - p)
            }
            p @ 100..=139 => format!("o:{}", p - 120),
            140.. => "idle".to_owned(),
        }
    }
}
