// SPDX-License-Identifier: GPL-2.0-or-later
//! The part of a plan that is about tasks: who goes, who stays, who is placed. `plan` has decided
//! on the mechanism before.

use irqpath_model::CpuList;
use irqpath_model::change::{Target, Value};
use irqpath_model::shield::{Kept, Obstacle, ObstacleKind, Switch};

use super::plan::Planner;
use crate::Task;
use crate::change::Step;

impl Planner<'_> {
    pub(super) fn task_base(&self, task: &Task) -> CpuList {
        self.base_cpus(&Target::TaskAffinity { task: task.id }, &task.affinity)
    }

    pub(super) fn plan_tasks(&mut self) {
        for task in &self.snapshot.tasks {
            if self.snapshot.placed.members.contains(&task.id) {
                // The kernel moves it with its cgroup.
            } else if self.snapshot.placed.tasks.contains(&task.id) {
                self.place_task(task);
            } else if task.fixed {
                self.report_fixed(task);
            } else if !task.is_irq_thread() || self.has_isolated() {
                self.plan_task(task);
            }
        }
    }

    fn place_task(&mut self, task: &Task) {
        let (target, label) = (Target::TaskAffinity { task: task.id }, task.label());
        let cpus = self.wanted.cpus.clone();
        self.plan.placed.push(Kept { label: label.clone(), cpus: cpus.clone() });
        self.plan.tasks.push(Step { target, label, new: Value::Cpus(cpus), pin: false });
    }

    /// A partition moves every kernel thread that can be moved.
    fn is_concerned(&self, task: &Task) -> bool {
        match (task.kernel, is_rcu_thread(task)) {
            _ if task.is_irq_thread() => false,
            (false, _) => self.wanted.is_on(Switch::Tasks),
            (true, _) if self.has_isolated() => true,
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
        let guard = self.has_isolated() && task.kernel;
        let concerned = self.is_concerned(task);
        let untouched = base.is_disjoint(&self.wanted.cpus) && !held;
        if (untouched || !concerned) && !guard {
            return;
        }
        let alone = self.only_shielded(&base);
        if alone && concerned {
            if let Some(path) = self.owner_of(&base) {
                let label = task.label();
                self.plan.notes.push(format!(
                    "{label} was asked onto CPU {base} alone, of which /{path} has some for itself; \
                     it runs elsewhere until the shield is reset"
                ));
                // Written down before the kernel moves it, and the kernel's business since.
                let new = Value::Cpus(if held { task.affinity.clone() } else { base });
                self.plan.tasks.push(Step { target, label, new, pin: !held });
                return;
            }
            self.plan.kept.push(Kept { label: task.label(), cpus: base.clone() });
            if self.bound.contains(&task.tgid) {
                // The partition moves it off for a moment. Asking for its CPUs once more makes the
                // kernel give them back as soon as it is inside.
                let (new, label) = (Value::Cpus(base), task.label());
                self.plan.tasks.push(Step { target, label, new, pin: !held });
                return;
            }
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

/// Runs the RCU callbacks of a CPU that was chosen at boot.
fn is_rcu_thread(task: &Task) -> bool {
    task.kernel && task.comm.starts_with("rcuo")
}
