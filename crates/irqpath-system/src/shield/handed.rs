// SPDX-License-Identifier: GPL-2.0-or-later
//! Makes the partitions of cgroups that others have, and takes them down. The kernel moves the
//! tasks inside, and moves them back when a partition ends.

use std::collections::BTreeSet;

use irqpath_model::change::{Form, Target, Undone};

use super::attached::is_attached_part;
use super::cpusets::{controller_target, is_shared};
use super::entry::is_held_back;
use super::partition::adopt_changed;
use super::threads::{is_thread_part, remove_threads};
use crate::change::{Access, Step, StepOutcome, Verdict, apply_steps, undo_changes};
use crate::journal::{Journal, JournalError};

/// A cgroup that got no partition, and why.
pub(super) type Unattached = (String, String);

/// Make the partitions. Also returns those that cannot be had: the cgroup, and why.
pub(super) fn make_attached(
    access: &dyn Access,
    journal: &mut Journal,
    all: &[(String, Vec<Step>)],
) -> Result<(Vec<StepOutcome>, Vec<Unattached>), JournalError> {
    let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
    for (path, steps) in all {
        for step in steps {
            // The files of one step are there when the one before it is made.
            let why = if let Some(refusal) = journal
                .ledger()
                .refusal(&step.target)
                .filter(|_| is_held_back(journal.ledger(), step))
            {
                Some(refusal.reason.clone())
            } else {
                let mut made = apply_steps(access, journal, vec![step.clone()])?;
                let why = made.first().and_then(explain_failure);
                outcomes.append(&mut made);
                why
            };
            if let Some(why) = why {
                failed.push((path.clone(), format!("{}: {why}", step.label)));
                // One thread that cannot go keeps no other back.
                if !matches!(step.target, Target::ThreadCgroup { .. }) {
                    break;
                }
            }
        }
    }
    if !all.is_empty() {
        adopt_changed(access, journal)?;
    }
    Ok((outcomes, failed))
}

fn explain_failure(outcome: &StepOutcome) -> Option<String> {
    match &outcome.verdict {
        Verdict::Done | Verdict::Already => None,
        Verdict::Became(value) => Some(format!("became '{value}'")),
        Verdict::Gone => Some("the kernel has no such file, or the cgroup is gone".to_owned()),
        Verdict::Refused(refusal) => Some(refusal.reason.clone()),
    }
}

/// Take down the partitions of which nothing `stays`. The controller of the root is left to who
/// takes down the shield's own partition.
pub(super) fn remove_attached(
    access: &dyn Access,
    journal: &mut Journal,
    mount: &str,
    stays: &BTreeSet<Target>,
) -> Result<Undone, JournalError> {
    let goes = |target: &Target| is_attached_part(target, mount) && !stays.contains(target);
    let controller = |target: &Target| match target {
        Target::File { path, form: Form::Controller(_) } => {
            path.strip_suffix("/cgroup.subtree_control").map(str::to_owned)
        }
        _ => None,
    };
    if !journal.ledger().held().any(|(target, _)| goes(target)) {
        return Ok(Undone::default());
    }
    let mut undone = remove_threads(access, journal, &goes)?;
    let is_value = |target: &Target| goes(target) && controller(target).is_none();
    undone.extend(undo_changes(access, journal, |one| is_value(one) && !is_thread_part(one))?);
    let held = journal.ledger().held().map(|(target, _)| target);
    let mut directories: Vec<String> = held.filter(|t| goes(t)).filter_map(controller).collect();
    // The deepest first: the kernel keeps a controller that a cgroup below hands on.
    directories.sort_by_key(|directory| std::cmp::Reverse(directory.len()));
    for directory in directories {
        let target = controller_target(&directory);
        if is_shared(access, &directory) {
            journal.release_targets(std::slice::from_ref(&target));
        } else {
            undone.extend(undo_changes(access, journal, |one| *one == target)?);
        }
    }
    Ok(undone)
}
