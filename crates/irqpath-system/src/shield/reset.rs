// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes a shield down: every value that we changed and that still is what we set gets its value
//! back. Safe at any time and any number of times; after a kill it finishes what was begun.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use irqpath_model::CpuList;
use irqpath_model::change::{Target, Value};
use irqpath_model::shield::Reset;

use super::check::check_rights;
use super::entry::{PATIENCE, read_entry};
use super::handed::remove_attached;
use super::heirs::Ancestors;
use super::newborn::find_newborn;
use super::recall::recall_threads;
use super::siblings::is_cpu;
use super::{OWNER, ShieldError, Snapshot, partition};
use crate::change::{Access, put_back, undo_changes};
use crate::journal::Journal;
use crate::{Host, Task};

/// Heirs fork while they are looked for; their children are right once their parent is.
const ROUNDS: usize = 50;

/// Take the shield down.
pub fn reset(host: &Host, access: &dyn Access) -> Result<Reset, ShieldError> {
    reset_as_seen(host, access, None)
}

/// Take the shield down. If `seen` is given, refuse if the journal says something else by now.
pub(super) fn reset_as_seen(
    host: &Host,
    access: &dyn Access,
    seen: Option<&Option<serde_json::Value>>,
) -> Result<Reset, ShieldError> {
    if !crate::journal::exists(host, OWNER) {
        return Ok(Reset::default());
    }
    check_rights(host)?;
    let gone_with_boot = crate::journal::peek_journal(host, OWNER)?.gone_with_boot;
    let journal = Journal::open(host, OWNER)?;
    if seen.is_some_and(|seen| *seen != journal.content().wanted) {
        return Err(ShieldError::ChangedMeanwhile);
    }
    let content = journal.content();
    let mut reset = Reset {
        was_set: !content.is_empty(),
        damaged: content.damaged.clone(),
        gone_with_boot,
        ..Reset::default()
    };
    if !reset.was_set {
        return Ok(reset);
    }
    take_down(host, access, journal, &mut reset)?;
    Ok(reset)
}

/// Put everything back and remove the journal. Writes nothing that needs room on the disk.
pub(super) fn take_down(
    host: &Host,
    access: &dyn Access,
    mut journal: Journal,
    reset: &mut Reset,
) -> Result<(), ShieldError> {
    let entry = read_entry(&journal);
    let since = entry.as_ref().map_or(u64::MAX, |entry| entry.since_ticks);
    let there = entry.and_then(|entry| entry.lines);
    let snapshot = Snapshot::read(host, access)?;
    let mount = &snapshot.cgroup.mount;
    reset.undone = undo_changes(access, &mut journal, is_cpu)?;
    reset.undone.extend(remove_attached(access, &mut journal, mount, &BTreeSet::new())?);
    reset.undone.extend(partition::remove_partition(access, &mut journal, mount)?);
    // Released only after the heirs: these are found by what their ancestors had.
    let newborn = find_newborn(&snapshot.irqs, journal.ledger(), there.as_ref());
    let (undone, settled) = put_back(access, journal.ledger(), |_| true);
    reset.undone.extend(undone);
    reset.heirs = restore_heirs(host, access, &journal, since);
    reset.newborn = restore_newborn(access, &newborn);
    recall_threads(host, access);
    access.mark_step("before the release");
    journal.release_targets(&settled);
    access.mark_step("after the release");
    if journal.ledger().is_empty() {
        journal.finish()?;
    }
    Ok(())
}

/// One that went meanwhile, or that its driver keeps where it is, is left alone.
fn restore_newborn(access: &dyn Access, newborn: &[(Target, CpuList)]) -> usize {
    let is_set = |(target, cpus): &(Target, CpuList)| {
        access.mark_step("before a newborn interrupt");
        access.set(target, &Value::Cpus(cpus.clone())).is_ok_and(|is_there| is_there)
    };
    newborn.iter().filter(|line| is_set(line)).count()
}

fn restore_heirs(host: &Host, access: &dyn Access, journal: &Journal, since_ticks: u64) -> usize {
    let ancestors = Ancestors::new(journal.ledger(), since_ticks);
    let began = Instant::now();
    // Each once: one that takes our CPUs again chose them itself.
    let mut found = BTreeSet::new();
    for _ in 0..ROUNDS {
        let tasks = host.read_tasks();
        let by_tid: BTreeMap<u32, &Task> = tasks.iter().map(|task| (task.id.tid, task)).collect();
        let originals =
            tasks.iter().filter_map(|task| Some((task, ancestors.original_of(task, &by_tid)?)));
        let mut any = false;
        for (task, original) in originals.collect::<Vec<_>>() {
            access.mark_step("before an heir");
            // One that has ended, or may not use those CPUs, is none of ours any more. Its number
            // may be another task's by now: `set` looks at the start time once more.
            let target = Target::TaskAffinity { task: task.id };
            if found.contains(&task.id) {
                continue;
            }
            if access.set(&target, &Value::Cpus(original)).is_ok_and(|is_there| is_there) {
                found.insert(task.id);
                any = true;
            }
        }
        if !any || began.elapsed() > PATIENCE {
            break;
        }
    }
    found.len()
}
