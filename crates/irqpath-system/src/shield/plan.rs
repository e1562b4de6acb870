// SPDX-License-Identifier: GPL-2.0-or-later
//! Decides what a shield changes. Pure: from what the host is like, what is wanted, and what
//! is held already, to a list of changes and a list of what cannot be had, with reasons.
//!
//! A mask is computed from its value before us ([`Ledger`]), so a second `set` with other
//! CPUs gives back those that are not shielded any more.

use irqpath_model::CpuList;
use irqpath_model::change::{Form, Refusal, Target, Value};
use irqpath_model::shield::{Kept, Mechanism, Obstacle, ObstacleKind, Switch, Wanted};

use super::kernel::{self, KernelShield};
use super::snapshot::NEW_IRQS;
use super::{Irq, MaskFile, Snapshot, boot, partition};
use crate::Task;
use crate::change::Step;
use crate::journal::Ledger;

const TIMER_MIGRATION: &str = "proc/sys/kernel/timer_migration";

/// What a shield changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Files and irqbalance. Those that are right already are here, too.
    pub settings: Vec<Step>,
    /// Affinities of tasks, likewise.
    pub tasks: Vec<Step>,
    /// Whether a partition is made.
    pub partition: bool,
    /// Whether the kernel's own shield is used, for interrupts and tasks.
    pub kernel: bool,
    /// What cannot be had.
    pub obstacles: Vec<Obstacle>,
    /// What stays because it was asked onto the shielded CPUs.
    pub kept: Vec<Kept>,
}

/// Decides what has to change, without changing it.
pub fn plan_shield(snapshot: &Snapshot, wanted: &Wanted, ledger: &Ledger) -> Plan {
    let mut planner = Planner { snapshot, wanted, ledger, plan: Plan::default() };
    planner.plan_kernel();
    planner.plan_mechanism();
    planner.plan_masks();
    if wanted.is_on(Switch::Irqs) {
        planner.plan_irqbalance();
        planner.plan_irqs();
    }
    planner.plan_timers();
    planner.plan_tasks();
    planner.plan.obstacles.extend(boot::boot_obstacles(snapshot, wanted));
    planner.plan
}

struct Planner<'a> {
    snapshot: &'a Snapshot,
    wanted: &'a Wanted,
    ledger: &'a Ledger,
    plan: Plan,
}

