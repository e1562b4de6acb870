// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes changes: reads what is there, writes the journal, changes, and looks whether it took.
//!
//! A batch is one journal write. Steps that depend on an earlier one (a file in a cgroup that has
//! yet to be made) belong into a later batch.

use std::io;

use super::{Access, Intent, Target, Value};
use crate::journal::{Journal, JournalError, Refusal};

/// A change to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is changed.
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
pub struct Outcome {
    /// The step.
    pub step: Step,
    /// Its value before.
    pub before: Option<Value>,
    /// How it went.
    pub verdict: Verdict,
}

fn refusal(step: &Step, error: &io::Error) -> Refusal {
    Refusal {
        label: step.label.clone(),
        new: step.new.clone(),
        errno: error.raw_os_error().unwrap_or(0),
        reason: reason(error),
    }
}

/// What the system said, without the "(os error 5)" behind it.
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_owned())
}

/// Make the changes of one batch. An error is one of the journal: nothing of the batch was
/// changed then, or all of it is written down.
pub fn apply(
    access: &dyn Access,
    journal: &mut Journal,
    steps: Vec<Step>,
) -> Result<Vec<Outcome>, JournalError> {
    let outcomes: Vec<Outcome> = steps.into_iter().map(|step| look(access, step)).collect();
    let planned = |o: &Outcome| o.verdict == Verdict::Done;
    let intents: Vec<Intent> = outcomes.iter().filter(|o| planned(o)).filter_map(intent).collect();
    access.step("before the journal");
    journal.intend(&intents)?;
    access.step("after the journal");
    let outcomes: Vec<Outcome> = outcomes
        .into_iter()
        .map(|outcome| if planned(&outcome) { make(access, outcome) } else { outcome })
        .collect();
    let refused = outcomes.iter().filter_map(|o| match &o.verdict {
        Verdict::Refused(refusal) => Some((o.step.target.clone(), refusal.clone())),
        _ => None,
    });
    journal.refuse(refused.collect())?;
    let became: Vec<Intent> = outcomes.iter().filter_map(became).collect();
    journal.intend(&became)?;
    Ok(outcomes)
}

/// What the kernel made of a value that we wrote is ours too.
fn became(outcome: &Outcome) -> Option<Intent> {
    let Verdict::Became(value) = &outcome.verdict else { return None };
    let Step { target, label, new, .. } = outcome.step.clone();
    Some(Intent { target, label, before: new, new: value.clone() })
}

/// What would become of a step; `Done` stands for what is yet to be made.
fn look(access: &dyn Access, step: Step) -> Outcome {
    let (before, verdict) = match access.get(&step.target) {
        Err(error) => (None, Verdict::Refused(refusal(&step, &error))),
        Ok(None) => (None, Verdict::Gone),
        Ok(Some(value)) if value == step.new && !step.pin => (Some(value), Verdict::Already),
        Ok(Some(value)) => (Some(value), Verdict::Done),
    };
    Outcome { step, before, verdict }
}

fn intent(outcome: &Outcome) -> Option<Intent> {
    let Step { target, label, new, .. } = outcome.step.clone();
    Some(Intent { target, label, before: outcome.before.clone()?, new })
}

fn make(access: &dyn Access, mut outcome: Outcome) -> Outcome {
    let step = &outcome.step;
    access.step("before a write");
    let written = access.set(&step.target, &step.new);
    access.step("after a write");
    outcome.verdict = match written {
        Err(error) => Verdict::Refused(refusal(step, &error)),
        Ok(false) => Verdict::Gone,
        Ok(true) => match access.get(&step.target) {
            Ok(Some(value)) if value == step.new => Verdict::Done,
            Ok(None) => Verdict::Gone,
            Err(error) => Verdict::Refused(refusal(step, &error)),
            Ok(Some(value)) => accepted_otherwise(step, outcome.before.as_ref(), &value),
        },
    };
    outcome
}

/// The write went through but reads differently. irqbalance takes a value up later; elsewhere a
/// value that did not move is as good as refused.
fn accepted_otherwise(step: &Step, before: Option<&Value>, value: &Value) -> Verdict {
    if matches!(step.target, Target::Irqbalance { .. }) {
        return Verdict::Done;
    }
    if before != Some(value) {
        return Verdict::Became(value.clone());
    }
    let reason = "the kernel took the write and kept its value".to_owned();
    Verdict::Refused(Refusal { label: step.label.clone(), new: step.new.clone(), errno: 0, reason })
}
