// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives CPUs to the cgroup of a unit or container, which keeps its limits, its kill and its logs.
//! They are added to a shield that is set; if they cannot be had, that shield stays as it was.

use irqpath_model::CpuList;
use irqpath_model::shield::{ObstacleKind, Set, Wanted};

use super::attached::{ATTACHES, find_cgroup, foreign_partition, obstacle_label};
use super::entry::Entry;
use super::set::{set, set_as_seen};
use super::threads::is_thread_cgroup;
use super::{Cgroup, OWNER, ShieldError, Snapshot};
use crate::Host;
use crate::change::Access;
use crate::journal::peek_journal;

/// What is wanted with `name` attached: what `asked` has, added to a shield that is set. Refuses
/// what cannot be had.
pub fn plan_attach(host: &Host, name: &str, asked: &Wanted) -> Result<Wanted, ShieldError> {
    let cgroup = Snapshot::read_cgroup(host);
    check_kernel(host, &cgroup).map_err(|text| {
        let way = "; use irqpath shield set --task, or a newer kernel";
        let hint = if cgroup.unusable.is_empty() { way } else { "" };
        ShieldError::NotAttached { reason: format!("{text}{hint}") }
    })?;
    let path = find_cgroup(host, &cgroup.mount, name)?;
    let content = peek_journal(host, OWNER)?;
    let cpus = &asked.cpus;
    let foreign = foreign_partition(host, &cgroup.mount, &path, &content.ledger);
    if let Some(found) = foreign.filter(|found| found != cpus) {
        return Err(ShieldError::ForeignPartition { path, cpus: found });
    }
    add_attached(base_wanted(content.wanted, asked), &path, asked)
}

/// Refuse a host whose cgroups cannot have partitions below ones that are none.
pub(super) fn check_kernel(host: &Host, cgroup: &Cgroup) -> Result<(), String> {
    if !cgroup.unusable.is_empty() {
        return Err(cgroup.unusable.clone());
    }
    match host.kernel_version() {
        Some(version) if version < ATTACHES => Err("it needs Linux 6.11".to_owned()),
        _ => Ok(()),
    }
}

/// What is set; without a shield the switches of `asked`, and no CPU yet.
pub(super) fn base_wanted(set: Option<serde_json::Value>, asked: &Wanted) -> Wanted {
    let none = || Wanted { cpus: CpuList::default(), ..asked.clone() };
    Entry::parse(set).map_or_else(none, |entry| entry.wanted)
}

/// The same with the CPUs of `asked` given to the cgroup `path`.
pub(super) fn add_attached(
    mut wanted: Wanted,
    path: &str,
    asked: &Wanted,
) -> Result<Wanted, ShieldError> {
    let cpus = &asked.cpus;
    let refuse = |reason| Err(ShieldError::NotAttached { reason });
    if let Some(old) = wanted.attached.remove(path) {
        wanted.cpus = wanted.cpus.difference(&old);
    }
    if let Some((other, _)) = wanted.attached.iter().find(|(_, has)| !has.is_disjoint(cpus)) {
        return refuse(format!("/{other} has one of CPU {cpus} already; choose others"));
    }
    // The CPUs of single threads come from the cgroups above, which would be partitions.
    let holds = |a: &str, b: &str| {
        a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/')) && is_thread_cgroup(a)
    };
    let clashes = |other: &&String| holds(path, other) || holds(other, path);
    if let Some(other) = wanted.attached.keys().find(clashes) {
        return refuse(format!("/{other} is attached already; use irqpath shield reset first"));
    }
    wanted.cpus = wanted.cpus.union(cpus);
    wanted.irqs.extend(asked.irqs.clone());
    wanted.attached.insert(path.to_owned(), cpus.clone());
    Ok(wanted)
}

/// Set what `plan` returns, as [`plan_attach`]: again if somebody else changed the shield meanwhile, so
/// that nobody's cgroup is forgotten. If the kernel makes no partition there, all is as before.
pub fn attach(
    host: &Host,
    access: &dyn Access,
    plan: &dyn Fn() -> Result<Wanted, ShieldError>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Set, ShieldError> {
    let (seen, wanted, done) = loop {
        let seen = peek_journal(host, OWNER)?.wanted;
        let wanted = plan()?;
        match set_as_seen(host, access, &wanted, Some(&seen), is_stopped) {
            Err(ShieldError::ChangedMeanwhile) => {}
            done => break (seen, wanted, done?),
        }
    };
    let before = Entry::parse(seen);
    let failed = |label: &str| wanted.attached.keys().any(|path| label == obstacle_label(path));
    let obstacle = done.obstacles.iter().find(|o| failed(&o.label));
    let Some(obstacle) = obstacle.filter(|o| o.kind == ObstacleKind::NoPartition) else {
        return Ok(done);
    };
    match before {
        Some(entry) => drop(set(host, access, &entry.wanted, is_stopped)?),
        None => drop(super::reset(host, access)?),
    }
    Err(ShieldError::NotAttached { reason: obstacle.reason.clone() })
}
