// SPDX-License-Identifier: GPL-2.0-or-later
//! How much two measurements differ, and whether their samples can show that.
//!
//! - [`Sample`]: what was measured, from a histogram or from exact latencies.
//! - [`compare_quantile`]: a quantile of two runs.
//! - [`compare_runs`]: a quantile of several runs a side, where the runs are what varies.
//! - [`find_changes`]: where a history of runs changes its level.
//!
//! No random numbers: the same samples give the same interval on every machine. The tests measure
//! how often an interval holds what it should, and how often equal things are told apart.

mod history;
mod quantile;
mod runs;
mod sample;
mod student;

pub use history::{Change, MAX_HISTORY, find_changes};
pub use quantile::compare_quantile;
pub use runs::{RunValue, compare_runs};
pub use sample::{Bin, Sample};

/// Share of comparisons in which nothing differs and yet a difference is reported, at most.
pub const ERROR_RATE: f64 = 0.05;

/// What two measurements say about a difference, B minus A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Difference {
    /// The difference lies between these, ns.
    Within {
        /// Lowest difference that the samples allow.
        low_ns: i64,
        /// Highest difference that the samples allow.
        high_ns: i64,
    },
    /// There are too few samples or runs for an interval.
    TooFew {
        /// How many each side needs.
        needed: u64,
    },
}

impl Difference {
    /// True if the interval holds no difference at all.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Within { low_ns, high_ns } if low_ns > 0 || high_ns < 0)
    }
}
