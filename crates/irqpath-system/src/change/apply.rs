// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes changes: reads what is there, writes the journal, changes, and looks whether it took.
//!
//! A batch is one journal write. Steps that depend on an earlier one (a file in a cgroup that has
//! yet to be made) belong into a later batch.

use std::io;

use irqpath_model::change::{Refusal, Target, Value};

use super::{Access, Intent};
use crate::journal::{Journal, JournalError};

/// A change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The file, task or cgroup that is changed.
    pub target: Target,
    /// What people call it.
    pub label: String,
    /// What it shall be.
    pub new: Value,
    /// Write even if the value is that already: a task's affinity that was asked for binds the
    /// kernel more than one that it chose itself.
    pub pin: bool,
}

/// How a change went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It has the new value now.
    Done,
    /// It had it already.
    Already,
    /// The kernel made something else of it.
    Became(Value),
    /// It is not there any more.
    Gone,
    /// The kernel said no, or kept another value.
    Refused(Refusal),
}

/// A step and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutcome {
    /// The step as it was planned.
    pub step: Step,
    /// The value before; `None` if it could not be read.
    pub before: Option<Value>,
    /// Whether it was made, and if not, why.
    pub verdict: Verdict,
}

fn make_refusal(step: &Step, error: &io::Error) -> Refusal {
    Refusal {
        label: step.label.clone(),
        new: step.new.clone(),
        errno: error.raw_os_error().unwrap_or(0),
        reason: error_reason(error),
    }
}

/// What the system said, without the "(os error 5)" behind it.
pub(crate) fn error_reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Make the changes of one batch. An error is one of the journal: nothing of the batch was
/// changed then, or all of it is written down.
pub fn apply_steps(
    access: &dyn Access,
    journal: &mut Journal,
    steps: Vec<Step>,
) -> Result<Vec<StepOutcome>, JournalError> {
    let look_at = |step: Step| (look_at(access, &step), step);
    let looked: Vec<(Look, Step)> = steps.into_iter().map(look_at).collect();
    let intents: Vec<Intent> = looked.iter().filter_map(due_intent).collect();
    access.mark_step("before the journal");
    journal.write_intents(&intents)?;
    access.mark_step("after the journal");
    let finish = |(look, step): (Look, Step)| match look {
        Look::Due { before } => {
            let verdict = make_change(access, &step, &before);
            StepOutcome { step, before: Some(before), verdict }
        }
        Look::Settled { before, verdict } => StepOutcome { step, before, verdict },
    };
    let outcomes: Vec<StepOutcome> = looked.into_iter().map(finish).collect();
    let refused = outcomes.iter().filter_map(|o| match &o.verdict {
        Verdict::Refused(refusal) => Some((o.step.target.clone(), refusal.clone())),
        _ => None,
    });
    journal.write_refusals(refused.collect())?;
    let became: Vec<Intent> = outcomes.iter().filter_map(became_intent).collect();
    journal.write_intents(&became)?;
    Ok(outcomes)
}

/// What the kernel made of a value that we wrote is ours too.
fn became_intent(outcome: &StepOutcome) -> Option<Intent> {
    let Verdict::Became(value) = &outcome.verdict else { return None };
    let Step { target, label, new, .. } = outcome.step.clone();
    Some(Intent { target, label, before: new, new: value.clone() })
}

/// A step before it is made.
enum Look {
    /// It is to be made.
    Due { before: Value },
    /// There is nothing to make.
    Settled { before: Option<Value>, verdict: Verdict },
}

fn look_at(access: &dyn Access, step: &Step) -> Look {
    let (before, verdict) = match access.get(&step.target) {
        Err(error) => (None, Verdict::Refused(make_refusal(step, &error))),
        Ok(None) => (None, Verdict::Gone),
        Ok(Some(value)) if value == step.new && !step.pin => (Some(value), Verdict::Already),
        Ok(Some(before)) => return Look::Due { before },
    };
    Look::Settled { before, verdict }
}

fn due_intent((look, step): &(Look, Step)) -> Option<Intent> {
    let Look::Due { before } = look else { return None };
    let Step { target, label, new, .. } = step.clone();
    Some(Intent { target, label, before: before.clone(), new })
}

fn make_change(access: &dyn Access, step: &Step, before: &Value) -> Verdict {
    access.mark_step("before a write");
    let written = access.set(&step.target, &step.new);
    access.mark_step("after a write");
    match written {
        Err(error) => Verdict::Refused(make_refusal(step, &error)),
        Ok(false) => Verdict::Gone,
        Ok(true) => match access.get(&step.target) {
            Ok(Some(value)) if value == step.new => Verdict::Done,
            Ok(None) => Verdict::Gone,
            Err(error) => Verdict::Refused(make_refusal(step, &error)),
            Ok(Some(value)) => accepted_otherwise(step, before, value),
        },
    }
}

/// The write went through but reads differently. irqbalance takes a value up later; elsewhere a
/// value that did not move is as good as refused.
fn accepted_otherwise(step: &Step, before: &Value, value: Value) -> Verdict {
    if matches!(step.target, Target::Irqbalance { .. }) {
        return Verdict::Done;
    }
    if *before != value {
        return Verdict::Became(value);
    }
    let reason = "the kernel took the write and kept its value".to_owned();
    Verdict::Refused(Refusal { label: step.label.clone(), new: step.new.clone(), errno: 0, reason })
}