impl Planner<'_> {
    /// A target's CPUs as they would be without us.
    fn base_cpus(&self, target: &Target, found: &CpuList) -> CpuList {
        let held = self.ledger.get(target);
        let ours = held.filter(|held| held.ours.contains(&Value::Cpus(found.clone())));
        ours.and_then(|held| held.original.cpus()).unwrap_or(found).clone()
    }

    /// True if no online CPU would be left without the shielded ones.
    fn only_shielded(&self, cpus: &CpuList) -> bool {
        cpus.intersection(&self.snapshot.online).is_subset(&self.wanted.cpus)
    }

    fn without_shielded(&self, cpus: &CpuList) -> CpuList {
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
        let asked = self.snapshot.tasks.iter().find(|task| {
            !task.fixed && self.only_shielded(&self.task_base(task)) && !is_irq_thread(task)
        });
        let chosen = self.plan.kernel || self.wanted.mechanism == Mechanism::Affinity;
        if chosen || !self.wanted.is_on(Switch::Tasks) {
            return;
        }
        let cgroup = &self.snapshot.cgroup;
        let reason = if !cgroup.unusable.is_empty() {
            cgroup.unusable.clone()
        } else if let Some(refusal) =
            self.ledger.refusal(&partition::partition_target(&cgroup.mount))
        {
            refusal.reason.clone() // decided when the shield was set
        } else if let Some(task) = asked.filter(|_| !self.has_partition()) {
            // Once it is made, who runs inside asked for these CPUs alone, of course.
            format!("{} was asked onto CPU {} alone", task.label(), task.affinity)
        } else {
            self.plan.partition = true;
            return;
        };
        self.plan.obstacles.push(Obstacle {
            label: "a cgroup partition".to_owned(),
            switch: Switch::Tasks,
            kind: ObstacleKind::NoPartition,
            reason,
            errno: 0,
            fix: None,
        });
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
        for irq in &self.snapshot.irqs {
            self.plan_irq(irq);
        }
    }

    fn plan_irq(&mut self, irq: &Irq) {
        let path = format!("proc/irq/{}/smp_affinity", irq.irq);
        let target = Target::File { path, form: Form::Mask };
        let base = self.base_cpus(&target, &irq.affinity);
        if base.is_disjoint(&self.wanted.cpus) && self.ledger.get(&target).is_none() {
            return;
        }
        let name = if irq.name.is_empty() { "no handler" } else { &irq.name };
        let label = format!("irq {} ({name})", irq.irq);
        // A driver that spread its queues, or irqbalance, put it there; nobody asked for it.
        let asked = self.snapshot.irqbalance.is_none() && base != irq.hint;
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

    /// With it on, a timer that is set on an idle CPU goes to one that is busy anyway.
    fn plan_timers(&mut self) {
        if self.wanted.is_on(Switch::Timers) && self.snapshot.timer_migration.is_some() {
            let path = TIMER_MIGRATION.to_owned();
            self.plan.settings.push(Step {
                target: Target::File { path, form: Form::Text },
                label: "timers of idle CPUs".to_owned(),
                new: Value::Text("1".to_owned()),
                pin: false,
            });
        }
    }

    fn task_base(&self, task: &Task) -> CpuList {
        self.base_cpus(&Target::TaskAffinity { task: task.id }, &task.affinity)
    }

    fn plan_tasks(&mut self) {
        for task in &self.snapshot.tasks {
            if task.fixed {
                self.report_fixed(task);
            } else if !is_irq_thread(task) || self.plan.partition {
                self.plan_task(task);
            }
        }
    }

    /// A partition moves every kernel thread that can be moved.
    fn is_concerned(&self, task: &Task) -> bool {
        match (task.kernel, is_rcu_thread(task)) {
            _ if is_irq_thread(task) => false,
            (false, _) => self.wanted.is_on(Switch::Tasks),
            (true, _) if self.plan.partition => true,
            (true, true) => self.wanted.is_on(Switch::Rcu) || self.wanted.is_on(Switch::Kthreads),
            (true, false) => self.wanted.is_on(Switch::Kthreads),
        }
    }

    fn plan_task(&mut self, task: &Task) {
        let target = Target::TaskAffinity { task: task.id };
        let held = self.ledger.get(&target).is_some();
        let base = self.task_base(task);
        // A partition sets the affinity of kernel threads that never had one set. Setting it to
        // what it is makes the kernel keep it.
        let guard = self.plan.partition && task.kernel;
        let concerned = self.is_concerned(task);
        let untouched = base.is_disjoint(&self.wanted.cpus) && !held;
        if (untouched || !concerned) && !guard {
            return;
        }
        let alone = self.only_shielded(&base);
        if alone && concerned {
            self.plan.kept.push(Kept { label: task.label(), cpus: base.clone() });
            if !guard && !held {
                return;
            }
        }
        if self.plan.kernel && self.wanted.is_on(Switch::Tasks) {
            return;
        }
        let new = match (concerned && !alone, held && guard) {
            (true, _) => self.without_shielded(&base),
            (false, true) => task.affinity.clone(), // the kernel's business since
            (false, false) => base,
        };
        let (new, pin) = (Value::Cpus(new), guard && !held);
        self.plan.tasks.push(Step { target, label: task.label(), new, pin });
    }

    /// Threads of unbound workqueues are fixed, too, but follow the workqueues' mask.
    fn report_fixed(&mut self, task: &Task) {
        let unbound = task.comm.starts_with("kworker/u");
        let here = !task.affinity.is_disjoint(&self.wanted.cpus);
        if !self.wanted.is_on(Switch::Kthreads) || !here || unbound {
            return;
        }
        self.plan.obstacles.push(Obstacle {
            label: task.label(),
            switch: Switch::Kthreads,
            kind: ObstacleKind::PerCpuThread,
            reason: format!("it belongs to CPU {}", task.affinity),
            errno: 0,
            fix: None,
        });
    }
}

