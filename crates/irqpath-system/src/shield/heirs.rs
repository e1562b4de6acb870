// SPDX-License-Identifier: GPL-2.0-or-later
//! Tasks that began after the shield was set inherited the affinity that we had given to who
//! forked them. They are not in the journal; a reset gives them what their ancestor gets back.

use std::collections::{BTreeMap, BTreeSet};

use irqpath_model::change::{Target, Value};
use irqpath_model::{CpuList, TaskId};

use crate::Task;
use crate::change::{Intent, Step};
use crate::journal::Ledger;

/// Who is held: by number, with the value before us and the values that we gave.
pub(super) struct Ancestors<'a> {
    held: BTreeMap<u32, (TaskId, &'a CpuList, &'a [Value])>,
    since_ticks: u64,
}

impl<'a> Ancestors<'a> {
    pub fn new(ledger: &'a Ledger, since_ticks: u64) -> Self {
        let affinity = |(target, held): (&'a Target, &'a crate::journal::Held)| match target {
            Target::TaskAffinity { task } => {
                Some((task.tid, (*task, held.original.cpus()?, held.ours.as_slice())))
            }
            _ => None,
        };
        Self { held: ledger.held().filter_map(affinity).collect(), since_ticks }
    }

    /// True if the journal has this very task.
    fn is_held(&self, task: &Task) -> bool {
        self.held.get(&task.id.tid).is_some_and(|(id, ..)| *id == task.id)
    }

    /// What a task that is not held would have without us; `None` if that is what it has.
    pub fn original_of(&self, task: &Task, tasks: &BTreeMap<u32, &Task>) -> Option<CpuList> {
        self.find_legacy(task, tasks).map(|(original, _)| original.clone())
    }

    /// Its ancestor's value before us, and the one that the ancestor should have now.
    ///
    /// A thread inherits from its process, a process from its parent. One that was there before the
    /// shield and is not held chose its affinity itself, and so did everything it forked.
    fn find_legacy(
        &self,
        task: &Task,
        tasks: &BTreeMap<u32, &Task>,
    ) -> Option<(&'a CpuList, &'a Value)> {
        const GENERATIONS: usize = 64;
        let kernels_own = task.fixed || task.is_irq_thread();
        if kernels_own || task.id.start_ticks < self.since_ticks || self.is_held(task) {
            return None;
        }
        let affinity = Value::Cpus(task.affinity.clone());
        let mut from = task;
        for _ in 0..GENERATIONS {
            let up = if from.id.tid == from.tgid { from.ppid } else { from.tgid };
            if let Some((_, original, ours)) = self.held.get(&up) {
                return ours.contains(&affinity).then_some((*original, ours.last()?));
            }
            from = tasks.get(&up)?;
            if from.id.start_ticks < self.since_ticks {
                return None;
            }
        }
        None
    }
    /// Heirs that a change of the shield meets: `due` is to change them, or they have what their
    /// ancestor had before it was changed. What they inherited was a change of ours, and is to be
    /// written down as one before it is changed again.
    pub fn left_behind(&self, tasks: &[Task], due: &[Step]) -> Vec<Intent> {
        let by_tid = tasks.iter().map(|task| (task.id.tid, task)).collect();
        let due: BTreeSet<TaskId> = due.iter().filter_map(|step| step.target.task()).collect();
        let intent = |task: &Task| {
            let (original, wanted) = self.find_legacy(task, &by_tid)?;
            let found = Value::Cpus(task.affinity.clone());
            (found != *wanted || due.contains(&task.id)).then(|| Intent {
                target: Target::TaskAffinity { task: task.id },
                label: task.label(),
                before: Value::Cpus(original.clone()),
                new: found,
            })
        };
        tasks.iter().filter_map(intent).collect()
    }
}
