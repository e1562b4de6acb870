// SPDX-License-Identifier: GPL-2.0-or-later
//! Response tests: how long after a periodic interrupt the task that waits for it runs.
//!
//! `irqpath-source` measures, `irqpath-analysis` counts, `irqpath-report` shows. Counts in buckets
//! with fixed bounds are exact; the HDR histogram beside them is for quantiles and figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::bench::UnknownWord;
use crate::{Histogram, Quantiles};

/// The timer or device that interrupts periodically.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown)]
#[serde(rename_all = "snake_case")]
pub enum ResponseSource {
    /// `clock_nanosleep` until absolute times.
    #[default]
    Timer,
    /// A periodic timer by `timerfd_settime`.
    Timerfd,
    /// The real-time clock, by `/dev/rtc`.
    Rtc,
    /// `/dev/hpet`, whose counter is read in user space.
    Hpet,
    /// `/dev/intsight`, the test device of the kernel module.
    Device,
}

impl ResponseSource {
    /// Every source that `respond` can wait for.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What the latency is measured from.
    pub const fn time_basis(self) -> ResponseBasis {
        match self {
            Self::Timer | Self::Timerfd => ResponseBasis::Expiry,
            Self::Rtc => ResponseBasis::Interval,
            Self::Hpet => ResponseBasis::Comparator,
            Self::Device => ResponseBasis::Raise,
        }
    }
}

fn unknown(text: &str) -> UnknownWord {
    UnknownWord::new::<ResponseSource>("source", text)
}

/// What a latency is measured from; its end is always a clock read of the task in user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseBasis {
    /// The time for which the timer was programmed.
    Expiry,
    /// The return from the wait before, plus one period: what an interval took too long. An early
    /// return after a late one counts as 0.
    Interval,
    /// The comparator of the device that raised the interrupt, by its own counter.
    Comparator,
    /// The cycle counter just before the device raised its interrupt.
    Raise,
}

impl ResponseBasis {
    /// The basis in words, as tables name it.
    pub const fn describe_source(self) -> &'static str {
        match self {
            Self::Expiry => "from the programmed expiry",
            Self::Interval => "beyond the period, from return to return",
            Self::Comparator => "from the comparator's match, by the device's counter",
            Self::Raise => "from the raise, by the cycle counter",
        }
    }
}

/// How many times fell into `[low_ns, high_ns)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bucket {
    /// The lowest time that counts here, ns.
    pub low_ns: u64,
    /// First time above, ns; `None` for the last bucket.
    pub high_ns: Option<u64>,
    /// How many times fell into it.
    pub n: u64,
}

/// The response that ended a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exceeded {
    /// The response time that was over the threshold, ns.
    pub ns: u64,
    /// Its number, from 1.
    pub nr: u64,
    /// When the task had read the clock, `CLOCK_MONOTONIC` ns; absent in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ns: Option<u64>,
}

/// One source, waited for on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The timer or device that interrupted.
    pub source: ResponseSource,
    /// What that really was: the device, its line, or the timer that stood in for it.
    pub origin: String,
    /// What raised the interrupts in the place of the named device, if it did not do so itself.
    pub stand_in: Option<String>,
    /// What the latencies are measured from.
    pub basis: ResponseBasis,
    /// The CPU that the task was bound to.
    pub cpu: u16,
    /// The task's thread id.
    pub tid: u32,
    /// Its scheduling as it was in force: `f:80`, `o:0`.
    pub sched: String,
    /// Distance of two interrupts, ns.
    pub period_ns: u64,
    /// The row of numbers.
    pub quantiles: Quantiles,
    /// The response times of the whole test, ns.
    pub histogram: Histogram,
    /// Exact counts between the bounds of the documents' tables.
    pub table: Vec<Bucket>,
    /// Exact counts between bounds that double, from 1 us.
    pub doubling: Vec<Bucket>,
    /// Interrupts that came before the task waited again.
    pub nr_missed: u64,
    /// Returns before the period was over; they count as 0.
    pub nr_early: u64,
    /// Responses that were measured and could not be kept.
    pub nr_lost: u64,
    /// The threshold, ns, if one was given.
    pub threshold_ns: Option<u64>,
    /// The response that was over it.
    pub exceeded: Option<Exceeded>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_known_by_their_names() {
        for source in ResponseSource::ALL {
            assert_eq!(source.name().parse(), Ok(*source));
        }
        let error = "sundial".parse::<ResponseSource>().unwrap_err().to_string();
        assert_eq!(error, "there is no source 'sundial'; there is: timer timerfd rtc hpet device");
    }
}
