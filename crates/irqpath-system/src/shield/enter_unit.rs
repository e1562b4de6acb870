// SPDX-License-Identifier: GPL-2.0-or-later
//! Puts a process onto shielded CPUs without taking it out of its unit: the CPUs go to a cgroup of
//! single threads below the process's own, as `lone` makes for threads of a running one.

use irqpath_model::CpuList;
use irqpath_model::shield::Wanted;

use super::attach::attach;
use super::ended::without_ended;
use super::enter::choose_cpus;
use super::entry::Entry;
use super::lone::{Chosen, add_threads};
use super::threads::process_cgroup;
use super::{OWNER, ShieldError};
use crate::Host;
use crate::change::{Access, home_of_threads};
use crate::journal::peek_journal;

/// Give the process `pid`, which has one thread, `cpus` or all shielded CPUs in a cgroup below the
/// one that it is in. Returns the CPUs. Another program of the unit may have the same CPUs. The cgroup
/// keeps the program there, so that its affinity is as before when the shield goes.
pub fn enter_in_unit(
    host: &Host,
    access: &dyn Access,
    pid: u32,
    cpus: Option<&CpuList>,
) -> Result<CpuList, ShieldError> {
    attach(host, access, &|| plan(host, pid, cpus), &|| false).map_err(|error| match error {
        ShieldError::ThreadNotAttached { reason } | ShieldError::NotAttached { reason } => {
            ShieldError::UnitNotKept { reason }
        }
        other => other,
    })?;
    let path = host.cgroup_of(pid).unwrap_or_default();
    let content = peek_journal(host, OWNER)?;
    let wanted = Entry::parse(content.wanted).ok_or(ShieldError::NotSet)?.wanted;
    let cpus = wanted.attached.get(path.trim_start_matches('/')).cloned().unwrap_or_default();
    if cpus.is_empty() {
        let reason = format!("the program is in {path} instead");
        return Err(ShieldError::UnitNotKept { reason });
    }
    Ok(cpus)
}

fn plan(host: &Host, pid: u32, cpus: Option<&CpuList>) -> Result<Wanted, ShieldError> {
    let content = peek_journal(host, OWNER)?;
    let set = Entry::parse(content.wanted).ok_or(ShieldError::NotSet)?.wanted;
    let set = without_ended(host, set);
    let home = process_cgroup(&host.cgroup_of(pid).unwrap_or_default());
    let home = home.trim_start_matches('/');
    let is_ours = |path: &str| home_of_threads(path) == Some(home);
    let mut shared = set.attached.iter().filter(|(path, _)| is_ours(path)).map(|(_, has)| has);
    let own = set.own_cpus();
    // Of CPUs that others of the unit have, all or none: they would lose or get some.
    let cpus = match cpus {
        Some(cpus) if shared.any(|has| has == cpus) => cpus.clone(),
        None if own.is_empty() => shared.next().cloned().ok_or(ShieldError::NotSet)?,
        cpus => choose_cpus(host, cpus, &own)?,
    };
    let asked = Wanted { cpus, irqs: [].into(), ..set.clone() };
    add_threads(host, &content.ledger, set, Chosen::Tids(&[pid]), &asked)
}
