// SPDX-License-Identifier: GPL-2.0-or-later
//! Values of [targets](super::Target), in a form in which equal means equal, and their way from
//! and to the text of a kernel file.

use irqpath_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Form;
use crate::mask;

/// A scheduling policy (`include/uapi/linux/sched.h`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
pub enum Policy {
    /// `SCHED_OTHER`
    Other = 0,
    /// `SCHED_FIFO`
    Fifo = 1,
    /// `SCHED_RR`
    RoundRobin = 2,
    /// `SCHED_BATCH`
    Batch = 3,
    /// `SCHED_IDLE`
    Idle = 5,
    /// `SCHED_DEADLINE`; can be read, but not be set by [`Scheduling`].
    Deadline = 6,
    /// `SCHED_EXT`
    Ext = 7,
}

impl Policy {
    /// The policy of this number; `None` for one that no kernel up to 6.18 has.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Other,
            1 => Self::Fifo,
            2 => Self::RoundRobin,
            3 => Self::Batch,
            5 => Self::Idle,
            6 => Self::Deadline,
            7 => Self::Ext,
            _ => return None,
        })
    }
}

/// How a task is scheduled.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Scheduling {
    /// Its policy.
    pub policy: Policy,
    /// 1 to 99 for `fifo` and `round_robin`, otherwise 0.
    pub priority: u8,
    /// -20 to 19.
    pub nice: i8,
}

/// A value of a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// CPUs.
    Cpus(CpuList),
    /// Words of a file, or the directory of a cgroup.
    Text(String),
    /// Whether something is there, or switched on.
    Present(bool),
    /// Policy and priority.
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
            Self::Text(text) => f.write_str(text),
            Self::Present(true) => f.write_str("there"),
            Self::Present(false) => f.write_str("absent"),
            Self::Scheduling(scheduling) => scheduling.fmt(f),
        }
    }
}

/// As the command line takes it: `f:50`, `r:10`, `o:-5` with the nice value.
impl std::fmt::Display for Scheduling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { policy, priority, nice } = self;
        match policy {
            Policy::Fifo => write!(f, "f:{priority}"),
            Policy::RoundRobin => write!(f, "r:{priority}"),
            Policy::Other => write!(f, "o:{nice}"),
            Policy::Batch => write!(f, "b:{nice}"),
            Policy::Idle => f.write_str("i"),
            Policy::Deadline => f.write_str("d"),
            Policy::Ext => f.write_str("e"),
        }
    }
}

impl Form {
    /// The value in a file's text; `None` if the text has not this form.
    pub fn parse(&self, text: &str) -> Option<Value> {
        Some(match self {
            Self::Mask => Value::Cpus(mask::parse(text)?),
            Self::List => Value::Cpus(text.parse().ok()?),
            Self::Text => Value::Text(text.trim().to_owned()),
            Self::Controller(name) => Value::Present(text.split_whitespace().any(|w| w == name)),
        })
    }

    /// What has to be written for `value`. An empty list is a new line: writing nothing would
    /// not reach the kernel.
    pub fn format(&self, value: &Value) -> String {
        match (self, value) {
            (Self::Mask, Value::Cpus(cpus)) => mask::format(cpus),
            (Self::Controller(name), Value::Present(true)) => format!("+{name}"),
            (Self::Controller(name), Value::Present(false)) => format!("-{name}"),
            (_, Value::Cpus(cpus)) => format!("{cpus}\n"),
            (_, Value::Text(text)) => format!("{text}\n"),
            (_, other) => other.to_string(),
        }
    }
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
