// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes changes back, the last one first: a value that still is one of ours gets its original
//! again, one that somebody else has changed stays and is reported. Can be repeated at any point;
//! what was put back before is found to be so.

use irqpath_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apply::reason;
use super::{Access, Target, Value};
use crate::journal::{Held, Journal, JournalError, Ledger};

/// Why a value was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum LeftReason {
    /// Somebody else changed it after us; it is theirs now.
    ChangedMeanwhile {
        /// What it is.
        found: Value,
        /// What we had made it.
        ours: Value,
    },
    /// The system refused; a later reset tries again.
    Refused {
        /// The system's error number, 0 if there was none.
        errno: i32,
        /// What it said.
        reason: String,
    },
}

/// A value that was not put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// What.
    pub target: Target,
    /// What people call it.
    pub label: String,
    /// What it was before us.
    pub original: Value,
    /// Why it was left.
    #[serde(flatten)]
    pub reason: LeftReason,
}

/// What undoing did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undone {
    /// Values put back.
    pub restored: usize,
    /// Values that were as before already.
    pub already: usize,
    /// Targets that are not there any more: tasks that ended, devices that left.
    pub gone: usize,
    /// Values that were left, and why.
    pub left: Vec<Left>,
}

impl Undone {
    /// Adds what another round did.
    pub fn extend(&mut self, other: Self) {
        self.restored += other.restored;
        self.already += other.already;
        self.gone += other.gone;
        self.left.extend(other.left);
    }

    /// True if something is still to be put back.
    pub fn is_unfinished(&self) -> bool {
        self.left.iter().any(|left| matches!(left.reason, LeftReason::Refused { .. }))
    }
}

enum Fate {
    Restored,
    Already,
    Gone,
    Left(LeftReason),
}

/// Take back what is held and `chosen`. What the system refuses stays in the journal.
pub fn undo(
    access: &dyn Access,
    journal: &mut Journal,
    chosen: impl Fn(&Target) -> bool,
) -> Result<Undone, JournalError> {
    let (undone, settled) = put_back(access, journal.ledger(), chosen);
    access.step("before the release");
    journal.release(&settled);
    access.step("after the release");
    Ok(undone)
}

/// The same without a word in the journal: also returns what is not ours any more, to be
/// [released](Journal::release) when everything that depends on it is done.
pub fn put_back(
    access: &dyn Access,
    ledger: &Ledger,
    chosen: impl Fn(&Target) -> bool,
) -> (Undone, Vec<Target>) {
    let mut undone = Undone::default();
    let mut settled = Vec::new();
    let online = access.online().ok();
    for (target, held) in ledger.newest_first() {
        if !chosen(&target) {
            continue;
        }
        match fate(access, &target, &held, online.as_ref()) {
            Fate::Restored => undone.restored += 1,
            Fate::Already => undone.already += 1,
            Fate::Gone => undone.gone += 1,
            Fate::Left(reason) => {
                let Held { label, original, .. } = held;
                let left = Left { target: target.clone(), label, original, reason };
                let refused = matches!(left.reason, LeftReason::Refused { .. });
                undone.left.push(left);
                if refused {
                    continue;
                }
            }
        }
        settled.push(target);
    }
    (undone, settled)
}

/// A task that is in a cgroup with CPUs of its own loses offline CPUs from its affinity until
/// they come back, so only online ones count.
fn same(target: &Target, a: &Value, b: &Value, online: Option<&CpuList>) -> bool {
    match (target, a, b, online) {
        (Target::TaskAffinity { .. }, Value::Cpus(a), Value::Cpus(b), Some(online)) => {
            a.intersection(online) == b.intersection(online)
        }
        _ => a == b,
    }
}

fn fate(access: &dyn Access, target: &Target, held: &Held, online: Option<&CpuList>) -> Fate {
    let refused = |error: &std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(0);
        Fate::Left(LeftReason::Refused { errno, reason: reason(error) })
    };
    let found = match access.get(target) {
        Err(error) => return refused(&error),
        Ok(None) => return Fate::Gone,
        Ok(Some(found)) => found,
    };
    // One that was only confirmed (`Step::pin`) was never changed by us; the kernel may have.
    let confirmed = held.ours == [held.original.clone()];
    // irqbalance says what its last scan knew: it may have heard of ours, and not taken it up yet.
    let may_lag = matches!(target, Target::Irqbalance { .. });
    if confirmed || (found == held.original && !may_lag) {
        return Fate::Already;
    }
    let is_ours = |ours: &Value| same(target, ours, &found, online);
    if !held.ours.iter().any(is_ours) && !is_ours(&held.original) {
        let ours = held.wanted().clone();
        return Fate::Left(LeftReason::ChangedMeanwhile { found, ours });
    }
    access.step("before a return");
    let written = access.set(target, &held.original);
    access.step("after a return");
    match written {
        Err(error) => refused(&error),
        Ok(false) => Fate::Gone,
        Ok(true) => Fate::Restored,
    }
}
