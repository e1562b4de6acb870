// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides what a shield changes. Pure: from what the host is like, what is wanted, and what
//! is held already, to a list of changes and a list of what cannot be had, with reasons.
//!
//! A mask is computed from its value before us ([`Ledger`]), so a second `set` with other
//! CPUs gives back those that are not shielded any more.

use std::collections::BTreeSet;

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Target, Value};
use irqpath_model::shield::{Kept, Mechanism, Obstacle, ObstacleKind, Switch, Wanted};

use super::attached::{ATTACHES, attach_steps};
use super::kernel::{self, KernelShield};
use super::latency_plan::plan_latency;
use super::siblings::plan_offline;
use super::snapshot::NEW_IRQS;
use super::{Irq, IrqBalance, MaskFile, Opponent, Snapshot, boot, partition};
use crate::Task;
use crate::change::{RUN_DIRECTORY, Step, join_lines};
use crate::journal::Ledger;

pub(super) const TIMER_MIGRATION: &str = "proc/sys/kernel/timer_migration";

/// What a shield changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Files and irqbalance. Those that are right already are here, too.
    pub settings: Vec<Step>,
    /// Affinities of tasks, likewise.
    pub tasks: Vec<Step>,
    /// Processes that belong into the partition, likewise.
    pub inside: Vec<Step>,
    /// Interrupts that somebody named, likewise. Their threads follow with the next interrupt, so
    /// these are made when the partition is there, which would move the threads off again.
    pub bound: Vec<Step>,
    /// What gives cgroups their CPUs, likewise; by cgroup.
    pub attached: Vec<(String, Vec<Step>)>,
    /// CPUs that are taken off, likewise.
    pub offline: Vec<Step>,
    /// Whether a partition is made.
    pub partition: bool,
    /// Whether the kernel's own shield is used, for interrupts and tasks.
    pub kernel: bool,
    /// What cannot be had.
    pub obstacles: Vec<Obstacle>,
    /// What stays because it was asked onto the shielded CPUs.
    pub kept: Vec<Kept>,
    /// What goes onto the shielded CPUs.
    pub placed: Vec<Kept>,
    /// What else the user should know.
    pub notes: Vec<String>,
}

impl Plan {
    /// Every change, in the order in which they are made.
    pub fn all_steps(&self) -> impl Iterator<Item = &Step> {
        let own = self.settings.iter().chain(&self.tasks).chain(&self.inside);
        own.chain(self.attached.iter().flat_map(|(_, steps)| steps))
            .chain(&self.bound)
            .chain(&self.offline)
    }
}

/// Decides what has to change, without changing it.
pub fn plan_shield(snapshot: &Snapshot, wanted: &Wanted, ledger: &Ledger) -> Plan {
    let mut planner =
        Planner { snapshot, wanted, ledger, bound: BTreeSet::new(), plan: Plan::default() };
    planner.plan_kernel();
    planner.plan_mechanism();
    planner.plan_attached();
    planner.plan_masks();
    planner.plan_irqbalance();
    planner.plan_irqs();
    planner.plan_timers();
    let (steps, obstacles) = plan_latency(snapshot, wanted);
    planner.plan.settings.extend(steps);
    planner.plan.obstacles.extend(obstacles);
    planner.plan_tasks();
    planner.plan.notes.extend(snapshot.placed.absent.iter().cloned());
    let (steps, obstacles) = plan_offline(snapshot, wanted, ledger);
    planner.plan.offline = steps;
    planner.plan.obstacles.extend(obstacles);
    planner.plan.notes.extend(snapshot.topology.describe(wanted));
    planner.plan.notes.extend(snapshot.opponents.iter().filter_map(Opponent::describe));
    planner.plan.obstacles.extend(boot::boot_obstacles(snapshot, wanted));
    planner.plan
}

pub(super) struct Planner<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) wanted: &'a Wanted,
    pub(super) ledger: &'a Ledger,
    /// Processes that a partition takes in because they asked for its CPUs alone.
    pub(super) bound: BTreeSet<u32>,
    pub(super) plan: Plan,
}

