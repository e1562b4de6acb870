// SPDX-License-Identifier: GPL-2.0-or-later
//! What goes onto the shielded CPUs because somebody named it: interrupts by number or name, tasks
//! by process or unit. Names are looked up again at each repair, so that a device that comes back
//! and a unit that starts again are met.
//!
//! The rule to know: a unit is one of the system's. Whoever has a part of the hierarchy delegated
//! may make cgroups of any name below it, so every directory above a unit has to be a slice.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::change::{Target, Value};
use irqpath_model::shield::{PlacedTask, Wanted};
use irqpath_model::{CpuList, Origin, TaskId};

use super::threads::{Threads, add_started, find_inside, locate_threads, process_cgroup};
use super::{Attached, ShieldError};
use crate::journal::Ledger;
use crate::tasks::Stat;
use crate::{Host, SystemError, Task};

/// What was named, as it is there now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// Interrupts, and the CPUs that they go to.
    pub irqs: BTreeMap<u32, CpuList>,
    /// Threads.
    pub tasks: BTreeSet<TaskId>,
    /// Cgroups that have CPUs for themselves, from the root of the hierarchy.
    pub attached: BTreeMap<String, Attached>,
    /// Threads of processes in these cgroups, and below; also single ones.
    pub members: BTreeSet<TaskId>,
    /// Single threads and their names, by the cgroup that is made for them.
    pub threads: Threads,
    /// Names of which there is nothing now, in words for people.
    pub absent: Vec<String>,
}

impl Placed {
    /// Looks up what `wanted` names. A process that was moved into the partition belongs to the
    /// unit that it came from.
    pub(super) fn locate(host: &Host, wanted: &Wanted, tasks: &[Task], ledger: &Ledger) -> Self {
        let mut placed = Self::default();
        for (name, cpus) in &wanted.irqs {
            match find_lines(host, name) {
                Ok(lines) => placed.irqs.extend(lines.into_iter().map(|irq| (irq, cpus.clone()))),
                Err(_) => placed.absent.push(format!("no interrupt is named {name} now")),
            }
        }
        let units = wanted.tasks.iter().any(|task| matches!(task, PlacedTask::Unit(_)));
        let cgroups = if units || !wanted.attached.is_empty() {
            read_cgroups(host, tasks, ledger)
        } else {
            BTreeMap::new()
        };
        for task in &wanted.tasks {
            let found = threads_of(task, tasks, &cgroups);
            match task {
                PlacedTask::Process(id) if found.is_empty() => {
                    placed.absent.push(format!("process {} has ended", id.tid));
                }
                PlacedTask::Thread(id) if found.is_empty() => {
                    placed.absent.push(format!("thread {} has ended", id.tid));
                }
                PlacedTask::Unit(unit) if found.is_empty() => {
                    placed.absent.push(format!("nothing of {unit} runs now"));
                }
                _ => placed.tasks.extend(found),
            }
        }
        let is_member = |task: &&Task| {
            let cgroup = cgroups.get(&task.tgid);
            cgroup.is_some_and(|c| wanted.attached.keys().any(|path| is_within(c, path)))
        };
        placed.members = tasks.iter().filter(is_member).map(|task| task.id).collect();
        if !wanted.threads.is_empty() {
            let (mut threads, absent) = locate_threads(wanted, tasks, &cgroups);
            let inside = find_inside(host, wanted, tasks, &cgroups);
            add_started(&mut threads, wanted, &inside);
            placed.members.extend(threads.values().flatten().map(|(task, _)| *task));
            placed.members.extend(inside.into_values().flatten().map(|(task, _)| task));
            placed.absent.extend(absent);
            placed.threads = threads;
        }
        placed
    }

    /// Looks at the cgroups that are to have CPUs for themselves.
    pub(super) fn locate_attached(
        &mut self,
        host: &Host,
        mount: &str,
        wanted: &Wanted,
        ledger: &Ledger,
    ) {
        for (path, cpus) in &wanted.attached {
            let threads = self.threads.get(path).cloned().unwrap_or_default();
            if threads.is_empty() && wanted.threads.contains_key(path) {
                continue; // said of the threads already
            }
            match Attached::read(host, mount, path, cpus, threads, ledger) {
                Some(found) => drop(self.attached.insert(path.clone(), found)),
                None => self.absent.push(format!("there is no cgroup /{path} now")),
            }
        }
    }
}

/// The device interrupts of this number or name.
fn find_lines(host: &Host, name: &str) -> Result<BTreeSet<u32>, SystemError> {
    let origins = host.resolve_irqs(&[name])?;
    let of = |origin: &Origin| match origin {
        Origin::Irq(irq) => Some(*irq),
        _ => None,
    };
    Ok(origins.iter().filter_map(of).collect())
}

