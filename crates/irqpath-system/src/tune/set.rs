// SPDX-License-Identifier: GPL-2.0-or-later
//! Carries a plan out: takes back what has no reason any more, then sets the priorities.

use std::collections::BTreeMap;

use irqpath_model::{Association, LiveThread, TunePlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{OWNER, TuneError, check_rights, originals, scheduling, target};
use crate::Host;
use crate::change::{
    Access, Outcome, Policy, Scheduling, Step, Undone, Value, Verdict, apply as make, undo,
};
use crate::journal::{Content, Journal, Refusal, peek};

/// A priority that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The thread as it was.
    pub thread: LiveThread,
    /// What it has now, as `f:81`.
    pub now: String,
    /// The reason.
    pub why: String,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// Priorities that were changed.
    pub changed: Vec<Changed>,
    /// Changes that the kernel refused.
    pub refused: Vec<Refusal>,
    /// Threads whose reason was gone.
    pub taken_back: Vec<LiveThread>,
    /// What became of those.
    pub undone: Undone,
}

impl Applied {
    /// True if nothing was done or tried.
    pub fn is_nothing(&self) -> bool {
        self.changed.is_empty() && self.refused.is_empty() && self.taken_back.is_empty()
    }
}

/// Makes a plan of the threads that are there and the priorities before us of those that are
/// at one of ours.
pub type Planner<'a> = dyn Fn(&[LiveThread], &BTreeMap<(u32, u64), u8>) -> TunePlan + 'a;

/// The associations that were the reason for what is held.
pub fn known(host: &Host) -> Result<Vec<Association>, TuneError> {
    Ok(of(&peek(host, OWNER)?))
}

pub(super) fn of(content: &Content) -> Vec<Association> {
    let wanted = content.wanted.clone().unwrap_or_default();
    // A journal whose first line is damaged has none; undo does not need them.
    serde_json::from_value(wanted).unwrap_or_default()
}

/// Plan and carry it out. `known` is written down as the reason. What the kernel refused before
/// is tried again only with `retry`. Nothing is written if there is nothing to do.
pub fn apply(
    host: &Host,
    access: &dyn Access,
    known: &[Association],
    planner: &Planner<'_>,
    retry: bool,
) -> Result<(TunePlan, Applied), TuneError> {
    let content = peek(host, OWNER)?;
    let threads = host.live_threads();
    let plan = todo(planner, &content, &threads, retry);
    if plan.changes.is_empty() && plan.take_back.is_empty() {
        return Ok((plan, Applied::default()));
    }
    check_rights(host)?;
    let mut journal = Journal::open(host, OWNER)?;
    let threads = host.live_threads();
    let plan = todo(planner, journal.content(), &threads, retry);
    let mut applied = Applied { taken_back: plan.take_back.clone(), ..Applied::default() };
    if !plan.changes.is_empty() {
        journal.begin(&known)?;
    }
    let back: Vec<_> = plan.take_back.iter().map(target).collect();
    applied.undone = undo(access, &mut journal, |target| back.contains(target))?;
    let outcomes = make(access, &mut journal, steps(&plan))?;
    for (outcome, change) in outcomes.into_iter().zip(&plan.changes) {
        let Outcome { step, verdict, .. } = outcome;
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

fn todo(planner: &Planner<'_>, content: &Content, threads: &[LiveThread], retry: bool) -> TunePlan {
    let mut plan = planner(threads, &originals(&content.ledger, threads));
    if !retry {
        plan.changes.retain(|change| content.ledger.refusal(&target(&change.thread)).is_none());
    }
    plan
}

fn steps(plan: &TunePlan) -> Vec<Step> {
    let step = |change: &irqpath_model::TuneChange| {
        let new = Scheduling {
            policy: Policy::Fifo,
            priority: change.priority,
            ..scheduling(&change.thread)
        };
        Step {
            target: target(&change.thread),
            label: format!("{} ({})", change.thread.comm, change.thread.tid),
            new: Value::Scheduling(new),
            pin: false,
        }
    };
    plan.changes.iter().map(step).collect()
}