/// Runs where its interrupt goes; the kernel moves it.
pub(super) fn is_irq_thread(task: &Task) -> bool {
    task.kernel && task.comm.starts_with("irq/")
}

/// Runs the RCU callbacks of a CPU that was chosen at boot.
fn is_rcu_thread(task: &Task) -> bool {
    task.kernel && task.comm.starts_with("rcuo")
}

/// The switch that leaves this alone.
pub(super) fn switch_of(snapshot: &Snapshot, target: &Target) -> Switch {
    match target {
        Target::File { path, .. } if path == TIMER_MIGRATION => Switch::Timers,
        Target::File { path, .. } if path.starts_with("proc/irq/") => Switch::Irqs,
        // Other files are those of the partition.
        Target::File { path, .. } => {
            let mask = snapshot.masks.iter().find(|mask| mask.path == *path);
            let switch = mask.map(|mask| mask.switch).or_else(|| kernel::switch_of(path));
            switch.unwrap_or(Switch::Tasks)
        }
        Target::Irqbalance { .. } => Switch::Irqs,
        Target::TaskAffinity { task } => {
            let found = snapshot.tasks.iter().find(|found| found.id == *task);
            if found.is_some_and(|found| found.kernel) { Switch::Kthreads } else { Switch::Tasks }
        }
        _ => Switch::Tasks,
    }
}

/// Everything that the kernel refused, as obstacles. A partition has one of its own kind.
pub(super) fn all_refused(snapshot: &Snapshot, wanted: &Wanted, ledger: &Ledger) -> Vec<Obstacle> {
    let all = ledger.refused().filter(|(target, _)| !matches!(target, Target::Cgroup { .. }));
    all.map(|(target, refusal)| refused_obstacle(snapshot, wanted, target, refusal)).collect()
}

/// Tasks that are not as they should be at the end of a change, as one obstacle: a stranger may
/// have thousands of them.
pub(super) fn contested_obstacle(snapshot: &Snapshot, steps: &[Step]) -> Option<Obstacle> {
    let (first, others) = steps.split_first()?;
    let label = match others.len() {
        0 => first.label.clone(),
        1 => format!("{} and one other task", first.label),
        n => format!("{} and {n} other tasks", first.label),
    };
    Some(Obstacle {
        label,
        switch: switch_of(snapshot, &first.target),
        kind: ObstacleKind::Contested,
        reason: "began, or asked for other CPUs again, while tasks were moved".to_owned(),
        errno: 0,
        fix: Some("a cgroup partition, which leaves no such way, or --watch".to_owned()),
    })
}

/// What the kernel refused, as an obstacle. EIO (EPERM since 6.9) is how it says that it manages
/// an interrupt's affinity itself, or that the interrupt belongs to one CPU; EACCES without
/// CAP_DAC_OVERRIDE, as in the unit.
fn refused_obstacle(
    snapshot: &Snapshot,
    wanted: &Wanted,
    target: &Target,
    refusal: &Refusal,
) -> Obstacle {
    const EPERM: i32 = 1;
    const EIO: i32 = 5;
    const EACCES: i32 = 13;
    const ENOSPC: i32 = 28;
    let switch = switch_of(snapshot, target);
    let is_irq = refusal.label.starts_with("irq ");
    let (reason, fix) = match refusal.errno {
        EPERM | EIO | EACCES if is_irq => (
            format!("the kernel manages its affinity ({})", refusal.reason),
            Some(boot::managed_irq(snapshot, &wanted.cpus)),
        ),
        ENOSPC if is_irq => {
            (format!("no vector is free on the other CPUs ({})", refusal.reason), None)
        }
        _ => (refusal.reason.clone(), None),
    };
    Obstacle {
        label: refusal.label.clone(),
        switch,
        kind: ObstacleKind::Refused,
        reason,
        errno: refusal.errno,
        fix,
    }
}