impl Planner<'_> {
    /// A target's CPUs as they would be without us.
    pub(super) fn base_cpus(&self, target: &Target, found: &CpuList) -> CpuList {
        let held = self.ledger.get(target);
        let ours = held.filter(|held| held.ours.contains(&Value::Cpus(found.clone())));
        ours.and_then(|held| held.original.cpus()).unwrap_or(found).clone()
    }

    /// True if no online CPU would be left without the shielded ones.
    pub(super) fn only_shielded(&self, cpus: &CpuList) -> bool {
        cpus.intersection(&self.snapshot.online).is_subset(&self.wanted.cpus)
    }

    pub(super) fn without_shielded(&self, cpus: &CpuList) -> CpuList {
        cpus.difference(&self.wanted.cpus)
    }

    /// Everything that is not shielded.
    fn unshielded_cpus(&self) -> CpuList {
        self.without_shielded(&self.snapshot.online)
    }

    fn add_setting(&mut self, target: Target, label: String, cpus: CpuList) {
        let step = Step { target, label, new: Value::Cpus(cpus), pin: false };
        self.plan.settings.push(step);
    }

    /// The kernel adds our CPUs to those that somebody else shields.
    fn plan_kernel(&mut self) {
        let shield: Option<&KernelShield> = self.snapshot.kernel_shield.as_ref();
        let Some(shield) = shield.filter(|_| kernel::is_wanted(self.wanted)) else { return };
        self.plan.kernel = true;
        for addition in shield.missing_cpus(self.wanted, &self.snapshot.nohz_full) {
            let base = self.base_cpus(&addition.target, addition.found);
            let label = format!("CPUs that the kernel shields from {}", addition.label);
            self.add_setting(addition.target, label, base.union(&addition.cpus));
        }
    }

    /// A partition takes every task off its CPUs, also one that asked for them alone. Where there
    /// is such a task, affinities are the only way to leave it there.
    fn plan_mechanism(&mut self) {
        let processes = self.bound_processes();
        let asked = self
            .snapshot
            .tasks
            .iter()
            .find(|task| self.is_bound(task) && !task.fixed && !processes.contains(&task.tgid));
        let chosen = self.plan.kernel || self.wanted.mechanism == Mechanism::Affinity;
        let own = self.wanted.own_cpus();
        if chosen || !self.wanted.is_on(Switch::Tasks) || own.is_empty() {
            return;
        }
        let cgroup = &self.snapshot.cgroup;
        let mut fix = None;
        let reason = if !cgroup.unusable.is_empty() {
            cgroup.unusable.clone()
        } else if let Some(refusal) =
            self.ledger.refusal(&partition::partition_target(&cgroup.mount))
        {
            refusal.reason.clone() // decided when the shield was set
        } else if let Some(task) = self.find_lone_thread() {
            fix = self.suggest_attach(task);
            format!("{} goes alone, without the other threads of its process", task.label())
        } else if let Some(task) = asked.filter(|_| !self.has_partition()) {
            // Once it is made, who runs inside asked for these CPUs alone, of course.
            let whose = if task.kernel { "the kernel" } else { "not all of its process" };
            format!("{} was asked onto CPU {} alone, {whose}", task.label(), task.affinity)
        } else {
            self.plan.partition = true;
            self.plan_inside(processes);
            return;
        };
        self.plan.obstacles.push(Obstacle {
            label: "a cgroup partition".to_owned(),
            switch: Switch::Tasks,
            kind: ObstacleKind::NoPartition,
            reason,
            errno: 0,
            fix,
        });
    }

    /// A thread of a process can have a partition of its own where a cgroup can be attached.
    fn suggest_attach(&self, task: &Task) -> Option<String> {
        let can = self.snapshot.version.is_some_and(|version| version >= ATTACHES) && !task.kernel;
        let (tid, cpus) = (task.id.tid, &self.wanted.cpus);
        can.then(|| format!("irqpath shield attach --tid {tid} --cpus {cpus} keeps a partition"))
    }

    /// A thread that was named without the others of its process, which a partition cannot divide.
    fn find_lone_thread(&self) -> Option<&Task> {
        let named = &self.snapshot.placed.tasks;
        let is_named = |task: &&Task| named.contains(&task.id);
        let others: BTreeSet<u32> =
            self.snapshot.tasks.iter().filter(|t| !is_named(t)).map(|t| t.tgid).collect();
        self.snapshot.tasks.iter().filter(is_named).find(|task| others.contains(&task.tgid))
    }

    /// True if somebody asked for shielded CPUs alone, and nobody named it.
    fn is_bound(&self, task: &Task) -> bool {
        let placed = &self.snapshot.placed;
        let named = placed.tasks.contains(&task.id) || placed.members.contains(&task.id);
        let base = self.task_base(task);
        let elsewhere = self.owner_of(&base).is_some();
        !named && !task.is_irq_thread() && !elsewhere && self.only_shielded(&base)
    }

    /// The cgroup that has one of these CPUs for itself.
    pub(super) fn owner_of(&self, cpus: &CpuList) -> Option<&str> {
        let mut all = self.snapshot.placed.attached.iter();
        all.find(|(_, one)| !one.cpus.is_disjoint(cpus)).map(|(path, _)| path.as_str())
    }

    fn plan_attached(&mut self) {
        let placed = &self.snapshot.placed;
        self.plan.attached =
            attach_steps(&self.snapshot.cgroup.mount, &placed.attached, self.ledger);
        for (path, one) in &placed.attached {
            let whose = if one.given { ", a partition that somebody else made" } else { "" };
            let threads: Vec<&str> = one.threads.iter().map(|(_, label)| label.as_str()).collect();
            let with = if threads.is_empty() { "" } else { " with " };
            let label = format!("cgroup /{path}{whose}{with}{}", threads.join(", "));
            self.plan.placed.push(Kept { label, cpus: one.cpus.clone() });
        }
    }

    /// True if the kernel moves tasks off the CPUs by itself.
    pub(super) fn has_isolated(&self) -> bool {
        self.plan.partition || !self.plan.attached.is_empty()
    }

    /// Processes all of whose threads asked for shielded CPUs alone. They can go into a partition.
    fn bound_processes(&self) -> BTreeSet<u32> {
        let of_users = || self.snapshot.tasks.iter().filter(|task| !task.kernel);
        let bound = of_users().filter(|task| self.is_bound(task)).map(|task| task.tgid);
        let mut bound: BTreeSet<u32> = bound.collect();
        for task in of_users().filter(|task| bound.contains(&task.tgid)).collect::<Vec<_>>() {
            if !self.is_bound(task) {
                bound.remove(&task.tgid);
            }
        }
        bound
    }

    /// Named and bound processes belong into the partition.
    fn plan_inside(&mut self, bound: BTreeSet<u32>) {
        let mount = &self.snapshot.cgroup.mount;
        let named = &self.snapshot.placed.tasks;
        let is_inside = |task: &&Task| named.contains(&task.id) || bound.contains(&task.tgid);
        let processes = self.snapshot.tasks.iter().filter(|task| task.id.tid == task.tgid);
        let step = |task: &Task| Step {
            target: Target::ProcessCgroup { task: task.id, mount: mount.clone() },
            label: format!("cgroup of process {} ({})", task.id.tid, task.comm),
            new: Value::Text(format!("{mount}/{RUN_DIRECTORY}")),
            pin: false,
        };
        self.plan.inside = processes.filter(is_inside).map(step).collect();
        self.bound = bound;
    }

    fn has_partition(&self) -> bool {
        partition::is_held(self.ledger)
    }

    fn plan_masks(&mut self) {
        for file in &self.snapshot.masks {
            if self.wanted.is_on(file.switch) {
                self.plan_mask(file);
            }
        }
    }

    fn plan_mask(&mut self, file: &MaskFile) {
        let form = if file.list { Form::List } else { Form::Mask };
        let target = Target::File { path: file.path.clone(), form };
        let base = self.base_cpus(&target, &file.cpus);
        if self.plan.kernel && file.path == NEW_IRQS {
            return; // the kernel sees to new ones, too
        }
        // An empty mask switches packet spreading off, which is none of our business.
        if base.is_disjoint(&self.wanted.cpus) && self.ledger.get(&target).is_none() {
            return;
        }
        if self.only_shielded(&base) && file.path.ends_with("xps_cpus") {
            return; // the sending queue of the shielded CPUs themselves
        }
        let cpus = if self.only_shielded(&base) {
            self.unshielded_cpus()
        } else {
            self.without_shielded(&base)
        };
        self.add_setting(target, file.label.clone(), cpus);
    }

    fn plan_irqs(&mut self) {
        let snapshot = self.snapshot;
        for irq in &snapshot.irqs {
            match snapshot.placed.irqs.get(&irq.irq) {
                Some(cpus) => self.bind_irq(irq, cpus),
                None if self.wanted.is_on(Switch::Irqs) => self.plan_irq(irq),
                None => {}
            }
        }
    }

    fn bind_irq(&mut self, irq: &Irq, cpus: &CpuList) {
        let (target, label) = (irq_target(irq), irq_label(irq));
        self.plan.placed.push(Kept { label: label.clone(), cpus: cpus.clone() });
        let new = Value::Cpus(cpus.clone());
        self.plan.bound.push(Step { target, label, new, pin: false });
    }

    fn plan_irq(&mut self, irq: &Irq) {
        let target = irq_target(irq);
        let base = self.base_cpus(&target, &irq.affinity);
        if base.is_disjoint(&self.wanted.cpus) && self.ledger.get(&target).is_none() {
            return;
        }
        let label = irq_label(irq);
        // A driver that spread its queues, or irqbalance, put it there; nobody asked for it. Of
        // one that irqbalance was told to leave alone, somebody did.
        let balance = self.snapshot.irqbalance.as_ref();
        let balanced =
            balance.is_some_and(|b| !b.lines.as_ref().is_some_and(|l| l.contains(&irq.irq)));
        let asked = !balanced && base != irq.hint;
        if self.only_shielded(&base) && balanced && base != irq.hint && !irq.managed {
            self.plan.notes.push(format!(
                "{label} was on CPU {base} alone, where irqbalance may have put it; --irq {} keeps it",
                irq.irq
            ));
        }
        if self.only_shielded(&base) && asked {
            self.plan.kept.push(Kept { label, cpus: base });
            return;
        }
        if self.plan.kernel && !self.only_shielded(&base) {
            return;
        }
        let cpus = if self.only_shielded(&base) {
            self.unshielded_cpus()
        } else {
            self.without_shielded(&base)
        };
        self.add_setting(target, label, cpus);
    }

    fn plan_irqbalance(&mut self) {
        let Some(balance) = &self.snapshot.irqbalance else { return };
        self.plan_irqbalance_lines(balance);
        if !self.wanted.is_on(Switch::Irqs) {
            return;
        }
        if let Some(banned) = &balance.banned {
            let target = Target::Irqbalance { task: balance.task };
            let base = self.base_cpus(&target, banned);
            self.add_setting(target, "irqbalance".to_owned(), base.union(&self.wanted.cpus));
            return;
        }
        self.plan.obstacles.push(Obstacle {
            label: format!("irqbalance (process {})", balance.task.tid),
            switch: Switch::Irqs,
            kind: ObstacleKind::Irqbalance,
            reason: "it moves interrupts every ten seconds and has no socket to be told".to_owned(),
            errno: 0,
            fix: Some(format!(
                "IRQBALANCE_BANNED_CPULIST={} in /etc/default/irqbalance, then systemctl restart irqbalance",
                self.wanted.cpus
            )),
        });
    }

    /// It would move an interrupt that was named, and those that it was told of before are kept.
    fn plan_irqbalance_lines(&mut self, balance: &IrqBalance) {
        let Some(lines) = &balance.lines else { return };
        let target = Target::IrqbalanceLines { task: balance.task };
        let held = self.ledger.get(&target);
        let ours = held.filter(|held| held.ours.contains(&Value::Text(join_lines(lines))));
        let before = match ours.map(|held| &held.original) {
            Some(Value::Text(before)) => before.split(' ').filter_map(|n| n.parse().ok()).collect(),
            _ => lines.clone(),
        };
        let named: BTreeSet<u32> = self.snapshot.placed.irqs.keys().copied().collect();
        if named.is_empty() {
            return; // given back with what else is not wanted any more
        }
        let new = Value::Text(join_lines(&before.union(&named).copied().collect()));
        let label = "interrupts that irqbalance leaves alone".to_owned();
        self.plan.settings.push(Step { target, label, new, pin: false });
    }

    /// With it on, timers that a CPU in `nohz_full=` sets expire on another one, which wakes their task
    /// late and by an interrupt (`lab run shield-timers`). Elsewhere it changes nothing.
    fn plan_timers(&mut self) {
        let tickless = !self.wanted.cpus.is_disjoint(&self.snapshot.nohz_full);
        let there = self.snapshot.timer_migration.is_some();
        if self.wanted.is_on(Switch::Timers) && tickless && there {
            let path = TIMER_MIGRATION.to_owned();
            self.plan.settings.push(Step {
                target: Target::File { path, form: Form::Text },
                label: "timers that leave CPUs without a tick".to_owned(),
                new: Value::Text("0".to_owned()),
                pin: false,
            });
        }
    }
}

pub(super) fn irq_target(irq: &Irq) -> Target {
    Target::File { path: format!("proc/irq/{}/smp_affinity", irq.irq), form: Form::Mask }
}

pub(super) fn irq_label(irq: &Irq) -> String {
    let name = if irq.name.is_empty() { "no handler" } else { &irq.name };
    format!("irq {} ({name})", irq.irq)
}
