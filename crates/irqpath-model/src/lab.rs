// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath lab` tells people: its experiments, the path lengths beside their budgets, and the
//! paths that a flame graph shows.

use serde::Serialize;

/// A line of `lab list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedExperiment {
    /// Name of the file in experiments/ without its suffix.
    pub id: String,
    /// What it measures, for people.
    pub title: String,
    /// True if one instruction is one nanosecond in it.
    pub exact: bool,
    /// How the guest keeps time.
    pub mode: String,
    /// Names of the variants, in the file's order.
    pub variants: Vec<String>,
    /// Digest of what measures; a result has the same.
    pub recipe: String,
    /// What the last run showed; empty if there is none that counts.
    pub state: String,
    /// What there is no result of, and why: all of it, or variants. What a kernel cannot do is not
    /// here.
    pub not_run: Vec<String>,
}

/// A path length beside its budget, or the absence of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFinding {
    /// The experiment's id.
    pub experiment: String,
    /// Name of its variant.
    pub variant: String,
    /// What is gated, as in `lab/budgets.toml`.
    pub metric: String,
    /// What it is now, instructions or cache lines; 0 if it is missing.
    pub now: u64,
    /// How that compares with the budget.
    pub change: GateChange,
}

/// What became of a path length. Budgets are in the unit of the length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateChange {
    /// Within the allowance of its budget.
    Kept {
        /// At the last blessing.
        budget: u64,
    },
    /// Longer than allowed; fails.
    Grew {
        /// At the last blessing.
        budget: u64,
        /// Functions that grew most, with their growth in instructions.
        functions: Vec<(String, u64)>,
        /// True if the budget was made on the same kernel image.
        same_kernel: bool,
    },
    /// Shorter than the allowance; the budget can be lowered.
    Shrank {
        /// At the last blessing.
        budget: u64,
    },
    /// There is no budget; fails, so that none is forgotten.
    Unbudgeted,
    /// It is watched or has a budget, and was not measured; fails.
    Missing,
}

impl GateFinding {
    /// True if the gate closes.
    pub const fn fails(&self) -> bool {
        matches!(
            self.change,
            GateChange::Grew { .. } | GateChange::Unbudgeted | GateChange::Missing
        )
    }
}

/// What was recorded of one series' path. Lengths are in instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnPath {
    /// Name of the series.
    pub series: String,
    /// True if the other series are compared with it.
    pub is_baseline: bool,
    /// Instances of the path in the recording.
    pub nr_paths: u64,
    /// Length of the median instance.
    pub median: u64,
    /// Length of the longest one.
    pub worst: u64,
    /// Cache lines that the median path's instructions lie in.
    pub code_lines: u64,
    /// What the guest's stamps lie further apart than the marks.
    pub offset: i64,
    /// Instances that are as long as the guest measured them.
    pub nr_same: usize,
    /// Those that are not, or that it did not measure.
    pub nr_other: usize,
    /// Those that are not: index, counted, measured.
    pub differing: Vec<(usize, u64, u64)>,
    /// Instances over Q95.
    pub nr_slow: u64,
    /// Those of them without a named cause.
    pub nr_unexplained: u64,
    /// What made the others slow, a cause a line.
    pub causes: Vec<String>,
}
