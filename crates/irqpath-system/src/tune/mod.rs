// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives threads the priorities that `irqpath-analysis` planned, and takes them back.
//!
//! Every change goes through the journal `tune`, which also keeps the associations that were the
//! reason, so that a later `tune` knows which thread is at a priority of ours and what for. The
//! rule to know: a plan is made while the journal's lock is held, from what is there then.

mod export;
mod packets;
#[cfg(test)]
mod packets_tests;
mod pins;
#[cfg(test)]
mod pins_tests;
mod receivers;
mod set;
mod status;
mod steer;
mod steer_plan;
#[cfg(test)]
mod steer_tests;
#[cfg(test)]
mod tests;
mod threads;

use std::collections::BTreeMap;
use std::path::PathBuf;

use irqpath_model::tune::LiveThread;

pub use export::{describe_associations, find_actions, make_pins};
pub use packets::{
    DeviceWatch, Devices, forget_devices, list_devices, plan_new_threads, switch_devices,
};
pub use pins::{
    MAX_PIN_FILE, PinList, all_pins, format_pins, parse_pins, read_pins, remove_pins, resolve_pins,
    write_pins,
};
pub use set::{Planner, apply_plan, known_associations};
pub use status::{reset, status};
pub use steer::{list_steering, steer_receivers};

use irqpath_model::TaskId;
use irqpath_model::change::{Target, Value};

use crate::journal::{JournalError, Ledger};
use crate::{Host, SystemError};

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
    /// A file of pins says what it must not.
    #[error("{path}: {reason}; correct it, see man irqpath-tune", path = .path.display())]
    #[allow(missing_docs)]
    BadPins { path: PathBuf, reason: String },
    /// `--task` names nothing that can be served.
    #[error("no task '{task}': {reason}; give a PID, a name or UNIT.service")]
    #[allow(missing_docs)]
    BadTask { task: String, reason: &'static str },
}

/// Fail, naming the capability, unless priorities can be changed.
pub fn check_rights(host: &Host) -> Result<(), TuneError> {
    Ok(host.may_change_tasks().map_err(SystemError::from)?)
}

/// The priorities before us of the threads that are still at one of ours.
pub fn held_priorities(
    host: &Host,
    threads: &[LiveThread],
) -> Result<BTreeMap<TaskId, u8>, TuneError> {
    Ok(original_priorities(&crate::journal::peek_journal(host, OWNER)?.ledger, threads))
}

fn original_priorities(ledger: &Ledger, threads: &[LiveThread]) -> BTreeMap<TaskId, u8> {
    let still_ours = |thread: &&LiveThread| {
        let held = ledger.get(&thread_target(thread));
        let now = Value::Scheduling(thread.scheduling);
        held.is_some_and(|held| held.ours.contains(&now))
    };
    let original = |thread: &LiveThread| match ledger.get(&thread_target(thread))?.original {
        Value::Scheduling(before) => Some((thread.id, before.priority)),
        _ => None,
    };
    threads.iter().filter(still_ours).filter_map(original).collect()
}

fn thread_target(thread: &LiveThread) -> Target {
    Target::TaskScheduling { task: thread.id }
}
