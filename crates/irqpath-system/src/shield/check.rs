// SPDX-License-Identifier: GPL-2.0-or-later
//! What is asked before the first change, so that a shield which cannot be had is refused whole.

use irqpath_model::CpuList;
use irqpath_model::change::Target;
use irqpath_model::shield::{Switch, Wanted};

use super::plan::Plan;
use super::refused::switch_of;
use super::{ShieldError, Snapshot};
use crate::{Host, SystemError};

/// Inode of the first pid namespace (`PROC_PID_INIT_INO`).
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Refuse CPUs that cannot be shielded. One that went off since it was shielded is no reason to refuse
/// anything else.
pub(super) fn check_wanted(
    host: &Host,
    wanted: &Wanted,
    before: &CpuList,
) -> Result<(), ShieldError> {
    let new = wanted.cpus.difference(before);
    if before.is_empty() || !new.is_empty() {
        host.check_cpus(&new)?;
    }
    let online = host.online_cpus()?;
    if online.len() == 1 {
        return Err(ShieldError::OnlyCpu { cpus: online });
    }
    if online.is_subset(&wanted.cpus) {
        return Err(ShieldError::AllCpus { cpus: wanted.cpus.clone() });
    }
    Ok(())
}

pub(super) fn check_rights(host: &Host) -> Result<(), ShieldError> {
    host.may_change_tasks().map_err(SystemError::from)?;
    let namespace = std::fs::read_link(host.path("proc/self/ns/pid")).ok();
    if namespace.is_some_and(|link| link.to_str() != Some(INITIAL_PID_NAMESPACE)) {
        return Err(ShieldError::PidNamespace);
    }
    Ok(())
}

pub(super) fn check_files(
    host: &Host,
    plan: &Plan,
    snapshot: &Snapshot,
) -> Result<(), ShieldError> {
    for step in plan.settings.iter().chain(&plan.bound) {
        let Target::File { path, .. } = &step.target else { continue };
        check_writable(host, path, switch_of(snapshot, &step.target))?;
    }
    if plan.partition || !plan.attached.is_empty() {
        check_writable(host, &snapshot.cgroup.mount, Switch::Tasks)?;
    }
    Ok(())
}

fn check_writable(host: &Host, path: &str, switch: Switch) -> Result<(), ShieldError> {
    use rustix::fs::{Access as Mode, access};
    match access(host.path(path), Mode::WRITE_OK) {
        Err(rustix::io::Errno::ROFS) => {
            Err(ShieldError::ReadOnly { path: path.to_owned(), switch })
        }
        // Nobody may write the affinity of an interrupt that the kernel manages itself, whoever asks.
        Err(rustix::io::Errno::ACCESS) if is_read_only(host, path) => Ok(()),
        Err(rustix::io::Errno::ACCESS) => Err(ShieldError::Forbidden { path: path.to_owned() }),
        _ => Ok(()),
    }
}

fn is_read_only(host: &Host, path: &str) -> bool {
    std::fs::metadata(host.path(path)).is_ok_and(|found| found.permissions().readonly())
}
