// SPDX-License-Identifier: GPL-2.0-or-later
//! Ticks per second of a clock, from the best source that there is.
//!
//! A cycle counter is compared with a nanosecond clock that the same checkpoints stamped: over
//! the whole benchmark, which is exact to parts in a million, or only within runs if the counter
//! may stop while the CPU idles. Both clocks are read at both ends, in the same order, so what
//! reading them takes falls out.

use irqpath_model::bench::{BenchCapture, Clock, ClockRate, RateSource};

use super::BenchError;

/// Nanosecond clocks to compare with; that of the time of day may step.
const REFERENCES: [Clock; 2] = [Clock::Ktime, Clock::KtimeMonoFast];

/// Shorter comparisons say nothing: a kernel clock may step by 100 ns.
const MIN_REFERENCE_NS: u128 = 100_000;

/// The rate of `clock`.
pub fn find_rate(
    capture: &BenchCapture,
    clock: Clock,
    is_exact: bool,
) -> Result<ClockRate, BenchError> {
    if clock.counts_ns() {
        return Ok(ClockRate::NANOSECONDS);
    }
    // The generic timer of Arm does not count instructions in exact mode either.
    if is_exact && clock != Clock::Cntvct {
        return Ok(ClockRate::EXACT);
    }
    let given = capture.rates.get(&clock).copied();
    given.or_else(|| compare_clocks(capture, clock)).ok_or(BenchError::NoRate(clock))
}

fn compare_clocks(capture: &BenchCapture, clock: Clock) -> Option<ClockRate> {
    let (length, source): (fn(&BenchCapture, Clock) -> Option<u128>, _) = if clock.stops_in_idle() {
        (within_runs, RateSource::WithinRuns)
    } else {
        (whole_span, RateSource::WholeSpan)
    };
    REFERENCES.into_iter().find_map(|reference| {
        rate_between(length(capture, clock)?, length(capture, reference)?, source)
    })
}

fn rate_between(ticks: u128, ns: u128, source: RateSource) -> Option<ClockRate> {
    if ns < MIN_REFERENCE_NS {
        return None;
    }
    let hz = u64::try_from((ticks * 1_000_000_000 + ns / 2) / ns).ok()?;
    (hz > 0).then_some(ClockRate { hz, source })
}

/// Ticks from the first checkpoint to the last one.
fn whole_span(capture: &BenchCapture, clock: Clock) -> Option<u128> {
    let mut stamps = capture.runs.by_clock(clock)?.flat_map(|run| run.ticks.iter().copied());
    let first = stamps.next()?;
    stamps.last()?.checked_sub(first).map(u128::from)
}

/// Ticks from the first to the last checkpoint of each run, summed.
fn within_runs(capture: &BenchCapture, clock: Clock) -> Option<u128> {
    let runs = capture.runs.by_clock(clock)?;
    let lengths = runs.filter_map(|run| run.ticks.last()?.checked_sub(*run.ticks.first()?));
    Some(lengths.map(u128::from).sum())
}
