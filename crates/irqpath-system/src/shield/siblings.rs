// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes CPUs off that share a core with shielded ones. It is the last change of a `set` and the
//! first that is taken back, so that everything else is done with all CPUs there.
//!
//! The rule to know: the kernel forgets for good what was asked onto a CPU alone when that CPU goes
//! off. Such a CPU stays on, and is named.

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Target, Value};
use irqpath_model::shield::{Obstacle, ObstacleKind, Switch, Wanted};

use super::latency::CPUS;
use super::topology::online_file;
use super::{OWNER, ShieldError, Snapshot};
use crate::change::Step;
use crate::journal::{Ledger, peek_journal};
use crate::{Host, Task};

/// The siblings of CPUs that are to be shielded. One that the shield has taken off still is one,
/// although the kernel says nothing of the core of a CPU that is off.
pub fn siblings_of(host: &Host, cpus: &CpuList) -> Result<CpuList, ShieldError> {
    let before = peek_journal(host, OWNER)?.wanted;
    let before = before.and_then(|wanted| serde_json::from_value::<Wanted>(wanted).ok());
    let before = before.filter(|before| !before.cpus.is_disjoint(cpus));
    let off = before.map_or_else(CpuList::default, |before| before.offline);
    let off = off.difference(&host.online_cpus()?);
    Ok(host.read_siblings(cpus).union(&off).difference(cpus))
}

pub(super) fn is_cpu(target: &Target) -> bool {
    let Target::File { path, .. } = target else { return false };
    path.starts_with(CPUS) && path.ends_with("/online")
}

/// The changes, and CPUs that have to stay on.
pub(super) fn plan_offline(
    snapshot: &Snapshot,
    wanted: &Wanted,
    ledger: &Ledger,
) -> (Vec<Step>, Vec<Obstacle>) {
    let (mut steps, mut obstacles) = (Vec::new(), Vec::new());
    for cpu in wanted.offline.iter() {
        let target = Target::File { path: online_file(cpu), form: Form::Text };
        let held = ledger.get(&target).is_some();
        let reason = if snapshot.topology.removable.contains(cpu) {
            find_bound(snapshot, wanted).filter(|_| !held)
        } else {
            Some("the kernel cannot take it off".to_owned())
        };
        let label = format!("CPU {cpu}, which shares a core with a shielded one");
        match reason {
            None => {
                let new = Value::Text("0".to_owned());
                steps.push(Step { target, label: format!("CPU {cpu} online"), new, pin: false });
            }
            Some(reason) => obstacles.push(Obstacle {
                label,
                switch: Switch::Tasks,
                kind: ObstacleKind::Unavailable,
                reason,
                errno: 0,
                fix: None,
            }),
        }
    }
    (steps, obstacles)
}

/// What was asked onto CPUs alone of which none would be left.
fn find_bound(snapshot: &Snapshot, wanted: &Wanted) -> Option<String> {
    let is_bound = |cpus: &CpuList| !cpus.is_empty() && cpus.is_subset(&wanted.offline);
    let can_move = |task: &Task| !task.fixed && !task.is_irq_thread();
    let task = snapshot.tasks.iter().find(|task| can_move(task) && is_bound(&task.affinity));
    let irq = snapshot.irqs.iter().find(|irq| is_bound(&irq.affinity));
    let task = task.map(|task| (task.label(), &task.affinity));
    let irq = irq.map(|irq| (format!("irq {} ({})", irq.irq, irq.name), &irq.affinity));
    let (label, cpus) = task.or(irq)?;
    Some(format!("{label} was asked onto CPU {cpus} alone; it stays on"))
}
