// SPDX-License-Identifier: GPL-2.0-or-later
//! Gives CPUs to the cgroup of a unit or container, which keeps its limits, its kill and its logs.
//! They are added to a shield that is set; if they cannot be had, that shield stays as it was.

use irqpath_model::CpuList;
use irqpath_model::shield::{Obstacle, ObstacleKind, Set, Wanted};

use super::attached::{ATTACHES, find_cgroup, foreign_partition, obstacle_label};
use super::detach::take_back;
use super::ended::without_ended;
use super::entry::Entry;
use super::set::set_as_seen;
use super::threads::is_thread_cgroup;
use super::{Cgroup, OWNER, ShieldError, Snapshot};
use crate::Host;
use crate::change::Access;
use crate::journal::{Ledger, peek_journal};

/// How often it waits for another irqpath to take back what the kernel refused; ten seconds each.
const TAKE_BACK_TRIES: u32 = 12;

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
    check_foreign(host, &cgroup, &path, &asked.cpus, &content.ledger)?;
    add_attached(base_wanted(content.wanted, asked), &path, asked)
}

/// The same for a container, which takes no CPU that is shielded already. One that has ended, and
/// whose runtime has not said so yet, gives its CPUs back: it does not return.
pub fn plan_attach_container(
    host: &Host,
    id: &str,
    path: &str,
    asked: &Wanted,
) -> Result<Wanted, ShieldError> {
    let cgroup = Snapshot::read_cgroup(host);
    check_kernel(host, &cgroup).map_err(|reason| ShieldError::NotAttached { reason })?;
    let path = find_cgroup(host, &cgroup.mount, path)?;
    let content = peek_journal(host, OWNER)?;
    check_foreign(host, &cgroup, &path, &asked.cpus, &content.ledger)?;
    let wanted = without_ended(host, base_wanted(content.wanted, asked));
    let own = wanted.own_cpus().intersection(&asked.cpus);
    if !own.is_empty() {
        let reason = format!("CPU {own} is shielded already, and not for containers");
        return Err(ShieldError::NotAttached { reason });
    }
    let mut wanted = add_attached(wanted, &path, asked)?;
    wanted.containers.insert(id.to_owned(), path);
    Ok(wanted)
}

fn check_foreign(
    host: &Host,
    cgroup: &Cgroup,
    path: &str,
    cpus: &CpuList,
    ledger: &Ledger,
) -> Result<(), ShieldError> {
    match foreign_partition(host, &cgroup.mount, path, ledger) {
        Some(found) if found != *cpus => {
            Err(ShieldError::ForeignPartition { path: path.to_owned(), cpus: found })
        }
        _ => Ok(()),
    }
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
    let old = wanted.attached.remove(path).unwrap_or_default();
    let stays = wanted.borrowed.remove(path).unwrap_or_default();
    wanted.cpus = wanted.cpus.difference(&old.difference(&stays));
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
    for (name, list) in &asked.irqs {
        let has = wanted.irqs.get(name).filter(|has| *has != list && **has != old);
        if let Some(has) = has {
            return refuse(format!("interrupt {name} is bound to CPU {has} already"));
        }
    }
    let borrowed = wanted.own_cpus().intersection(cpus);
    if !borrowed.is_empty() {
        wanted.borrowed.insert(path.to_owned(), borrowed);
    }
    wanted.cpus = wanted.cpus.union(cpus);
    wanted.irqs.extend(asked.irqs.clone());
    wanted.attached.insert(path.to_owned(), cpus.clone());
    Ok(wanted)
}

/// Set what `plan` returns, as [`plan_attach`]. It plans again if somebody else changed the shield
/// meanwhile, so that nobody's cgroup is forgotten. If the kernel makes no partition for what is new,
/// that is taken back.
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
    let before = Entry::parse(seen).map(|entry| entry.wanted);
    let had = |path: &String| before.as_ref().and_then(|before| before.attached.get(path));
    let refusal = |path: &String| {
        let label = obstacle_label(path);
        let is_it = |o: &&Obstacle| o.kind == ObstacleKind::NoPartition && o.label == label;
        done.obstacles.iter().find(is_it).map(|o| o.reason.clone())
    };
    let new = wanted.attached.iter().filter(|(path, cpus)| had(path) != Some(*cpus));
    let refused = new.map(|(path, _)| path).find_map(|path| Some((path, refusal(path)?)));
    let Some((path, reason)) = refused else { return Ok(done) };
    // Whoever tries all of this again would find it attached already.
    let mut tries = 0..TAKE_BACK_TRIES;
    loop {
        match take_back(host, access, path, before.as_ref(), is_stopped) {
            Err(ShieldError::Journal(e)) if e.is_locked() && tries.next().is_some() => {}
            Err(ShieldError::Journal(e)) if e.is_locked() => {
                let reason =
                    format!("{reason}; its CPUs stay shielded: irqpath shield detach /{path}");
                return Err(ShieldError::NotAttached { reason });
            }
            Err(error) => return Err(error),
            Ok(_) => return Err(ShieldError::NotAttached { reason }),
        }
    }
}
