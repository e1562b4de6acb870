// SPDX-License-Identifier: GPL-2.0-or-later
//! What `irqpath check` finds out about a host, worst first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing; matters to some.
    Note,
    /// Makes paths longer, or their times vary.
    Warning,
    /// Tracing does not work, or its times are wrong.
    Problem,
}

/// One thing about this host, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name of the rule: `governor`.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was found on this host.
    pub what: String,
    /// Why it matters to the path of an interrupt.
    pub why: String,
    /// What to do: a command or a boot parameter. `None` if nothing has to, or can, be done.
    pub fix: Option<String>,
}
