// SPDX-License-Identifier: GPL-2.0-or-later
//! What a CPU is doing, layer by layer, and how a transition changes it.
//!
//! Neighbours: `mod.rs` keeps the transitions and calls [`State::apply_step`] on each in order.
//! The rule to know: a layer is *unknown* until a transition defines it. An exit whose entry was
//! not seen tells what the time before it was; the caller repairs that from [`Repair`].

use std::sync::Arc;

use irqpath_model::{Origin, SoftirqVec, Task};

/// Deepest nesting of hardirqs that is followed; beyond it the outermost one is forgotten.
const MAX_NESTING: usize = 16;
/// Most softirqs remembered with tasks that were preempted inside one (PREEMPT_RT).
const MAX_SUSPENDED: usize = 64;

/// One layer of a CPU's occupation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layer<T> {
    /// No transition has told yet.
    #[default]
    Unknown,
    /// Nothing runs in this layer.
    Absent,
    /// Something runs; `None` if only its exit was seen.
    Active(Option<T>),
}

/// All layers of a CPU at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// Where handlers nest, the innermost one.
    pub hardirq: Layer<Origin>,
    /// The softirq that runs now, on PREEMPT_RT as part of its task.
    pub softirq: Layer<SoftirqVec>,
    /// The task; `None` if unknown.
    pub task: Option<Arc<Task>>,
    /// The task is the last that was seen, but a switch was missed: it may be another.
    pub unseen: bool,
}

/// The innermost thing that a CPU runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occupant {
    /// Not covered by any transition.
    Unknown,
    /// A task, but a switch was not seen.
    Unseen,
    /// Nobody: the hypervisor had taken the CPU away.
    Stolen,
    /// A non-maskable interrupt; its handler is not told.
    Nmi,
    /// A hardirq; `None` if only its exit was seen.
    Hardirq(Option<Origin>),
    /// A softirq; `None` if only its exit was seen.
    Softirq(Option<SoftirqVec>),
    /// A task, the idle task included.
    Task(Arc<Task>),
}

impl Frame {
    /// The occupant by layer: hardirq before softirq before task; unknown if a layer above is.
    pub fn occupant(&self) -> Occupant {
        match (self.hardirq, self.softirq, &self.task) {
            (Layer::Active(origin), _, _) => Occupant::Hardirq(origin),
            (Layer::Absent, Layer::Active(vec), _) => Occupant::Softirq(vec),
            (Layer::Absent, Layer::Absent, Some(_)) if self.unseen => Occupant::Unseen,
            (Layer::Absent, Layer::Absent, Some(task)) => Occupant::Task(Arc::clone(task)),
            _ => Occupant::Unknown,
        }
    }

    /// The task, if it is known.
    pub fn known_task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref().filter(|_| !self.unseen)
    }

    /// The thread id of the task, if the task is known.
    pub fn tid(&self) -> Option<u32> {
        self.known_task().map(|t| t.tid)
    }
}

/// A transition as it is kept; the task of a switch is kept beside it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    HardirqEntry(Origin),
    HardirqExit,
    SoftirqEntry(SoftirqVec),
    SoftirqExit,
    SwitchIn,
    Unseen,
    Stolen,
}

impl Step {
    /// True for the steps that happen outside of hardirqs only.
    pub(super) fn is_outside_hardirq(self) -> bool {
        !matches!(self, Self::HardirqEntry(_) | Self::HardirqExit | Self::Stolen)
    }

    /// True for the steps that tell the running task.
    pub(super) fn is_task(self) -> bool {
        matches!(self, Self::SwitchIn | Self::Unseen)
    }
}

/// What an exit without entry tells about the time before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    Nothing,
    /// Since the previous transition a hardirq ran.
    Hardirq,
    /// Since the last switch or softirq transition a softirq ran.
    Softirq,
    /// Since the last switch it was not known which task ran.
    Task,
}

