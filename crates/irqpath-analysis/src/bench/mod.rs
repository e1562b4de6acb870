// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks: from the checkpoints of every run to a series with its quantiles and causes.
//!
//! - `pairing` finds the two halves of each run, and what was met between them;
//! - `rate` turns clock ticks into nanoseconds;
//! - `causes` says what slow runs met that undelayed ones did not, `stages` where they were
//!   slow if they met nothing;
//! - `events` has the words for tracepoints;
//! - `label` gives the series of a result their order and names.
//!
//! The rule: the latency of a run is the distance from its top half to the first bottom half
//! after it. Runs with an interrupt in between are counted, and stay out of every quantile.

mod causes;
mod events;
mod label;
mod pairing;
mod rate;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::InterruptCounts;
use irqpath_model::bench::{
    BenchCapture, BenchSeries, Clock, ClockRate, ClockResolution, Latencies,
};

pub use events::{event_label, is_interrupt, is_nothing};
pub use label::{rounded_up, sort_and_label};

use causes::Causes;
use pairing::Pairing;
use stages::Stages;

/// What the capture does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The machine was the lab's in exact mode: cycle counters count instructions, at 1 GHz.
    pub is_exact: bool,
    /// Machine or kernel, where a result joins several; else empty.
    pub set: String,
}

/// Why a capture could not be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BenchError {
    /// The clock was not recorded.
    #[error("the clock {clock} was not recorded; the module has: {recorded}")]
    NoClock {
        /// The clock asked for.
        clock: Clock,
        /// The names of the recorded clocks, as the message shows them.
        recorded: String,
    },
    /// Ticks cannot be turned into time.
    #[error(
        "the rate of the clock {0} is not known; record ktime too, or write '{0} HZ' into the file clock_rates beside reps"
    )]
    NoRate(Clock),
}

/// The summary of a capture by one clock. Its label is empty until [`sort_and_label`].
pub fn analyse_series(
    capture: &BenchCapture,
    clock: Clock,
    options: &Options,
) -> Result<BenchSeries, BenchError> {
    let pairing = Pairing::new(capture, clock)?;
    let rate = rate::find_rate(capture, clock, options.is_exact)?;
    let causes = Causes::new(capture, &pairing);
    let (mut clean, mut interrupted) = (Latencies::default(), Latencies::default());
    for run in &pairing.runs {
        let target = if causes.is_interrupted(run) { &mut interrupted } else { &mut clean };
        target.record_ns(rate.ns(run.ticks));
    }
    let quantiles = clean.quantiles();
    let bound_ns = rounded_up(quantiles.q95_ns + quantiles.q95_ns / 2);
    let stages = Stages::new(capture, &pairing, clock, |run| causes.is_undelayed(run));
    let groups = causes.group_runs(&pairing, &stages, rate, quantiles.q95_ns);
    Ok(BenchSeries {
        label: String::new(),
        set: options.set.clone(),
        config: capture.config.clone(),
        clock,
        rate,
        nr_runs: capture.runs.len() as u64,
        nr_irq: causes.sees_interrupts().then(|| interrupted.len()),
        nr_late: pairing.runs.iter().filter(|r| r.is_late).count() as u64,
        nr_incomplete: pairing.nr_incomplete,
        nr_backwards: pairing.nr_backwards,
        quantiles,
        max_irq_ns: clean.max_ns().max(interrupted.max_ns()),
        bound_ns,
        nr_oob: clean.nr_over(bound_ns),
        latencies: clean,
        irq_latencies: interrupted,
        resolution: clock_resolution(&pairing, rate),
        base_path: causes.base_path(&stages),
        tail: causes.sees_work().then(|| causes::explain_tail(&groups)),
        causes: groups,
        overflow: capture.overflow,
        checkpoint_cost_ns: checkpoint_cost(capture, clock, rate),
        interrupts: interrupt_growth(capture.before.as_ref(), capture.after.as_ref()),
    })
}

/// The module measures the cost by its finest clock.
fn checkpoint_cost(capture: &BenchCapture, clock: Clock, rate: ClockRate) -> Option<u64> {
    let ticks = capture.checkpoint_cost_ticks?;
    (capture.runs.clocks().next() == Some(clock)).then(|| rate.ns(ticks))
}

fn clock_resolution(pairing: &Pairing, rate: ClockRate) -> ClockResolution {
    let distinct: BTreeSet<u64> = pairing.runs.iter().map(|r| r.ticks).collect();
    let gaps = || distinct.iter().zip(distinct.iter().skip(1)).map(|(low, high)| high - low);
    ClockResolution {
        nr_distinct: distinct.len() as u64,
        step_ticks: gaps().fold(0, gcd),
        min_gap_ns: gaps().min().map_or(0, |ticks| rate.ns(ticks)),
    }
}

/// The greatest common divisor; `gcd(0, n)` is n.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// By how much each row grew, all CPUs together; rows that did not are left out.
fn interrupt_growth(
    before: Option<&InterruptCounts>,
    after: Option<&InterruptCounts>,
) -> BTreeMap<String, u64> {
    let (Some(before), Some(after)) = (before, after) else { return BTreeMap::new() };
    let tables = [(&before.interrupts, &after.interrupts), (&before.softirqs, &after.softirqs)];
    let mut growth = BTreeMap::new();
    for (before, after) in tables {
        for (label, counts) in after {
            let sum = |counts: Option<&Vec<u64>>| counts.map_or(0, |c| c.iter().sum::<u64>());
            let grown = sum(Some(counts)).saturating_sub(sum(before.get(label)));
            if grown > 0 {
                growth.insert(label.clone(), grown);
            }
        }
    }
    growth
}
