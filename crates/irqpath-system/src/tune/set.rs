// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries a plan out: takes back what has no reason any more, then sets the priorities.

use std::collections::BTreeMap;

use irqpath_model::change::Value;
use irqpath_model::tune::{Applied, Association, Changed, LiveThread, TuneChange, TunePlan};
use irqpath_model::{Policy, Scheduling, TaskId};

use super::{OWNER, TuneError, check_rights, original_priorities, thread_target};
use crate::Host;
use crate::change::{Access, Step, StepOutcome, Verdict, apply_steps as make, undo_changes};
use crate::journal::{Content, Journal, peek_journal};

/// Makes a plan of the threads that are there and the priorities before us of those that are
/// at one of ours.
pub type Planner<'a> = dyn Fn(&[LiveThread], &BTreeMap<TaskId, u8>) -> TunePlan + 'a;

/// The associations that were the reason for what is held.
pub fn known_associations(host: &Host) -> Result<Vec<Association>, TuneError> {
    Ok(stored_associations(&peek_journal(host, OWNER)?))
}

pub(super) fn stored_associations(content: &Content) -> Vec<Association> {
    let wanted = content.wanted.clone().unwrap_or_default();
    // A journal whose first line is damaged has none; undo does not need them.
    serde_json::from_value(wanted).unwrap_or_default()
}

/// Plan and carry it out. `known` is written down as the reason. What the kernel refused before
/// is tried again only with `retry`. Nothing is written if there is nothing to do.
pub fn apply_plan(
    host: &Host,
    access: &dyn Access,
    known: &[Association],
    planner: &Planner<'_>,
    retry: bool,
) -> Result<(TunePlan, Applied), TuneError> {
    let content = peek_journal(host, OWNER)?;
    let threads = host.live_threads();
    let plan = plan_changes(planner, &content, &threads, retry);
    if plan.changes.is_empty() && plan.take_back.is_empty() {
        return Ok((plan, Applied::default()));
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    let threads = host.live_threads();
    let plan = plan_changes(planner, journal.content(), &threads, retry);
    let mut applied = Applied { taken_back: plan.take_back.clone(), ..Applied::default() };
    if !plan.changes.is_empty() {
        journal.begin_set(&known)?;
    }
    let back: Vec<_> = plan.take_back.iter().map(thread_target).collect();
    applied.undone = undo_changes(access, &mut journal, |target| back.contains(target))?;
    let outcomes = make(access, &mut journal, plan_steps(&plan))?;
    for (outcome, change) in outcomes.into_iter().zip(&plan.changes) {
        let StepOutcome { step, verdict, .. } = outcome;
        match verdict {
            Verdict::Done | Verdict::Became(_) => applied.changed.push(Changed {
                thread: change.thread.clone(),
                now: step.new.to_string(),
                why: change.why.clone(),
            }),
            Verdict::Refused(refusal) => applied.refused.push(refusal),
            Verdict::Already | Verdict::Gone => {}
        }
    }
    if journal.ledger().is_empty() && applied.refused.is_empty() {
        journal.finish()?;
    }
    Ok((plan, applied))
}

fn plan_changes(
    planner: &Planner<'_>,
    content: &Content,
    threads: &[LiveThread],
    retry: bool,
) -> TunePlan {
    let mut plan = planner(threads, &original_priorities(&content.ledger, threads));
    if !retry {
        plan.changes
            .retain(|change| content.ledger.refusal(&thread_target(&change.thread)).is_none());
    }
    plan
}

fn plan_steps(plan: &TunePlan) -> Vec<Step> {
    let step = |change: &TuneChange| {
        let (policy, priority) = (Policy::Fifo, change.priority);
        let new = Scheduling { policy, priority, ..change.thread.scheduling };
        Step {
            target: thread_target(&change.thread),
            label: format!("{} ({})", change.thread.comm, change.thread.id.tid),
            new: Value::Scheduling(new),
            pin: false,
        }
    };
    plan.changes.iter().map(step).collect()
}
