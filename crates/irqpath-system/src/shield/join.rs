// SPDX-License-Identifier: GPL-2.0-or-later
//! Moves processes into a partition that is there, and out of it again when a later `set` does not
//! want them inside. The kernel changes the affinity of each thread with the move, so what a thread
//! had before is in the journal before its process moves.

use std::collections::BTreeSet;

use irqpath_model::TaskId;
use irqpath_model::change::{Target, Value};

use super::heirs::Ancestors;
use super::partition::adopt_changed;
use super::{Plan, Snapshot};
use crate::change::{Access, Intent, Step, StepOutcome, apply_steps, undo_changes};
use crate::journal::{Journal, JournalError, Ledger};

/// Moves who is to be inside and is not.
pub(super) fn join_partition(
    access: &dyn Access,
    journal: &mut Journal,
    snapshot: &Snapshot,
    plan: &Plan,
    since_ticks: u64,
) -> Result<Vec<StepOutcome>, JournalError> {
    let is_outside = |step: &&Step| {
        access.get(&step.target).ok().flatten().is_some_and(|found| found != step.new)
    };
    let steps: Vec<Step> = plan.inside.iter().filter(is_outside).cloned().collect();
    if steps.is_empty() {
        return Ok(Vec::new());
    }
    let moving: BTreeSet<u32> =
        steps.iter().filter_map(|step| Some(step.target.task()?.tid)).collect();
    let threads = snapshot.tasks.iter().filter(|task| moving.contains(&task.tgid));
    let threads: BTreeSet<TaskId> = threads.map(|task| task.id).collect();
    let of_threads = |step: &&Step| step.target.task().is_some_and(|task| threads.contains(&task));
    let due: Vec<Step> = plan.tasks.iter().filter(of_threads).cloned().collect();
    let heirs = Ancestors::new(journal.ledger(), since_ticks).left_behind(&snapshot.tasks, &due);
    journal.write_intents(&heirs)?;
    let found: Vec<Intent> = confirm_affinities(journal.ledger(), snapshot, &threads);
    journal.write_intents(&found)?;
    let outcomes = apply_steps(access, journal, steps)?;
    adopt_changed(access, journal)?;
    Ok(outcomes)
}

/// What threads that are not in the journal have now is what they have without us.
fn confirm_affinities(
    ledger: &Ledger,
    snapshot: &Snapshot,
    threads: &BTreeSet<TaskId>,
) -> Vec<Intent> {
    let new = snapshot.tasks.iter().filter(|task| threads.contains(&task.id));
    let intent = |task: &crate::Task| {
        let target = Target::TaskAffinity { task: task.id };
        let found = Value::Cpus(task.affinity.clone());
        let intent = Intent { target, label: task.label(), before: found.clone(), new: found };
        ledger.get(&intent.target).is_none().then_some(intent)
    };
    new.filter_map(intent).collect()
}

/// Moves back who is inside and is not to be.
pub(super) fn leave_partition(
    access: &dyn Access,
    journal: &mut Journal,
    plan: &Plan,
) -> Result<(), JournalError> {
    let stays: BTreeSet<&Target> = plan.inside.iter().map(|step| &step.target).collect();
    let leaves =
        |target: &Target| matches!(target, Target::ProcessCgroup { .. }) && !stays.contains(target);
    if journal.ledger().held().any(|(target, _)| leaves(target)) {
        undo_changes(access, journal, leaves)?;
    }
    Ok(())
}
