// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath merge` tells: how many results became one campaign, and which did not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Results that are named one by one; more are only counted.
pub const MAX_NAMED: usize = 1000;

/// Why a result is not in the campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutWhy {
    /// Another result of the same run has the same content.
    Duplicate,
    /// Another result of the same run has other content; neither is merged.
    Contradiction,
    /// It cannot be read, or is no result.
    Unreadable,
}

/// A result that is not in the campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The directory as it was given.
    pub directory: String,
    /// The reason as a word.
    pub why: LeftOutWhy,
    /// The reason in one line.
    pub message: String,
}

/// `merge.json` of a campaign, which `--json` prints as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Campaign {
    /// Version of this document.
    pub schema_version: u32,
    /// Directories that were given.
    pub nr_given: u64,
    /// Runs that were merged.
    pub nr_runs: u64,
    /// Results that were left out, by reason.
    pub nr_left_out: BTreeMap<LeftOutWhy, u64>,
    /// The first [`MAX_NAMED`] of them.
    pub left_out: Vec<LeftOut>,
    /// Rows by table.
    pub nr_rows: BTreeMap<String, u64>,
    /// Partitions: pairs of a commit and a kernel.
    pub nr_partitions: u64,
}

impl Campaign {
    /// Version of the document.
    pub const FORMAT: u32 = 1;

    /// Count a result that is left out, and name it if there is room.
    pub fn leave_out(&mut self, left_out: LeftOut) {
        *self.nr_left_out.entry(left_out.why).or_default() += 1;
        if self.left_out.len() < MAX_NAMED {
            self.left_out.push(left_out);
        }
    }

    /// True if something is missing that is not there already.
    pub fn is_incomplete(&self) -> bool {
        self.nr_left_out.keys().any(|why| *why != LeftOutWhy::Duplicate)
    }
}
