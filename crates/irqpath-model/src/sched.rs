// SPDX-License-Identifier: GPL-2.0-or-later
//! How a task is scheduled: read from the kernel, from `f:80` on a command line and from stored
//! files, and written as `chrt` writes it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{FromRepr, IntoStaticStr};

/// `MAX_RT_PRIO` (`include/linux/sched/prio.h`): kernel priorities from here on are nice values.
const MAX_RT_PRIO: i16 = 100;
/// `DEFAULT_PRIO`: the kernel priority of nice 0.
const DEFAULT_PRIO: i16 = 120;

/// Scheduling policy (`include/uapi/linux/sched.h`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, FromRepr, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
#[allow(missing_docs)] // the kernel's own names
pub enum Policy {
    #[default]
    #[serde(alias = "other")] // in journals of version 1
    Normal = 0,
    Fifo = 1,
    #[serde(alias = "round_robin")] // in journals of version 1
    Rr = 2,
    Batch = 3,
    Idle = 5,
    Deadline = 6,
    Ext = 7,
}

impl Policy {
    /// True for the two policies that have priorities, `SCHED_FIFO` and `SCHED_RR`.
    pub const fn is_fixed_priority(self) -> bool {
        matches!(self, Self::Fifo | Self::Rr)
    }
}

/// How a task is scheduled, without a priority-inheritance boost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub struct Scheduling {
    /// The scheduling policy, without its flags.
    pub policy: Policy,
    /// 1 to 99 for FIFO and RR, otherwise 0.
    pub priority: u8,
    /// -20 to 19; 0 where the policy has no use for it and the source does not know it.
    pub nice: i8,
}

impl Scheduling {
    /// `SCHED_FIFO` with a priority from 1 to 99.
    pub const fn fifo(priority: u8) -> Self {
        Self { policy: Policy::Fifo, priority, nice: 0 }
    }

    /// `SCHED_RR` with a priority from 1 to 99.
    pub const fn rr(priority: u8) -> Self {
        Self { policy: Policy::Rr, priority, nice: 0 }
    }

    /// `SCHED_OTHER` with a nice value from -20 to 19.
    pub const fn other(nice: i8) -> Self {
        Self { policy: Policy::Normal, priority: 0, nice }
    }

    /// From the kernel's priority (`task_struct::prio` or `normal_prio`), which tells more than
    /// the policy where a task is boosted or the source does not know its policy.
    pub fn from_prio(policy: Policy, prio: i16) -> Self {
        match prio {
            ..0 => Self { policy: Policy::Deadline, ..Self::default() },
            0..MAX_RT_PRIO => {
                let policy = if policy == Policy::Rr { policy } else { Policy::Fifo };
                Self { policy, priority: (MAX_RT_PRIO - 1 - prio) as u8, nice: 0 }
            }
            _ => Self { policy, priority: 0, nice: (prio - DEFAULT_PRIO).clamp(-20, 19) as i8 },
        }
    }

    /// The kernel's priority (`normal_prio`).
    fn prio(self) -> i16 {
        match self.policy {
            Policy::Deadline => -1,
            Policy::Fifo | Policy::Rr => MAX_RT_PRIO - 1 - i16::from(self.priority),
            _ => DEFAULT_PRIO + i16::from(self.nice),
        }
    }

    /// True for `SCHED_OTHER` with nice 0, as most tasks have it.
    pub fn is_default(self) -> bool {
        self == Self::default()
    }

    /// The priority among FIFO and RR tasks; 0 for every other policy.
    pub const fn fixed_priority(self) -> u8 {
        if self.policy.is_fixed_priority() { self.priority } else { 0 }
    }
}

/// As text: the fields, and in results of schema versions 1 and 2 the kernel's priority instead.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Scheduling")]
struct Stored {
    policy: Policy,
    #[serde(default, skip_serializing)]
    prio: Option<i16>,
    #[serde(default)]
    priority: u8,
    #[serde(default)]
    nice: i8,
}

/// Recordings have the kernel's priority, as their events do.
impl Serialize for Scheduling {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { policy, priority, nice } = *self;
        if serializer.is_human_readable() {
            Stored { policy, prio: None, priority, nice }.serialize(serializer)
        } else {
            (policy, self.prio()).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Scheduling {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            let (policy, prio) = Deserialize::deserialize(deserializer)?;
            return Ok(Self::from_prio(policy, prio));
        }
        let Stored { policy, prio, priority, nice } = Stored::deserialize(deserializer)?;
        Ok(prio.map_or(Self { policy, priority, nice }, |prio| Self::from_prio(policy, prio)))
    }
}

