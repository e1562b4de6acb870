// SPDX-License-Identifier: GPL-2.0-or-later
//! Results beside each other, with what their samples can show: two results, several a side, or a
//! history. `irqpath compare` prints it.
//!
//! `collect` lists what a result has to compare, `judge` compares it, `render` writes it for
//! people. The intervals of a page hold together: with many numbers each of them is wider, so that
//! one false alarm on the whole page is as rare as the confidence says.

mod collect;
mod history;
mod judge;
mod render;

pub use collect::Run;
pub use history::{History, Point, Step};
pub use judge::compare_results;

use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON form. 2 has a list of rows of one form, with verdicts.
const FORMAT: u32 = 2;

/// What the verdicts rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Both are exact runs of the lab: nothing varies, and every difference is real.
    Exact,
    /// One run a side: the samples are taken as independent.
    Samples,
    /// Several runs a side: the runs are what varies.
    Runs,
}

/// What the samples say about one number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Exact runs with the same number.
    Equal,
    /// B minus A lies between these, and above 0.
    Longer {
        /// Lowest difference, ns.
        low_ns: i64,
        /// Highest difference, ns.
        high_ns: i64,
    },
    /// B minus A lies between these, and below 0.
    Shorter {
        /// Lowest difference, ns.
        low_ns: i64,
        /// Highest difference, ns.
        high_ns: i64,
    },
    /// No difference that these samples can show: B minus A lies between these.
    NotShown {
        /// Lowest difference, ns.
        low_ns: i64,
        /// Highest difference, ns.
        high_ns: i64,
    },
    /// Too few samples, or runs, for an interval.
    TooFew {
        /// How many each side needs.
        needed: u64,
    },
    /// No interval exists for this number, as for a maximum.
    NotJudged,
}

impl Verdict {
    /// True if a difference is shown.
    pub const fn is_different(self) -> bool {
        matches!(self, Self::Longer { .. } | Self::Shorter { .. })
    }

    const fn interval(self) -> Option<(i64, i64)> {
        match self {
            Self::Longer { low_ns, high_ns }
            | Self::Shorter { low_ns, high_ns }
            | Self::NotShown { low_ns, high_ns } => Some((low_ns, high_ns)),
            Self::Equal | Self::TooFew { .. } | Self::NotJudged => None,
        }
    }
}

/// A number of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Number {
    /// `Q50`, `max`.
    pub name: &'static str,
    /// Of A, or the mean of its runs, ns.
    pub a_ns: u64,
    /// Of B, or the mean of its runs, ns.
    pub b_ns: u64,
    /// What the samples say.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// A path, series or test that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Its name, for people.
    pub name: String,
    /// Samples of A, in all its runs.
    pub a_n: u64,
    /// Samples of B, in all its runs.
    pub b_n: u64,
    /// Runs of A that have it.
    pub a_runs: u64,
    /// Runs of B that have it.
    pub b_runs: u64,
    /// Of two exact runs: whether every sample is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_same: Option<bool>,
    /// The numbers.
    pub numbers: Vec<Number>,
}

/// What both sides have, and what only one of them has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    schema_version: u32,
    /// What the verdicts rest on.
    pub basis: Basis,
    /// All intervals hold together with this probability.
    pub confidence: f64,
    /// Numbers for which an interval was asked.
    pub nr_judged: u64,
    /// What both sides have.
    pub rows: Vec<Row>,
    /// Names of what only A has.
    pub only_a: Vec<String>,
    /// Names of what only B has.
    pub only_b: Vec<String>,
}
