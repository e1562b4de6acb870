// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks of bottom-half mechanisms: what `intsight` was told, what it recorded, and what
//! that amounts to.
//!
//! - [`BenchConfig`]: the parameters of one benchmark.
//! - [`BenchCapture`], [`Runs`]: what came out of the kernel, in clock ticks.
//! - [`BenchSeries`]: its summary, in nanoseconds, as `summary.json` keeps it.
//!
//! `irqpath-source` makes captures, `irqpath-analysis` turns each into a series, `irqpath-report`
//! shows series. A *run* is one interrupt with its bottom half; a *checkpoint* is a name and a
//! stamp of every clock.

use strum::VariantArray;

mod capture;
mod clock;
mod config;
mod latencies;
mod mechanism;
mod series;

pub use capture::{BOTTOM_HALF, BenchCapture, BenchOverflow, Run, Runs, RunsError, TOP_HALF};
pub use clock::{Clock, ClockRate, RateSource};
pub use config::{BenchConfig, Wait};
pub use latencies::{BenchQuantiles, Latencies};
pub use mechanism::Mechanism;
pub use series::{BenchCause, BenchSeries, BenchTail, ClockResolution};

/// A word is not one of those that exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} '{found}'; there is: {known}")]
pub struct UnknownWord {
    /// What the word should have named.
    pub what: &'static str,
    /// The word that was found.
    pub found: String,
    /// The words that exist, separated by spaces.
    pub known: String,
}

impl UnknownWord {
    pub(crate) fn new<T>(what: &'static str, found: &str) -> Self
    where
        T: VariantArray + Into<&'static str> + Copy,
    {
        let known: Vec<&str> = T::VARIANTS.iter().map(|&known| known.into()).collect();
        Self { what, found: found.to_owned(), known: known.join(" ") }
    }
}