/// The running state of one CPU; the transitions are applied in order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Number of the last transition applied.
    pub(super) seq: Option<u64>,
    /// `CLOCK_MONOTONIC` ns of that transition.
    pub(super) ns: u64,
    hardirqs: Vec<Origin>,
    is_hardirq_known: bool,
    softirq: Layer<SoftirqVec>,
    task: Option<Arc<Task>>,
    /// Softirqs of tasks that were preempted inside them on this CPU.
    suspended: Vec<(u32, SoftirqVec)>,
}

impl State {
    /// Apply one transition; true if transitions before it are missing.
    pub(super) fn apply_step(
        &mut self,
        seq: u64,
        ns: u64,
        step: Step,
        task: Option<&Arc<Task>>,
    ) -> (bool, Repair) {
        let hole = self.seq.is_none_or(|last| last.wrapping_add(1) != seq);
        if hole {
            *self = Self { ns: self.ns, ..Self::default() };
        }
        self.seq = Some(seq);
        self.ns = self.ns.max(ns);
        let repair = self.change_layers(step, task);
        (hole, if hole { Repair::Nothing } else { repair })
    }

    fn change_layers(&mut self, step: Step, task: Option<&Arc<Task>>) -> Repair {
        let mut repair = Repair::Nothing;
        if step.is_outside_hardirq() {
            self.hardirqs.clear();
            self.is_hardirq_known = true;
        }
        match step {
            Step::HardirqEntry(origin) => self.enter_hardirq(origin),
            Step::HardirqExit => {
                if self.hardirqs.pop().is_none() {
                    // Handlers hardly ever nest, so none is left.
                    self.is_hardirq_known = true;
                    repair = Repair::Hardirq;
                }
            }
            Step::SoftirqEntry(vec) => self.softirq = Layer::Active(Some(vec)),
            Step::SoftirqExit => {
                if !matches!(self.softirq, Layer::Active(_)) {
                    repair = Repair::Softirq;
                }
                self.softirq = Layer::Absent;
            }
            Step::SwitchIn => self.switch_task(task),
            Step::Stolen => {}
            Step::Unseen => {
                let tid = |task: Option<&Arc<Task>>| task.map(|t| t.tid);
                if self.task.is_some() && tid(self.task.as_ref()) != tid(task) {
                    repair = Repair::Task;
                }
                self.task = task.cloned();
            }
        }
        repair
    }

    fn enter_hardirq(&mut self, origin: Origin) {
        if self.hardirqs.len() == MAX_NESTING {
            self.hardirqs.remove(0);
            self.is_hardirq_known = false;
        }
        self.hardirqs.push(origin);
    }

    /// On PREEMPT_RT a softirq belongs to its task and leaves the CPU together with it.
    fn switch_task(&mut self, next: Option<&Arc<Task>>) {
        if let (Layer::Active(Some(vec)), Some(previous)) = (self.softirq, &self.task) {
            if self.suspended.len() == MAX_SUSPENDED {
                self.suspended.remove(0);
            }
            self.suspended.push((previous.tid, vec));
        }
        let resumed = next
            .and_then(|task| self.suspended.iter().rposition(|(tid, _)| *tid == task.tid))
            .map(|at| self.suspended.remove(at).1);
        self.softirq = resumed.map_or(Layer::Absent, |vec| Layer::Active(Some(vec)));
        self.task = next.cloned();
    }

    /// The hardirq layer now.
    pub(super) fn hardirq(&self) -> Layer<Origin> {
        match self.hardirqs.last() {
            Some(origin) => Layer::Active(Some(*origin)),
            None if self.is_hardirq_known => Layer::Absent,
            None => Layer::Unknown,
        }
    }

    /// The softirq layer now.
    pub(super) fn softirq(&self) -> Layer<SoftirqVec> {
        self.softirq
    }

    pub(super) fn task(&self) -> Option<&Arc<Task>> {
        self.task.as_ref()
    }
}