/// Refuse names of interrupts that are not there, and those that have no affinity.
pub fn check_irqs(host: &Host, names: &[String]) -> Result<(), ShieldError> {
    for name in names {
        if find_lines(host, name)?.is_empty() {
            return Err(ShieldError::NoLine { name: name.clone() });
        }
    }
    Ok(())
}

/// What `--task` names: a process that runs, or a unit, which may start later.
pub fn find_task(host: &Host, text: &str) -> Result<PlacedTask, ShieldError> {
    if let Ok(tid) = text.parse::<u32>() {
        let stat = host.read_fact(&format!("proc/{tid}/stat"));
        let stat = stat.as_deref().and_then(Stat::parse_stat);
        let stat = stat.ok_or(ShieldError::NoProcess { pid: tid })?;
        let status = host.read_fact(&format!("proc/{tid}/status")).unwrap_or_default();
        let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        if tgid.is_some_and(|tgid| tgid.trim().parse() != Ok(tid)) {
            return Err(ShieldError::NoProcess { pid: tid });
        }
        let id = TaskId { tid, start_ticks: stat.start_ticks };
        return Ok(PlacedTask::Process(id));
    }
    let is_name = !text.is_empty() && !text.contains(['/', '\0', '\n']) && !text.starts_with('.');
    if !is_name {
        return Err(ShieldError::NoUnit { name: text.to_owned() });
    }
    let suffix = if text.contains('.') { "" } else { ".service" };
    Ok(PlacedTask::Unit(format!("{text}{suffix}")))
}

/// What `--tid` names: a thread that runs.
pub fn find_thread(host: &Host, tid: u32) -> Result<PlacedTask, ShieldError> {
    let stat = host.read_fact(&format!("proc/{tid}/stat"));
    let stat = stat.as_deref().and_then(Stat::parse_stat);
    let start_ticks = stat.ok_or(ShieldError::NoThread { tid })?.start_ticks;
    Ok(PlacedTask::Thread(TaskId { tid, start_ticks }))
}

/// The cgroup of every process in user space.
fn read_cgroups(host: &Host, tasks: &[Task], ledger: &Ledger) -> BTreeMap<u32, String> {
    let moved = ledger.held().filter_map(|(target, held)| match (target, &held.original) {
        (Target::ProcessCgroup { task, mount }, Value::Text(path)) => {
            Some((task.tid, path.strip_prefix(mount.as_str())?.to_owned()))
        }
        _ => None,
    });
    let moved: BTreeMap<u32, String> = moved.collect();
    let processes = tasks.iter().filter(|task| !task.kernel && task.id.tid == task.tgid);
    let of = |task: &Task| {
        let found = moved.get(&task.tgid).cloned().or_else(|| host.cgroup_of(task.tgid));
        Some((task.tgid, process_cgroup(&found?)))
    };
    processes.filter_map(of).collect()
}

/// True for `/system.slice/UNIT` and everything below it.
fn is_of_unit(cgroup: &str, unit: &str) -> bool {
    let mut parts = cgroup.split('/').filter(|part| !part.is_empty());
    let is_slice = |part: &str| part.rsplit_once('.').is_some_and(|(_, kind)| kind == "slice");
    parts.find(|part| *part == unit || !is_slice(part)) == Some(unit)
}

/// True for `/PATH` and everything below it.
fn is_within(cgroup: &str, path: &str) -> bool {
    let below = cgroup.strip_prefix('/').and_then(|cgroup| cgroup.strip_prefix(path));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn threads_of(wanted: &PlacedTask, tasks: &[Task], cgroups: &BTreeMap<u32, String>) -> Vec<TaskId> {
    let is_one = |task: &&Task| match wanted {
        PlacedTask::Process(id) => task.tgid == id.tid,
        PlacedTask::Thread(id) => task.id == *id,
        PlacedTask::Unit(unit) => cgroups.get(&task.tgid).is_some_and(|c| is_of_unit(c, unit)),
    };
    if let PlacedTask::Process(id) = wanted
        && !tasks.iter().any(|task| task.id == *id)
    {
        return Vec::new();
    }
    tasks.iter().filter(is_one).map(|task| task.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_one_of_the_systems() {
        for (cgroup, want) in [
            ("/system.slice/a.service", true),
            ("/system.slice/system-a.slice/a.service/worker", true),
            ("/user.slice/user-7.slice/user@7.service/app.slice/a.service", false),
            ("/system.slice/b.service/a.service", false),
            ("/system.slice/a.service.d", false),
            ("/", false),
        ] {
            assert_eq!(is_of_unit(cgroup, "a.service"), want, "{cgroup}");
        }
    }
}
