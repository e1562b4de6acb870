// SPDX-License-Identifier: GPL-2.0-or-later
//! What is tuned now, and the way back.

use irqpath_model::Association;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::set::of;
use super::{OWNER, TuneError, check_rights};
use crate::Host;
use crate::change::{Access, Undone, undo};
use crate::journal::{Journal, peek};

/// How a thread that we changed is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TunedNow {
    /// As we left it.
    Ours,
    /// Somebody changed it since; reset leaves it.
    ChangedMeanwhile,
    /// The thread is gone.
    Gone,
}

/// A thread that we changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuned {
    /// What people call it.
    pub label: String,
    /// Before us, as `f:50`.
    pub before: String,
    /// What we set.
    pub wanted: String,
    /// What it has; `None` if it is gone.
    pub now: Option<String>,
    /// In a word.
    pub state: TunedNow,
}

/// What is tuned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The threads.
    pub threads: Vec<Tuned>,
    /// What was known when they were changed.
    pub reasons: Vec<Association>,
    /// Seconds since 1970 when that was.
    pub at_unix_s: u64,
}

/// What a reset did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    /// True if there was something to put back.
    pub was_tuned: bool,
    /// What became of it.
    pub undone: Undone,
    /// Lines of the journal that are damaged; what they said is not undone.
    pub damaged: Vec<usize>,
}

/// Look; needs no privilege.
pub fn status(host: &Host, access: &dyn Access) -> Result<Status, TuneError> {
    let content = peek(host, OWNER)?;
    let mut threads = Vec::new();
    for (target, held) in content.ledger.held() {
        let now = access.get(target).ok().flatten();
        let state = match &now {
            None => TunedNow::Gone,
            Some(now) if held.ours.contains(now) => TunedNow::Ours,
            Some(_) => TunedNow::ChangedMeanwhile,
        };
        threads.push(Tuned {
            label: held.label.clone(),
            before: held.original.to_string(),
            wanted: held.wanted().to_string(),
            now: now.as_ref().map(ToString::to_string),
            state,
        });
    }
    let reasons = if threads.is_empty() { Vec::new() } else { of(&content) };
    Ok(Status { threads, reasons, at_unix_s: content.at_unix_s })
}

/// Put back every priority that we changed and nobody else since. Safe at any time and any number
/// of times.
pub fn reset(host: &Host, access: &dyn Access) -> Result<Reset, TuneError> {
    let content = peek(host, OWNER)?;
    if content.is_empty() && content.damaged.is_empty() {
        return Ok(Reset::default());
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    let was_tuned = !journal.ledger().is_empty();
    let damaged = journal.content().damaged.clone();
    let undone = undo(access, &mut journal, |_| true)?;
    if journal.ledger().is_empty() {
        journal.finish()?;
    }
    Ok(Reset { was_tuned, undone, damaged })
}
