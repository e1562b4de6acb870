// SPDX-License-Identifier: GPL-2.0-or-later
//! The cgroup of a shield: an isolated partition below the root of the hierarchy, and in it the
//! cgroup `run` for programs that `shield run` starts.
//!
//! The partition itself holds no process, and hands the controller on to `run`: while it does, nobody
//! (systemd on a reload) can switch the controller off at the root and destroy the partition.

use std::collections::BTreeMap;

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Refusal, Target, Undone, Value};

use super::Snapshot;
use super::attached::is_attached_part;
use super::cpusets::{controller_target, file_target, is_shared, make_step};
use super::threads::is_thread_part;
use crate::change::{
    Access, Intent, PARTITION_DIRECTORY, RUN_DIRECTORY, Step, Verdict, apply_steps, undo_changes,
};
use crate::journal::{Held, Journal, JournalError, Ledger};
use crate::tasks::Stat;

/// The partition itself. A refusal of it in the journal means that affinities were chosen.
pub(super) fn partition_target(mount: &str) -> Target {
    Target::Cgroup { path: format!("{mount}/{PARTITION_DIRECTORY}") }
}

/// True for a cgroup of the partition, and not for one of single threads.
pub(super) fn is_own_cgroup(target: &Target) -> bool {
    matches!(target, Target::Cgroup { .. }) && !is_thread_part(target)
}

/// True for what belongs to the partition.
pub(super) fn is_part(target: &Target, mount: &str) -> bool {
    match target {
        Target::Cgroup { .. } => is_own_cgroup(target),
        Target::File { path, .. } => {
            path.contains(PARTITION_DIRECTORY) || *path == format!("{mount}/cgroup.subtree_control")
        }
        _ => false,
    }
}

/// What makes the partition, in the order in which it has to be made.
fn partition_steps(mount: &str, cpus: &CpuList, word: &str) -> Vec<Step> {
    let directory = format!("{mount}/{PARTITION_DIRECTORY}");
    let cgroup = |path: &str| Target::Cgroup { path: format!("{mount}/{path}") };
    let there = Value::Present(true);
    vec![
        make_step(controller_target(mount), "cpuset controller", there.clone()),
        make_step(cgroup(PARTITION_DIRECTORY), "cgroup of the shield", there.clone()),
        make_step(
            file_target(&directory, "cpuset.cpus", Form::List),
            "CPUs of the partition",
            Value::Cpus(cpus.clone()),
        ),
        make_step(
            file_target(&directory, "cpuset.cpus.partition", Form::Text),
            "partition",
            Value::Text(word.to_owned()),
        ),
        make_step(controller_target(&directory), "cpuset controller of the shield", there.clone()),
        make_step(cgroup(RUN_DIRECTORY), "cgroup for programs", there),
    ]
}

/// Make it, or give it these CPUs. The inner error is why there can be none; nothing of it is
/// left then.
pub(super) fn make_partition(
    access: &dyn Access,
    journal: &mut Journal,
    snapshot: &Snapshot,
    cpus: &CpuList,
) -> Result<Result<(), String>, JournalError> {
    let mount = &snapshot.cgroup.mount;
    let mut reason = String::new();
    for word in ["isolated", "root"] {
        match try_make(access, journal, mount, cpus, word)? {
            Ok(()) => {
                adopt_changed(access, journal)?;
                return Ok(Ok(()));
            }
            Err(why) if reason.is_empty() => reason = why,
            Err(_) => {}
        }
        remove_partition(access, journal, mount)?;
    }
    adopt_changed(access, journal)?;
    decline_partition(journal, mount, &reason)?;
    Ok(Err(reason))
}

/// Write down that there is none, so that a repair does not try again.
pub(super) fn decline_partition(
    journal: &mut Journal,
    mount: &str,
    reason: &str,
) -> Result<(), JournalError> {
    let refusal = Refusal {
        label: "a cgroup partition".to_owned(),
        new: Value::Present(true),
        errno: 0,
        reason: reason.to_owned(),
    };
    journal.write_refusals(vec![(partition_target(mount), refusal)])
}

fn try_make(
    access: &dyn Access,
    journal: &mut Journal,
    mount: &str,
    cpus: &CpuList,
    word: &str,
) -> Result<Result<(), String>, JournalError> {
    for step in partition_steps(mount, cpus, word) {
        for outcome in apply_steps(access, journal, vec![step])? {
            let label = &outcome.step.label;
            match outcome.verdict {
                Verdict::Done | Verdict::Already => {}
                Verdict::Became(value) => return Ok(Err(format!("{label} became '{value}'"))),
                Verdict::Gone => return Ok(Err(format!("{label} is not there"))),
                Verdict::Refused(refusal) => {
                    return Ok(Err(format!("{label}: {}", refusal.reason)));
                }
            }
        }
    }
    Ok(Ok(()))
}

