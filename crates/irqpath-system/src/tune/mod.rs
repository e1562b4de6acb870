// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives threads the priorities that `irqpath-analysis` planned, and takes them back.
//!
//! Every change goes through the journal `tune`, which also keeps the associations that were the
//! reason, so that a later `tune` knows which thread is at a priority of ours and what for. The
//! rule to know: a plan is made while the journal's lock is held, from what is there then.

mod document;
mod set;
mod status;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::BTreeMap;

use irqpath_model::LiveThread;

pub use document::{Document, Learned, schema};
pub use set::{Applied, Changed, Planner, apply, known};
pub use status::{Reset, Status, Tuned, TunedNow, reset, status};

use crate::change::{Policy, Scheduling, Target, TaskId, Value};
use crate::journal::{JournalError, Ledger};
use crate::{Capability, Host, SystemError};

/// Name of the journal.
const OWNER: &str = "tune";

/// Why nothing was tuned.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A privilege is missing.
    #[error(transparent)]
    System(#[from] SystemError),
}

/// Fail, naming the capability, unless priorities can be changed.
pub fn check_rights(host: &Host) -> Result<(), TuneError> {
    Ok(host.require(&[Capability::SysNice])?)
}

/// The priorities before us of the threads that are still at one of ours.
pub fn held(host: &Host, threads: &[LiveThread]) -> Result<BTreeMap<(u32, u64), u8>, TuneError> {
    Ok(originals(&crate::journal::peek(host, OWNER)?.ledger, threads))
}

fn originals(ledger: &Ledger, threads: &[LiveThread]) -> BTreeMap<(u32, u64), u8> {
    let still_ours = |thread: &&LiveThread| {
        let held = ledger.get(&target(thread));
        let now = Value::Scheduling(scheduling(thread));
        held.is_some_and(|held| held.ours.contains(&now))
    };
    let original = |thread: &LiveThread| match ledger.get(&target(thread))?.original {
        Value::Scheduling(before) => Some((thread.id(), before.priority)),
        _ => None,
    };
    threads.iter().filter(still_ours).filter_map(original).collect()
}

fn target(thread: &LiveThread) -> Target {
    let LiveThread { tid, start_ticks, .. } = *thread;
    Target::TaskScheduling { task: TaskId { tid, start_ticks } }
}

fn scheduling(thread: &LiveThread) -> Scheduling {
    let policy = match thread.policy {
        irqpath_model::Policy::Normal => Policy::Other,
        irqpath_model::Policy::Fifo => Policy::Fifo,
        irqpath_model::Policy::Rr => Policy::RoundRobin,
        irqpath_model::Policy::Batch => Policy::Batch,
        irqpath_model::Policy::Idle => Policy::Idle,
        irqpath_model::Policy::Deadline => Policy::Deadline,
        irqpath_model::Policy::Ext => Policy::Ext,
    };
    Scheduling { policy, priority: thread.priority, nice: thread.nice }
}
