// SPDX-License-Identifier: GPL-2.0-or-later
//! How a shield stands: what drifted, what waits, what cannot be had, and who is inside.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use irqpath_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{Entry, in_force, is_held_back};
use super::measure::Measured;
use super::obstacle::{Obstacle, ObstacleKind};
use super::plan::{Kept, all_refused, is_irq_thread, plan};
use super::{Mechanism, OWNER, ShieldError, Snapshot, Switch, Wanted, partition};
use crate::change::{Access, Step, Target, Value};
use crate::journal::{Ledger, peek};
use crate::{Host, Task};

/// A value that is not what the shield wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// What people call it.
    pub label: String,
    /// What it is.
    pub found: Value,
    /// What it should be.
    pub wanted: Value,
    /// True if it is new: a task or device that came after the shield was set.
    pub new: bool,
}

/// How a shield stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// What was asked for; `None` if there is no shield.
    pub wanted: Option<Wanted>,
    /// How what is wanted is kept off.
    pub mechanism: Option<Mechanism>,
    /// When it was set, seconds since 1970.
    pub at_unix_s: u64,
    /// Values that a reset would put back.
    pub held: usize,
    /// What is not as it should be.
    pub drift: Vec<Drift>,
    /// Interrupts that move when they next arrive.
    pub pending: Vec<Kept>,
    /// What cannot be kept off, and why.
    pub obstacles: Vec<Obstacle>,
    /// What was asked onto the shielded CPUs alone.
    pub kept: Vec<Kept>,
    /// Tasks that run on the shielded CPUs now, or wait for them.
    pub running: Vec<Running>,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
    /// Lines of the journal that are damaged.
    pub damaged: Vec<usize>,
}

/// A task on a shielded CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Running {
    /// What people call it.
    pub label: String,
    /// The CPU.
    pub cpu: u16,
    /// True if it may use shielded CPUs only.
    pub inside: bool,
}

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
    affinities: BTreeMap<crate::change::TaskId, &'a CpuList>,
    /// The shield was set just now.
    is_new: bool,
}

/// Look. Needs no privilege and no lock.
pub fn status(host: &Host, access: &dyn Access) -> Result<Status, ShieldError> {
    let content = peek(host, OWNER)?;
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
        running: Vec::new(),
        gone_with_boot: content.gone_with_boot,
        damaged: content.damaged,
    };
    let entry = content.wanted.and_then(|wanted| serde_json::from_value::<Entry>(wanted).ok());
    let Some(Entry { wanted, .. }) = entry else { return Ok(status) };
    let snapshot = Snapshot::read(host, access)?;
    let plan = plan(&snapshot, &wanted, &ledger);
    let has_partition = partition::is_held(&ledger);
    status.mechanism = Some(in_force(has_partition, &plan, &wanted));
    let look = Look {
        access,
        ledger: &ledger,
        online: &snapshot.online,
        affinities: snapshot.affinities(),
        is_new: seconds_since(status.at_unix_s) < IRQBALANCE_LAG_S,
    };
    status.drift = plan
        .settings
        .iter()
        .chain(&plan.tasks)
        .filter(|step| !is_held_back(&ledger, step))
        .filter_map(|step| drift(&look, step))
        .collect();
    status.drift.extend(has_partition.then(|| broken(access, &snapshot, &wanted.cpus)).flatten());
    status.pending = pending(&snapshot, &wanted, plan.kernel);
    status.obstacles = plan.obstacles;
    // Said when the shield was set; what is in force is known now.
    status.obstacles.retain(|o| o.kind != ObstacleKind::NoPartition || !has_partition);
    status.obstacles.extend(all_refused(&snapshot, &wanted, &ledger));
    status.kept = plan.kept;
    status.running = running(&snapshot.tasks, &wanted.cpus);
    status.wanted = Some(wanted);
    Ok(status)
}

fn drift(look: &Look<'_>, step: &Step) -> Option<Drift> {
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

fn running(tasks: &[Task], cpus: &CpuList) -> Vec<Running> {
    let there = tasks.iter().filter(|task| task.runnable && cpus.contains(task.cpu));
    let of = |task: &Task| Running {
        label: task.label(),
        cpu: task.cpu,
        inside: task.affinity.is_subset(cpus),
    };
    there.map(of).collect()
}

/// The partition, if it does not hold.
fn broken(access: &dyn Access, snapshot: &Snapshot, cpus: &CpuList) -> Option<Drift> {
    let state = partition::state(access, &snapshot.cgroup.mount);
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
fn pending(snapshot: &Snapshot, wanted: &Wanted, kernel: bool) -> Vec<Kept> {
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
    if !wanted.has(Switch::Irqs) {
        return Vec::new();
    }
    snapshot.irqs.iter().filter(waits).map(of).collect()
}

/// Interrupts that were moved away, with nothing refused, and arrived all the same.
pub fn moved_but_arrived(status: &Status, measured: &Measured) -> Vec<String> {
    let shields = status.wanted.as_ref().is_some_and(|wanted| wanted.has(Switch::Irqs));
    let explained = |label: &str| {
        status.obstacles.iter().any(|o| o.label == label)
            || status.kept.iter().any(|k| k.label == label)
    };
    let labels = measured.arrived.iter().filter(|a| !a.softirq).filter_map(|arrived| {
        let irq: u32 = arrived.label.parse().ok()?;
        Some(format!("irq {irq} ({})", arrived.name))
    });
    labels.filter(|label| shields && !explained(label)).collect()
}

/// Tasks that the tracer saw there although they may not, or need not, be there. One that has ended
/// since is not known well enough to be called one.
pub fn strayed(host: &Host, status: &Status, measured: &Measured) -> Vec<String> {
    let Some(wanted) = &status.wanted else { return Vec::new() };
    let kept_off = |task: &Task| {
        let switch = if task.kernel { Switch::Kthreads } else { Switch::Tasks };
        let free = !task.fixed && !is_irq_thread(task) && !task.affinity.is_subset(&wanted.cpus);
        free && wanted.has(switch)
    };
    let strays: Vec<Task> = host.tasks().into_iter().filter(kept_off).collect();
    let label = |one: &irqpath_model::Occupied| {
        let task = strays.iter().find(|task| Some(task.id.tid) == one.tid)?;
        let us = one.total_ns as f64 / 1e3;
        Some(format!("{}: {} times, {us:.1} us", task.label(), one.n))
    };
    measured.occupied.iter().filter_map(label).collect()
}
