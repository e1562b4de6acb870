// SPDX-License-Identifier: GPL-2.0-or-later
//! What a campaign consists of: units, and the batches in which an engine gets them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::experiment::{Identity, Replaced};

/// Of a worker's name.
const MAX_NAME: usize = 64;

/// One exact guest. Running it twice gives the same bytes, so running it again is harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    pub experiment: String,
    /// A kernel with its settings.
    pub variant: String,
    /// Which of the variant's draws.
    pub draw: u32,
    /// Wall-clock limit, s, after which the engine ends it.
    pub limit_s: u64,
    /// Of the guest and of what the host needs beside it.
    pub memory_mib: u32,
    pub identity: Identity,
}

impl Unit {
    /// As people know it.
    pub fn label(&self) -> String {
        match self.draw {
            0 => format!("{} on {}", self.experiment, self.variant),
            draw => format!("{} on {}, draw {draw}", self.experiment, self.variant),
        }
    }
}

/// Units that may run anywhere but on some workers. Its file is all that a worker reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Unique in the campaign, whoever starts it and how often.
    pub number: u32,
    pub exclude: BTreeSet<String>,
    #[serde(flatten)]
    pub replaced: Replaced,
    pub units: Vec<Unit>,
}

impl Batch {
    pub fn limit_s(&self) -> u64 {
        self.units.iter().map(|unit| unit.limit_s).max().unwrap_or_default()
    }

    pub fn memory_mib(&self) -> u32 {
        self.units.iter().map(|unit| unit.memory_mib).max().unwrap_or_default()
    }
}

/// A worker's name as it may stand in lists of nodes: whatever else is in it becomes a hyphen.
pub fn clean_worker(name: &str) -> String {
    let clean = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = name.chars().take(MAX_NAME).map(clean).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_has_a_name_that_no_list_misreads() {
        for (name, expected) in [
            ("node-17.rack2", "node-17.rack2"),
            ("a,b", "a-b"),
            ("$(id)\n", "--id--"),
            ("", "unnamed"),
        ] {
            assert_eq!(clean_worker(name), expected);
        }
        assert_eq!(clean_worker(&"x".repeat(99)).len(), MAX_NAME);
    }
}
