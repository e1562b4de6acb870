// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts a process onto shielded CPUs, before it becomes the program that shall run there.

use irqpath_model::change::{Target, Value};
use irqpath_model::{CpuList, TaskId};

use super::entry::{Entry, read_entry};
use super::set::set_as_seen;
use super::{OWNER, ShieldError, Snapshot, partition};
use crate::Host;
use crate::change::{Access, RUN_DIRECTORY, Step, Verdict, apply_steps};
use crate::journal::{Journal, exists, peek_journal};

/// Move the process `pid`, which has one thread, onto `cpus` or onto all shielded CPUs, and into
/// the partition where there is one. Returns the CPUs.
pub fn enter(
    host: &Host,
    access: &dyn Access,
    pid: u32,
    cpus: Option<&CpuList>,
) -> Result<CpuList, ShieldError> {
    if !exists(host, OWNER) {
        return Err(ShieldError::NotSet);
    }
    let journal = Journal::open(host, OWNER)?;
    // Those of an attached cgroup are for nobody else.
    let shielded = read_entry(&journal).ok_or(ShieldError::NotSet)?.wanted.own_cpus();
    let cpus = choose_cpus(host, cpus, &shielded)?;
    let failed = |reason: String| ShieldError::NotEntered { cpus: cpus.clone(), reason };
    join_partition(host, access, journal, pid).and_then(|joined| joined.map_err(failed))?;
    access.set_affinity(pid, &cpus).map_err(|e| failed(e.to_string()))?;
    Ok(cpus)
}

/// Bind interrupts to `cpus`, which a program has entered, as part of the shield that is set.
pub fn bind_irqs(
    host: &Host,
    access: &dyn Access,
    names: &[String],
    cpus: &CpuList,
) -> Result<(), ShieldError> {
    if names.is_empty() {
        return Ok(());
    }
    loop {
        let seen = peek_journal(host, OWNER)?.wanted;
        let mut wanted = Entry::parse(seen.clone()).ok_or(ShieldError::NotSet)?.wanted;
        choose_cpus(host, Some(cpus), &wanted.cpus)?;
        wanted.irqs.extend(names.iter().map(|name| (name.clone(), cpus.clone())));
        match set_as_seen(host, access, &wanted, Some(&seen), &|| false) {
            Err(ShieldError::ChangedMeanwhile) => {}
            done => return done.map(drop),
        }
    }
}

/// `cpus`, if they are shielded, or all that are.
pub(super) fn choose_cpus(
    host: &Host,
    cpus: Option<&CpuList>,
    shielded: &CpuList,
) -> Result<CpuList, ShieldError> {
    if shielded.is_empty() {
        return Err(ShieldError::NotSet);
    }
    let cpus = cpus.unwrap_or(shielded).clone();
    host.check_cpus(&cpus)?;
    if !cpus.is_subset(shielded) {
        let outside = cpus.difference(shielded);
        return Err(ShieldError::NotShielded { cpus: outside, shielded: shielded.clone() });
    }
    Ok(cpus)
}

/// Into the partition's cgroup. Its way back is written down, as a reset has to empty the cgroup.
fn join_partition(
    host: &Host,
    access: &dyn Access,
    mut journal: Journal,
    pid: u32,
) -> Result<Result<(), String>, ShieldError> {
    if !partition::is_held(journal.ledger()) {
        return Ok(Ok(()));
    }
    let mount = Snapshot::read(host, access)?.cgroup.mount;
    let Some(start_ticks) = access.task_start(pid) else { return Ok(Ok(())) };
    let new = Value::Text(format!("{mount}/{RUN_DIRECTORY}"));
    let target = Target::ProcessCgroup { task: TaskId { tid: pid, start_ticks }, mount };
    let step = Step { target, label: format!("process {pid}"), new, pin: false };
    let outcome = apply_steps(access, &mut journal, vec![step])?.into_iter().next();
    Ok(match outcome.map(|o| o.verdict) {
        Some(Verdict::Refused(refusal)) => Err(refusal.reason),
        Some(Verdict::Became(value)) => Err(format!("its cgroup is {value}")),
        _ => Ok(()),
    })
}
