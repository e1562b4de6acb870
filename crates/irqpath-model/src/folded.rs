// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths that have no row of their own, because somebody had taken a share of the table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the rows [`Folded::COMM`] of a measurement hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Folded {
    /// Paths that share the row; counted exactly.
    pub nr_paths: u64,
    /// Different names of their targets, about.
    pub nr_names: u64,
    /// Different targets, estimated by a sketch.
    pub nr_tasks: u64,
}

impl Folded {
    /// The name in the key of such a row; a task may have the same, [`crate::PathKey::folded`]
    /// tells them apart.
    pub const COMM: &str = "(others)";
}
