// SPDX-License-Identifier: GPL-2.0-or-later
//! The reproduction table: what a document reports, what this kernel shows, and the verdict.
//!
//! `irqpath lab run` stores it as `reproduction.json`; reports print it, and `irqpath lab list`
//! gathers several of them. Figures keep full precision here and are rounded where they are printed.
//! Older tables call a variant a column.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SCHEMA_VERSION;
use crate::bench::BenchQuantiles;

/// Every experiment of one run of the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The version of irqpath that wrote this.
    pub irqpath_version: String,
    /// The command that made it.
    pub command: Vec<String>,
    /// In the order in which they were asked for.
    pub experiments: Vec<Reproduced>,
}

impl Reproduction {
    /// A table without experiments; `command` is what makes it.
    pub fn new(irqpath_version: &str, command: Vec<String>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            irqpath_version: irqpath_version.to_owned(),
            command,
            experiments: Vec::new(),
        }
    }
}

/// One experiment: what ran, on what, its claims and its figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reproduced {
    /// Its id, as in `experiments/`.
    pub id: String,
    /// The title, in one line.
    pub title: String,
    /// Number of the document, or `irqpath` for what no document measured.
    #[serde(default)]
    pub document: String,
    /// The document that is reproduced, and its section.
    pub source: String,
    /// The workload in one sentence.
    pub workload: String,
    /// True if two runs are the same: one virtual CPU, whose clock counts its instructions.
    pub exact: bool,
    /// The kernels, in order.
    #[serde(alias = "columns")]
    pub variants: Vec<ReproducedVariant>,
    /// Its claims, in the order of its file.
    pub claims: Vec<Claim>,
    /// What was measured, variant by variant.
    #[serde(default)]
    pub figures: Vec<Figures>,
    /// What made runs slow, by variant and series, the most frequent first.
    #[serde(default)]
    pub slow: Vec<SlowRuns>,
    /// What there are no figures of.
    #[serde(default)]
    pub not_run: Vec<NotRun>,
    /// Digest of all that measures; a result with another one is of another experiment.
    #[serde(default)]
    pub recipe: String,
    /// The run that made it; none for an experiment that was not run.
    #[serde(default)]
    pub made: Option<Made>,
}

/// What made a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// The command line that made the result.
    pub command: Vec<String>,
    /// The version of irqpath that wrote this.
    pub irqpath_version: String,
    /// Commit of the checkout, with `+` behind it if files had been changed; empty if unknown.
    pub commit: String,
}

/// An experiment, or a part of it, without figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotRun {
    /// The variant, or empty if it is all of them.
    #[serde(alias = "column")]
    pub variant: String,
    /// The series, or empty if it is all of them.
    pub series: String,
    /// The reason in words, as pages show it.
    pub why: String,
}

/// Runs of one series that were slow for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowRuns {
    /// Name of the kernel variant that it ran on.
    #[serde(alias = "column")]
    pub variant: String,
    /// Name of the series, as the experiment's file has it.
    pub series: String,
    /// What they executed more than the median run: functions, and the entry into the kernel.
    pub cause: String,
    /// How many of those over Q95.
    pub nr: u64,
}

/// The row of numbers of one interval of one series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Name of the kernel variant that it ran on.
    #[serde(alias = "column")]
    pub variant: String,
    /// Name of the series, as the experiment's file has it.
    pub series: String,
    /// The interval; of intsight's runs that from the top half to the bottom half.
    pub interval: String,
    /// Quantiles, ns; of intsight's runs those without an interrupt between their halves.
    pub quantiles: BenchQuantiles,
    /// The longest of all of intsight's runs, ns.
    pub max_irq_ns: Option<u64>,
}

/// One kernel that an experiment ran on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReproducedVariant {
    /// The heading under which tables show it.
    pub name: String,
    /// Release and build of the kernel.
    pub kernel: String,
    /// SHA-256 of its image, hex.
    pub image_sha256: String,
    /// Of a kernel of irqpath's: digest of what the project says about it; a figure with another
    /// one is of another kernel. Empty for Debian's.
    #[serde(default)]
    pub kernel_digest: String,
    /// Result directory, relative to the table.
    pub directory: String,
    /// Splats (lockdep, KASAN, warnings) of a guest that went on, one line each.
    pub splats: Vec<String>,
    /// Every metric by its name: what claims are about. Of several draws, their medians.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// How long an instruction took, ns, where the clock counted them; none: one nanosecond, or it did
    /// not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_instruction: Option<u32>,
    /// Every metric of each draw, where there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub draws: BTreeMap<u32, BTreeMap<String, f64>>,
}

/// One claim of the document, and what each variant says to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// What must be true.
    pub claim: String,
    /// What the document reports.
    pub paper: String,
    /// The range in which it holds, for people.
    pub expect: String,
    /// Why a modern kernel differs; shown where it does.
    pub differs: Option<String>,
    /// What its figures are to be read with; always shown.
    #[serde(default)]
    pub note: Option<String>,
    /// True if the run fails when it does not hold.
    pub must: bool,
    /// One per variant that it is checked on.
    pub outcomes: Vec<Outcome>,
}

/// What became of a claim on one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Name of the kernel variant that it ran on.
    #[serde(alias = "column")]
    pub variant: String,
    /// The figure with its unit; empty if it could not be computed.
    pub ours: String,
    /// Whether the value lies in the range that was claimed.
    pub verdict: OutcomeVerdict,
}

/// How a figure stands to its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeVerdict {
    /// The value lies in the range.
    Holds,
    /// There is no range: a figure that the claims beside it are to be read with.
    Stated,
    /// An end of the range lies in the interval of the draws: more of them would tell.
    Undecided,
    /// Outside; a finding, unless the claim is one that must hold.
    Differs,
    /// Could not be computed on this variant.
    Missing,
}

impl NotRun {
    /// All of an experiment.
    pub fn whole_experiment(why: &str) -> Self {
        Self { variant: String::new(), series: String::new(), why: why.to_owned() }
    }
}

impl Reproduced {
    /// True if its figures are numbers of instructions.
    pub fn counts_instructions(&self) -> bool {
        self.exact && self.variants.iter().all(|variant| variant.ns_per_instruction.is_none())
    }

    /// True if a claim that must hold does not.
    pub fn has_failed(&self) -> bool {
        let fails = |outcome: &Outcome| {
            !matches!(outcome.verdict, OutcomeVerdict::Holds | OutcomeVerdict::Stated)
        };
        self.claims.iter().any(|claim| claim.must && claim.outcomes.iter().any(fails))
    }
}
