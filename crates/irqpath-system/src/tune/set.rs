// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries a plan out: takes back what has no reason any more, then sets the priorities.

use std::collections::BTreeMap;

use irqpath_model::change::Value;
use irqpath_model::tune::{
    Applied, Association, Changed, LiveThread, OrdinaryThread, TuneChange, TunePlan,
};
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
    if plan.is_nothing() {
        return Ok((plan, Applied::default()));
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    let threads = host.live_threads();
    let plan = plan_changes(planner, journal.content(), &threads, retry);
    let mut applied = Applied { taken_back: plan.take_back.clone(), ..Applied::default() };
    if !plan.changes.is_empty() || !plan.ordinary.is_empty() {
        journal.begin_set(&known)?;
    }
    let back: Vec<_> = plan.take_back.iter().map(thread_target).collect();
    applied.undone = undo_changes(access, &mut journal, |target| back.contains(target))?;
    let (steps, reasons): (Vec<_>, Vec<_>) = plan_steps(&plan).unzip();
    let outcomes = make(access, &mut journal, steps)?;
    for (outcome, (thread, why)) in outcomes.into_iter().zip(reasons) {
        let StepOutcome { step, verdict, .. } = outcome;
        match verdict {
            Verdict::Done | Verdict::Became(_) => applied.changed.push(Changed {
                thread: thread.clone(),
                now: step.new.to_string(),
                why: why.to_owned(),
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
        let is_new = |thread: &LiveThread| content.ledger.refusal(&thread_target(thread)).is_none();
        plan.changes.retain(|change| is_new(&change.thread));
        plan.ordinary.retain(|one| is_new(&one.thread));
    }
    plan
}

/// Each change with its thread and its reason.
fn plan_steps(plan: &TunePlan) -> impl Iterator<Item = (Step, (&LiveThread, &str))> {
    let ranked = plan.changes.iter().map(|TuneChange { thread, priority, why, .. }| {
        let (policy, priority) = (Policy::Fifo, *priority);
        (thread, Scheduling { policy, priority, ..thread.scheduling }, why.as_str())
    });
    let ordinary = plan.ordinary.iter().map(|OrdinaryThread { thread, why }| {
        let (policy, priority) = (Policy::Normal, 0);
        (thread, Scheduling { policy, priority, ..thread.scheduling }, why.as_str())
    });
    ranked.chain(ordinary).map(|(thread, new, why)| {
        let step = Step {
            target: thread_target(thread),
            label: format!("{} ({})", thread.comm, thread.id.tid),
            new: Value::Scheduling(new),
            pin: false,
        };
        (step, (thread, why))
    })
}
