// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives CPUs to the cgroup of a unit or container, which keeps its limits, its kill and its logs.
//! They are added to a shield that is set; if they cannot be had, that shield stays as it was.

use irqpath_model::CpuList;
use irqpath_model::shield::{ObstacleKind, Set, Wanted};

use super::attached::{find_cgroup, foreign_partition, obstacle_label};
use super::entry::Entry;
use super::set::set;
use super::{OWNER, ShieldError, Snapshot};
use crate::Host;
use crate::change::Access;
use crate::journal::peek_journal;

/// What is wanted with `name` attached: what `asked` has, added to a shield that is set. Refuses
/// what cannot be had.
pub fn plan_attach(host: &Host, name: &str, asked: &Wanted) -> Result<Wanted, ShieldError> {
    let reason = |reason: &str| ShieldError::NotAttached { reason: reason.to_owned() };
    let cgroup = Snapshot::read_cgroup(host);
    if !cgroup.unusable.is_empty() {
        return Err(reason(&cgroup.unusable));
    }
    // Since 6.7 there is `cpuset.cpus.exclusive`; before 6.11 (737bb142a00d) it had to be a part of
    // `cpuset.cpus`, of every cgroup above, too.
    if host.kernel_version().is_some_and(|version| version < (6, 11)) {
        let text = "it needs Linux 6.11; use irqpath shield set --task, or a newer kernel";
        return Err(reason(text));
    }
    let path = find_cgroup(host, &cgroup.mount, name)?;
    let content = peek_journal(host, OWNER)?;
    let cpus = &asked.cpus;
    let foreign = foreign_partition(host, &cgroup.mount, &path, &content.ledger);
    if let Some(found) = foreign.filter(|found| found != cpus) {
        return Err(ShieldError::ForeignPartition { path, cpus: found });
    }
    let set = Entry::parse(content.wanted);
    let none = || Wanted { cpus: CpuList::default(), ..asked.clone() };
    let mut wanted = set.map_or_else(none, |entry| entry.wanted);
    if let Some(old) = wanted.attached.remove(&path) {
        wanted.cpus = wanted.cpus.difference(&old);
    }
    if let Some((other, _)) = wanted.attached.iter().find(|(_, has)| !has.is_disjoint(cpus)) {
        return Err(reason(&format!("/{other} has one of CPU {cpus} already; choose others")));
    }
    wanted.cpus = wanted.cpus.union(cpus);
    wanted.irqs.extend(asked.irqs.clone());
    wanted.attached.insert(path, cpus.clone());
    Ok(wanted)
}

/// Set what [`plan_attach`] returned. If the kernel makes no partition there, all is as before.
pub fn attach(
    host: &Host,
    access: &dyn Access,
    wanted: &Wanted,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Set, ShieldError> {
    let content = peek_journal(host, OWNER)?;
    let before = Entry::parse(content.wanted);
    let done = set(host, access, wanted, is_stopped)?;
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
