// SPDX-License-Identifier: GPL-2.0-or-later
//! What is tuned now, and the way back.

use irqpath_model::tune::{Reset, Status, Tuned, TunedNow};

use super::set::stored_associations;
use super::{OWNER, TuneError, check_rights};
use crate::Host;
use crate::change::{Access, undo_changes};
use crate::journal::{Journal, peek_journal};

/// Look; needs no privilege.
pub fn status(host: &Host, access: &dyn Access) -> Result<Status, TuneError> {
    let content = peek_journal(host, OWNER)?;
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
    let reasons = if threads.is_empty() { Vec::new() } else { stored_associations(&content) };
    Ok(Status { threads, reasons, at_unix_s: content.at_unix_s })
}

/// Put back every priority that we changed and nobody else since. Safe at any time and any number
/// of times.
pub fn reset(host: &Host, access: &dyn Access) -> Result<Reset, TuneError> {
    let content = peek_journal(host, OWNER)?;
    if content.is_empty() && content.damaged.is_empty() {
        return Ok(Reset::default());
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    let was_tuned = !journal.ledger().is_empty();
    let damaged = journal.content().damaged.clone();
    let undone = undo_changes(access, &mut journal, |_| true)?;
    if journal.ledger().is_empty() {
        journal.finish()?;
    }
    Ok(Reset { was_tuned, undone, damaged })
}
