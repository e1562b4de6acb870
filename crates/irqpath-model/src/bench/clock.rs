// SPDX-License-Identifier: GPL-2.0-or-later
//! The clocks that a checkpoint stamps, and how their ticks become nanoseconds.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnknownWord;

/// A clock, by the name of its file in `csv_results`; the finest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// x86 time stamp counter, ticks.
    Tsc,
    /// Arm cycle counter, ticks; may stop while the CPU idles.
    Pmccntr,
    /// Arm generic timer, ticks.
    Cntvct,
    /// `ktime_get_mono_fast_ns()`, ns.
    KtimeMonoFast,
    /// `ktime_get()`, ns.
    Ktime,
    /// `ktime_get_real()`, ns; steps when the time of day is set.
    KtimeReal,
}

impl Clock {
    /// Every clock, the finest first.
    pub const ALL: [Self; 6] =
        [Self::Tsc, Self::Pmccntr, Self::Cntvct, Self::KtimeMonoFast, Self::Ktime, Self::KtimeReal];

    /// Its name in files, on the command line and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Pmccntr => "pmccntr",
            Self::Cntvct => "cntvct",
            Self::KtimeMonoFast => "ktime_mono_fast",
            Self::Ktime => "ktime",
            Self::KtimeReal => "ktime_real",
        }
    }

    /// True if its stamps are nanoseconds already.
    pub const fn counts_ns(self) -> bool {
        matches!(self, Self::KtimeMonoFast | Self::Ktime | Self::KtimeReal)
    }

    /// True if it may stand still while the CPU idles.
    pub const fn stops_in_idle(self) -> bool {
        matches!(self, Self::Pmccntr)
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Clock {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|c| c.name() == text)
            .ok_or_else(|| UnknownWord::new("clock", text, Self::ALL.into_iter().map(Self::name)))
    }
}

/// How a clock's rate became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateSource {
    /// The clock counts nanoseconds.
    Nanoseconds,
    /// Exact mode of the lab: one tick is one instruction is one nanosecond.
    Exact,
    /// Given by whoever made the capture: measured by user space while the benchmark ran, or
    /// stated by the hardware.
    Given,
    /// Against a nanosecond clock stamped by the same checkpoints, first to last.
    WholeSpan,
    /// The same, but only within runs, as the clock stops in between.
    WithinRuns,
}

/// Ticks per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRate {
    /// Ticks per second; never 0.
    pub hz: u64,
    /// How that is known.
    pub source: RateSource,
}

impl ClockRate {
    /// Of a clock that counts nanoseconds.
    pub const NANOSECONDS: Self = Self { hz: 1_000_000_000, source: RateSource::Nanoseconds };
    /// Of a cycle counter in exact mode: one tick is one instruction is one nanosecond.
    pub const EXACT: Self = Self { hz: 1_000_000_000, source: RateSource::Exact };

    /// A length in ns, rounded to the nearest.
    pub fn ns(self, ticks: u64) -> u64 {
        let hz = u128::from(self.hz.max(1));
        let ns = (u128::from(ticks) * 1_000_000_000 + hz / 2) / hz;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_rounded_to_the_nearest() {
        let arm = ClockRate { hz: 528_000_000, source: RateSource::Given };
        for (ticks, ns) in
            [(0, 0), (1, 2), (528, 1_000), (2_112, 4_000), (528_000_000, 1_000_000_000)]
        {
            assert_eq!(arm.ns(ticks), ns, "{ticks}");
        }
        assert_eq!(ClockRate::EXACT.ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn words_read_back() {
        for clock in Clock::ALL {
            assert_eq!(clock.name().parse(), Ok(clock));
        }
        let error = "sundial".parse::<Clock>().unwrap_err().to_string();
        assert!(error.starts_with("there is no clock 'sundial'; there is: tsc pmccntr"), "{error}");
    }
}
