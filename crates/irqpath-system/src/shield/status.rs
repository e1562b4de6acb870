// SPDX-License-Identifier: GPL-2.0-or-later
//! How a shield stands: what drifted, what waits, what cannot be had, and who is inside.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use irqpath_model::CpuList;
use irqpath_model::change::{Target, Value};
use irqpath_model::shield::{Drift, Kept, Measured, ObstacleKind, Running, Status, Switch, Wanted};

use super::entry::{Entry, in_force, is_held_back};
use super::plan::plan_shield;
use super::refused::all_refused;
use super::{OWNER, ShieldError, Snapshot, partition, recall};
use crate::change::{Access, Step};
use crate::journal::{Ledger, peek_journal};
use crate::{Host, Task};

/// irqbalance takes a mask up at its next scan, every ten seconds, and says the old one until then.
const IRQBALANCE_LAG_S: u64 = 20;

fn seconds_since(unix_s: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs().saturating_sub(unix_s)
}

/// What steps are compared with.
struct Look<'a> {
    access: &'a dyn Access,
    ledger: &'a Ledger,
    online: &'a CpuList,
    affinities: BTreeMap<irqpath_model::TaskId, &'a CpuList>,
    /// The shield was set just now.
    is_new: bool,
}

/// Look. Needs no privilege and no lock.
pub fn status(host: &Host, access: &dyn Access) -> Result<Status, ShieldError> {
    let content = peek_journal(host, OWNER)?;
    let ledger = content.ledger;
    let mut status = Status {
        wanted: None,
        mechanism: None,
        at_unix_s: content.at_unix_s,
        held: ledger.held().count(),
        drift: Vec::new(),
        pending: Vec::new(),
        obstacles: Vec::new(),
        kept: Vec::new(),
        placed: Vec::new(),
        notes: Vec::new(),
        running: Vec::new(),
        gone_with_boot: content.gone_with_boot,
        damaged: content.damaged,
    };
    let entry = Entry::parse(content.wanted);
    let Some(Entry { wanted, .. }) = entry else { return Ok(status) };
    let snapshot = Snapshot::read_for(host, access, &wanted, &ledger)?;
    let plan = plan_shield(&snapshot, &wanted, &ledger);
    let has_partition = partition::is_held(&ledger);
    status.mechanism = Some(in_force(has_partition || !plan.attached.is_empty(), &plan, &wanted));
    let look = Look {
        access,
        ledger: &ledger,
        online: &snapshot.online,
        affinities: snapshot.task_affinities(),
        is_new: seconds_since(status.at_unix_s) < IRQBALANCE_LAG_S,
    };
    status.drift = plan
        .all_steps()
        .filter(|step| !is_held_back(&ledger, step))
        .filter_map(|step| find_drift(&look, step))
        .collect();
    status
        .drift
        .extend(has_partition.then(|| partition_drift(access, &snapshot, &wanted.cpus)).flatten());
    status.pending = find_pending(&snapshot, &wanted, plan.kernel);
    status.pending.extend(recall::find_waiting(&snapshot, &wanted.cpus));
    status.obstacles = plan.obstacles;
    // Said when the shield was set; what is in force is known now.
    status.obstacles.retain(|o| o.kind != ObstacleKind::NoPartition || !has_partition);
    status.obstacles.extend(all_refused(&snapshot, &wanted, &ledger));
    (status.kept, status.placed, status.notes) = (plan.kept, plan.placed, plan.notes);
    status.running = find_running(&snapshot.tasks, &wanted.cpus);
    status.wanted = Some(wanted);
    Ok(status)
}

fn find_drift(look: &Look<'_>, step: &Step) -> Option<Drift> {
    let found = match &step.target {
        // Not read again: a host has thousands of tasks.
        Target::TaskAffinity { task } => Value::Cpus((*look.affinities.get(task)?).clone()),
        // Gone, or not readable for this user: nothing can be said.
        target => look.access.get(target).ok()??,
    };
    let held = look.ledger.get(&step.target);
    let visible = |value: &Value| value.cpus().map(|cpus| cpus.intersection(look.online));
    let is_same = match step.target {
        Target::TaskAffinity { .. } => visible(&found) == visible(&step.new),
        Target::Irqbalance { .. } => look.is_new && held.is_some_and(|h| found == h.original),
        _ => false,
    };
    if is_same || found == step.new {
        return None;
    }
    let new = held.is_none();
    Some(Drift { label: step.label.clone(), found, wanted: step.new.clone(), new })
}