/// The kernel has changed affinities when CPUs moved between partitions; those are ours, too.
pub(super) fn adopt_changed(
    access: &dyn Access,
    journal: &mut Journal,
) -> Result<(), JournalError> {
    let changed = |(target, held): (&Target, &Held)| {
        let Target::TaskAffinity { .. } = target else { return None };
        let found = access.get(target).ok()??;
        (found != *held.wanted() && found != held.original).then(|| Intent {
            target: target.clone(),
            label: held.label.clone(),
            before: held.wanted().clone(),
            new: found,
        })
    };
    let intents: Vec<Intent> = journal.ledger().held().filter_map(changed).collect();
    journal.write_intents(&intents)
}

/// Take the partition down. Programs in it go back to where they came from, or to the root.
pub(super) fn remove_partition(
    access: &dyn Access,
    journal: &mut Journal,
    mount: &str,
) -> Result<Undone, JournalError> {
    evacuate_programs(access, journal, mount);
    let root = controller_target(mount);
    // Attached cgroups that stay have the controller from there.
    let is_needed = journal.ledger().held().any(|(target, _)| is_attached_part(target, mount));
    if !is_needed && is_shared(access, mount) {
        journal.release_targets(std::slice::from_ref(&root));
    }
    // What is in the directory goes with it: its files may read otherwise by now, as a partition
    // does that hotplug has made invalid, and nobody else has a say in them.
    let goes = |target: &Target| !(is_needed && *target == root);
    let directories = |target: &Target| {
        let is_process = matches!(target, Target::ProcessCgroup { .. });
        *target == root || is_process || is_own_cgroup(target)
    };
    let mut undone = undo_changes(access, journal, |one| goes(one) && directories(one))?;
    undone.extend(undo_changes(access, journal, |one| goes(one) && is_part(one, mount))?);
    Ok(undone)
}

/// True if one was made and not taken down.
pub(super) fn is_held(ledger: &Ledger) -> bool {
    ledger.held().any(|(target, _)| is_own_cgroup(target))
}

/// A program may fork while it is moved, so this looks until nothing is left.
fn evacuate_programs(access: &dyn Access, journal: &Journal, mount: &str) {
    const ROUNDS: usize = 100;
    let list = format!("{mount}/{RUN_DIRECTORY}/cgroup.procs");
    let homes =
        journal.ledger().held().filter_map(|(target, held)| match (target, &held.original) {
            (Target::ProcessCgroup { task, .. }, Value::Text(path)) => {
                Some((task.tid, path.clone()))
            }
            _ => None,
        });
    let homes: BTreeMap<u32, String> = homes.collect();
    for _ in 0..ROUNDS {
        let inside = access.read(&list).unwrap_or_default();
        if inside.trim().is_empty() {
            return;
        }
        for tid in inside.split_whitespace() {
            access.mark_step("before a process moves");
            // One that ended meanwhile, or whose home is gone, is met again in the next round.
            let home = find_home(access, &homes, tid).unwrap_or(mount);
            if access.write(&format!("{home}/cgroup.procs"), tid).is_err() {
                let _ = access.write(&format!("{mount}/cgroup.procs"), tid);
            }
        }
    }
}

/// Where a process came from. One that began inside belongs where its ancestor came from.
fn find_home<'a>(
    access: &dyn Access,
    homes: &'a BTreeMap<u32, String>,
    tid: &str,
) -> Option<&'a str> {
    const GENERATIONS: usize = 64;
    let mut tid: u32 = tid.parse().ok()?;
    for _ in 0..GENERATIONS {
        if let Some(home) = homes.get(&tid) {
            return Some(home);
        }
        tid = Stat::parse_stat(&access.read(&format!("proc/{tid}/stat")).ok()?)?.ppid;
    }
    None
}

/// Whether the partition holds: the word that the kernel shows, with its reason if it does not.
pub(super) fn partition_state(access: &dyn Access, mount: &str) -> Option<String> {
    let text = access.read(&format!("{mount}/{PARTITION_DIRECTORY}/cpuset.cpus.partition")).ok()?;
    Some(text.trim().to_owned())
}
