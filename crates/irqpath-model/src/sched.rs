// SPDX-License-Identifier: GPL-2.0-or-later
//! A task's scheduling as people write it: `f:80`, `FIFO:80`, `r:10`, `o:0`, or `80`.

use std::fmt;
use std::str::FromStr;

use crate::Policy;

/// Policy and priority of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sched {
    /// `SCHED_FIFO`, 1 to 99.
    Fifo(u8),
    /// `SCHED_RR`, 1 to 99.
    Rr(u8),
    /// `SCHED_OTHER` with a nice value, -20 to 19.
    Other(i8),
}

/// A text is none of the forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no priority; write f:80 or 80 for FIFO, r:80 for round robin, o:0 for a nice value"
)]
pub struct SchedError(String);

impl Sched {
    /// The kernel's policy.
    pub const fn policy(self) -> Policy {
        match self {
            Self::Fifo(_) => Policy::Fifo,
            Self::Rr(_) => Policy::Rr,
            Self::Other(_) => Policy::Normal,
        }
    }

    /// `sched_priority`: 0 for a task that is not real-time.
    pub const fn priority(self) -> u8 {
        match self {
            Self::Fifo(priority) | Self::Rr(priority) => priority,
            Self::Other(_) => 0,
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo(priority) => write!(f, "f:{priority}"),
            Self::Rr(priority) => write!(f, "r:{priority}"),
            Self::Other(nice) => write!(f, "o:{nice}"),
        }
    }
}

impl FromStr for Sched {
    type Err = SchedError;

    fn from_str(text: &str) -> Result<Self, SchedError> {
        let (class, number) = text.split_once(':').unwrap_or(("f", text));
        let priority = || number.parse().ok().filter(|priority| (1..=99).contains(priority));
        let nice = || number.parse().ok().filter(|nice| (-20..=19).contains(nice));
        let found = match class.to_ascii_lowercase().as_str() {
            "f" | "fifo" => priority().map(Self::Fifo),
            "r" | "rr" => priority().map(Self::Rr),
            "o" | "other" => nice().map(Self::Other),
            _ => None,
        };
        found.ok_or_else(|| SchedError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_as_people_write_it_and_written_as_chrt_does() {
        for (text, want, shown) in [
            ("80", Sched::Fifo(80), "f:80"),
            ("f:1", Sched::Fifo(1), "f:1"),
            ("FIFO:99", Sched::Fifo(99), "f:99"),
            ("rr:10", Sched::Rr(10), "r:10"),
            ("o:-5", Sched::Other(-5), "o:-5"),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
            assert_eq!(want.to_string(), shown);
        }
        for text in ["", "0", "100", "f:", "f:0", "x:5", "o:20", "o:-21", "f:8O", "-1"] {
            let error = text.parse::<Sched>().unwrap_err().to_string();
            assert!(error.contains("f:80"), "{text}: {error}");
        }
    }
}