fn find_running(tasks: &[Task], cpus: &CpuList) -> Vec<Running> {
    let there = tasks.iter().filter(|task| task.runnable && cpus.contains(task.cpu));
    let of = |task: &Task| Running {
        label: task.label(),
        cpu: task.cpu,
        inside: task.affinity.is_subset(cpus),
    };
    there.map(of).collect()
}

/// The partition, if it does not hold.
fn partition_drift(access: &dyn Access, snapshot: &Snapshot, cpus: &CpuList) -> Option<Drift> {
    let state = partition::partition_state(access, &snapshot.cgroup.mount);
    let state = state.unwrap_or_else(|| "not there".to_owned());
    (state != "isolated" && state != "root").then(|| Drift {
        label: format!("partition of CPU {cpus}"),
        found: Value::Text(state),
        wanted: Value::Text("isolated".to_owned()),
        new: false,
    })
}

/// An interrupt controller may move a line only while it serves it. The kernel's own shield leaves
/// the affinity as it was asked for.
fn find_pending(snapshot: &Snapshot, wanted: &Wanted, kernel: bool) -> Vec<Kept> {
    let waits = |irq: &&super::Irq| {
        let effective = irq.effective.as_ref();
        let moved = if kernel {
            !irq.affinity.is_subset(&wanted.cpus)
        } else {
            irq.affinity.is_disjoint(&wanted.cpus)
        };
        moved
            && effective.is_some_and(|cpus| !cpus.is_disjoint(&wanted.cpus))
            && !irq.name.is_empty()
    };
    let of = |irq: &super::Irq| Kept {
        label: format!("irq {} ({})", irq.irq, irq.name),
        cpus: irq.effective.clone().unwrap_or_default(),
    };
    if !wanted.is_on(Switch::Irqs) {
        return Vec::new();
    }
    snapshot.irqs.iter().filter(waits).map(of).collect()
}

/// Interrupts that were moved away, with nothing refused, and arrived all the same.
pub fn moved_but_arrived(status: &Status, measured: &Measured) -> Vec<String> {
    let shields = status.wanted.as_ref().is_some_and(|wanted| wanted.is_on(Switch::Irqs));
    let explained = |label: &str| {
        status.obstacles.iter().any(|o| o.label == label)
            || status.kept.iter().chain(&status.placed).any(|k| k.label == label)
    };
    let labels = measured.arrived.iter().filter(|a| !a.softirq).filter_map(|arrived| {
        let irq: u32 = arrived.label.parse().ok()?;
        Some(format!("irq {irq} ({})", arrived.name))
    });
    labels.filter(|label| shields && !explained(label)).collect()
}

/// Lists the tasks that the tracer saw on shielded CPUs although the shield keeps them off. Of one that
/// has ended since too little is known; it is left out.
pub fn find_strayed(host: &Host, status: &Status, measured: &Measured) -> Vec<String> {
    let Some(wanted) = &status.wanted else { return Vec::new() };
    let kept_off = |task: &Task| {
        let switch = if task.kernel { Switch::Kthreads } else { Switch::Tasks };
        let free = !task.fixed && !task.is_irq_thread() && !task.affinity.is_subset(&wanted.cpus);
        free && wanted.is_on(switch)
    };
    let strays: Vec<Task> = host.read_tasks().into_iter().filter(kept_off).collect();
    let label = |one: &irqpath_model::Occupied| {
        let task = strays.iter().find(|task| Some(task.id.tid) == one.tid)?;
        let us = one.total_ns as f64 / 1e3;
        Some(format!("{}: {} times, {us:.1} us", task.label(), one.n))
    };
    measured.occupied.iter().filter_map(label).collect()
}
