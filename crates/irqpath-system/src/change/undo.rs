// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes changes back, the last one first: a value that still is one of ours gets its original
//! again, one that somebody else has changed stays and is reported. Can be repeated at any point;
//! what was put back before is found to be so.

use irqpath_model::CpuList;
use irqpath_model::change::{Left, LeftReason, Target, Undone, Value};

use super::Access;
use super::apply::error_reason;
use crate::journal::{Held, Journal, JournalError, Ledger};

enum Fate {
    Restored,
    Already,
    Gone,
    Left(LeftReason),
}

/// Take back what is held and `chosen`. What the system refuses stays in the journal.
pub fn undo_changes(
    access: &dyn Access,
    journal: &mut Journal,
    chosen: impl Fn(&Target) -> bool,
) -> Result<Undone, JournalError> {
    let (undone, settled) = put_back(access, journal.ledger(), chosen);
    access.mark_step("before the release");
    journal.release_targets(&settled);
    access.mark_step("after the release");
    Ok(undone)
}

/// The same without a word in the journal: also returns what is not ours any more, to be
/// [released](Journal::release_targets) when everything that depends on it is done.
pub fn put_back(
    access: &dyn Access,
    ledger: &Ledger,
    chosen: impl Fn(&Target) -> bool,
) -> (Undone, Vec<Target>) {
    let mut undone = Undone::default();
    let mut settled = Vec::new();
    let online = access.online_cpus().ok();
    for (target, held) in ledger.newest_first() {
        if !chosen(&target) {
            continue;
        }
        match undo_target(access, &target, &held, online.as_ref()) {
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
fn is_same(target: &Target, a: &Value, b: &Value, online: Option<&CpuList>) -> bool {
    match (target, a, b, online) {
        (Target::TaskAffinity { .. }, Value::Cpus(a), Value::Cpus(b), Some(online)) => {
            a.intersection(online) == b.intersection(online)
        }
        // The kernel says why one does not hold: `isolated invalid (Cpu list in ...)`.
        (Target::File { path, .. }, Value::Text(a), Value::Text(b), _)
            if path.ends_with("/cpuset.cpus.partition") =>
        {
            a.split(' ').next() == b.split(' ').next()
        }
        _ => a == b,
    }
}

fn undo_target(
    access: &dyn Access,
    target: &Target,
    held: &Held,
    online: Option<&CpuList>,
) -> Fate {
    let refused = |error: &std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(0);
        Fate::Left(LeftReason::Refused { errno, reason: error_reason(error) })
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
    let is_ours = |ours: &Value| is_same(target, ours, &found, online);
    if !held.ours.iter().any(is_ours) && !is_ours(&held.original) {
        let ours = held.wanted().clone();
        return Fate::Left(LeftReason::ChangedMeanwhile { found, ours });
    }
    access.mark_step("before a return");
    let written = access.set(target, &held.original);
    access.mark_step("after a return");
    match written {
        Err(error) => refused(&error),
        Ok(false) => Fate::Gone,
        Ok(true) => Fate::Restored,
    }
}
