// SPDX-License-Identifier: GPL-2.0-or-later
//! The clocks that a checkpoint stamps, and how their ticks become nanoseconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::UnknownWord;

/// A clock, by the name of its file in `csv_results`; the finest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown)]
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
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in files, on the command line and in output.
    pub fn name(self) -> &'static str {
        self.into()
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

fn unknown(text: &str) -> UnknownWord {
    UnknownWord::new::<Clock>("clock", text)
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

/// Ticks per second of a clock, and where the number is from.
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
            assert_eq!(clock.name().parse(), Ok(*clock));
        }
        let error = "sundial".parse::<Clock>().unwrap_err().to_string();
        assert!(error.starts_with("there is no clock 'sundial'; there is: tsc pmccntr"), "{error}");
    }
}