/// `chrt` notation: `f:80`, `r:10`, `d`, and with the nice value `o:0`, `b:0`, `i:0`, `e:0`.
impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, priority, nice } = self;
        match policy {
            Policy::Fifo => write!(f, "f:{priority}"),
            Policy::Rr => write!(f, "r:{priority}"),
            Policy::Normal => write!(f, "o:{nice}"),
            Policy::Batch => write!(f, "b:{nice}"),
            Policy::Idle => write!(f, "i:{nice}"),
            Policy::Deadline => f.write_str("d"),
            Policy::Ext => write!(f, "e:{nice}"),
        }
    }
}

/// A text names no scheduling that a user can ask for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no priority; write f:80 or 80 for FIFO, r:80 for round robin, o:0 for a nice value"
)]
pub struct SchedulingError(String);

/// `f:80`, `FIFO:80`, `r:10`, `o:0` with the nice value, or `80` for FIFO.
impl FromStr for Scheduling {
    type Err = SchedulingError;

    fn from_str(text: &str) -> Result<Self, SchedulingError> {
        let (class, number) = text.split_once(':').unwrap_or(("f", text));
        let priority = || number.parse().ok().filter(|priority| (1..=99).contains(priority));
        let nice = || number.parse().ok().filter(|nice| (-20..=19).contains(nice));
        let found = match class.to_ascii_lowercase().as_str() {
            "f" | "fifo" => priority().map(Self::fifo),
            "r" | "rr" => priority().map(Self::rr),
            "o" | "other" => nice().map(Self::other),
            _ => None,
        };
        found.ok_or_else(|| SchedulingError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_as_people_write_it_and_written_as_chrt_does() {
        for (text, want, shown) in [
            ("80", Scheduling::fifo(80), "f:80"),
            ("f:1", Scheduling::fifo(1), "f:1"),
            ("FIFO:99", Scheduling::fifo(99), "f:99"),
            ("rr:10", Scheduling::rr(10), "r:10"),
            ("o:-5", Scheduling::other(-5), "o:-5"),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
            assert_eq!(want.to_string(), shown);
        }
        for text in ["", "0", "100", "f:", "f:0", "x:5", "o:20", "o:-21", "f:8O", "-1"] {
            let error = text.parse::<Scheduling>().unwrap_err().to_string();
            assert!(error.contains("f:80"), "{text}: {error}");
        }
    }

    #[test]
    fn the_kernels_priority_tells_a_boost_and_a_deadline() {
        for (policy, prio, want) in [
            (Policy::Fifo, 9, "f:90"),
            (Policy::Rr, 89, "r:10"),
            (Policy::Normal, 9, "f:90"),
            (Policy::Deadline, -1, "d"),
            (Policy::Normal, 120, "o:0"),
            (Policy::Normal, 100, "o:-20"),
            (Policy::Batch, 125, "b:5"),
            (Policy::Idle, 120, "i:0"),
            (Policy::Ext, 139, "e:19"),
        ] {
            assert_eq!(Scheduling::from_prio(policy, prio).to_string(), want);
        }
    }

    #[test]
    fn every_stored_form_is_read() {
        for (stored, want) in [
            (r#"{"policy":"rr","priority":10,"nice":0}"#, Scheduling::rr(10)),
            (r#"{"policy":"normal","prio":125}"#, Scheduling::other(5)),
            (r#"{"policy":"fifo","prio":19}"#, Scheduling::fifo(80)),
            (r#"{"policy":"other","priority":0,"nice":-3}"#, Scheduling::other(-3)),
            (r#"{"policy":"round_robin","priority":7,"nice":0}"#, Scheduling::rr(7)),
        ] {
            assert_eq!(serde_json::from_str::<Scheduling>(stored).unwrap(), want, "{stored}");
        }
    }

    #[test]
    fn the_kernels_priority_comes_back() {
        for scheduling in [
            Scheduling::fifo(1),
            Scheduling::rr(99),
            Scheduling::other(-20),
            Scheduling { policy: Policy::Batch, priority: 0, nice: 19 },
            Scheduling { policy: Policy::Deadline, ..Scheduling::default() },
        ] {
            let back = Scheduling::from_prio(scheduling.policy, scheduling.prio());
            assert_eq!(back, scheduling);
        }
    }
}
