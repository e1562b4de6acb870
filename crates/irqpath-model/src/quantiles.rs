// SPDX-License-Identifier: GPL-2.0-or-later
//! The row of numbers that every table shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The row of numbers that every table shows; all zero if `n` is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // quantiles in ns
pub struct Quantiles {
    /// Number of times, overflow included.
    pub n: u64,
    pub min_ns: u64,
    pub mean_ns: u64,
    pub q05_ns: u64,
    pub q50_ns: u64,
    pub q95_ns: u64,
    pub q99_ns: u64,
    pub q999_ns: u64,
    pub max_ns: u64,
    /// Times too long for the histogram.
    pub nr_overflow: u64,
}
