// SPDX-License-Identifier: GPL-2.0-or-later
//! Who occupied one CPU, from its transitions.
//!
//! Neighbours: `state.rs` says what a transition means, `order.rs` finds the place of one that an
//! interrupt overtook, `segments.rs` cuts a window into segments, `spans.rs` keeps NMIs and stolen
//! time, `set.rs` holds one timeline per CPU.
//!
//! Transitions are kept in order of their numbers, each with the frame that holds from it until
//! the next one. A block that arrives late goes into its place, and everything after it is
//! worked out again from the last checkpoint. Numbers that are missing make a hole, which is
//! never explained. Memory is bounded by pruning; the state at the cut is kept, so that pruning
//! does not change what comes later.

mod order;
mod segments;
mod set;
mod spans;
mod state;

use std::collections::VecDeque;
use std::sync::Arc;

use irqpath_model::{Occupancy, Origin, SoftirqVec, Task, Transition};

use spans::Spans;
use state::{Repair, State, Step};

pub use segments::{Over, Segment};
pub use set::Timelines;
pub use state::{Frame, Layer, Occupant};

/// A copy of the state is kept every so many transitions.
const CHECKPOINT_EVERY: usize = 4096;
/// Tasks remembered per CPU in order to share them between transitions, by tid.
const NR_TASK_SLOTS: usize = 256;
/// Most NMIs kept per CPU; the oldest goes first.
const MAX_NMIS: usize = 4096;

/// One transition and the frame from it until the next one. For a switch, `task` is the task
/// from the start; for the others it is known when the entry is settled.
#[derive(Debug, Clone)]
struct Entry {
    ns: u64,
    seq: u64,
    step: Step,
    hardirq: Layer<Origin>,
    task: Option<Arc<Task>>,
    softirq: Layer<SoftirqVec>,
    /// Transitions before this one are missing.
    hole: bool,
    /// A switch that was not seen came after this one, and before the next that was.
    unseen: bool,
}

// What bounds memory are entries; `EngineConfig::max_transitions` counts them.
const _: () = assert!(size_of::<Entry>() == 48);

impl Entry {
    fn frame(&self) -> Frame {
        let task = self.task.clone();
        Frame { hardirq: self.hardirq, softirq: self.softirq, task, unseen: self.unseen }
    }
}

/// What occupied one CPU, and when.
#[derive(Debug, Default)]
pub struct Timeline {
    entries: VecDeque<Entry>,
    /// How many entries from the front carry their final frame.
    nr_settled: usize,
    /// New transitions that belong between or before settled ones.
    late: Vec<Entry>,
    /// State before the first entry.
    base: State,
    /// State after the settled entries.
    head: State,
    checkpoints: VecDeque<State>,
    nr_since_checkpoint: usize,
    nmis: Spans,
    /// Stolen time. Each has an entry, too, which is numbered and bounds how many there are.
    stolen: Spans,
    tasks: Vec<Option<Arc<Task>>>,
}

impl Timeline {
    /// Take over transitions of this CPU, in any order and repeated or not. Transitions from
    /// before the last cut are ignored.
    pub fn ingest_block(&mut self, block: impl IntoIterator<Item = Occupancy>) {
        for occupancy in block {
            self.push(occupancy);
        }
        self.merge_late();
        self.settle_entries();
    }

    fn push(&mut self, Occupancy { ns, seq, what, .. }: Occupancy) {
        let (step, task) = match what {
            Transition::NmiEnd { duration_ns } => {
                self.nmis.insert_span(ns, duration_ns);
                return self.nmis.shrink_to(MAX_NMIS);
            }
            Transition::HardirqEntry(origin) => (Step::HardirqEntry(origin), None),
            Transition::HardirqExit => (Step::HardirqExit, None),
            Transition::SoftirqEntry(vec) => (Step::SoftirqEntry(vec), None),
            Transition::SoftirqExit => (Step::SoftirqExit, None),
            Transition::SwitchIn(task) => (Step::SwitchIn, Some(task)),
            Transition::Unseen(task) => (Step::Unseen, Some(task)),
            Transition::Stolen { duration_ns } => {
                self.stolen.insert_span(ns, duration_ns);
                (Step::Stolen, None)
            }
        };
        let is_new = self.entries.back().is_none_or(|last| last.seq < seq);
        let is_known = !is_new && self.entries.binary_search_by_key(&seq, |e| e.seq).is_ok();
        if is_known || self.base.seq.is_some_and(|cut| seq <= cut) {
            return;
        }
        let entry = Entry {
            ns,
            seq,
            step,
            hardirq: Layer::Unknown,
            task: task.map(|t| self.share_task(t)),
            softirq: Layer::Unknown,
            hole: false,
            unseen: false,
        };
        if is_new { self.entries.push_back(entry) } else { self.late.push(entry) }
    }

    /// The same task is switched in again and again: keep one copy of it.
    fn share_task(&mut self, task: Task) -> Arc<Task> {
        if self.tasks.is_empty() {
            self.tasks.resize(NR_TASK_SLOTS, None);
        }
        let slot = &mut self.tasks[task.tid as usize % NR_TASK_SLOTS];
        match slot {
            Some(known) if **known == task => Arc::clone(known),
            _ => Arc::clone(slot.insert(Arc::new(task))),
        }
    }

    /// Put late transitions into their places. They can only fall into holes.
    fn merge_late(&mut self) {
        let Some(first) = self.late.iter().map(|e| e.seq).min() else { return };
        let at = self.entries.partition_point(|e| e.seq < first);
        let mut tail: Vec<Entry> = self.entries.split_off(at).into();
        tail.append(&mut self.late);
        tail.sort_by_key(|e| e.seq);
        tail.dedup_by_key(|e| e.seq);
        self.entries.extend(tail);
        self.late.shrink_to(CHECKPOINT_EVERY);
        self.rewind_to(at);
    }

    /// Go back to the last known state before entry `at`.
    fn rewind_to(&mut self, at: usize) {
        if at >= self.nr_settled {
            return;
        }
        let before = at.checked_sub(1).map(|i| self.entries[i].seq);
        while self.checkpoints.back().is_some_and(|state| state.seq > before) {
            self.checkpoints.pop_back();
        }
        self.head = self.checkpoints.back().unwrap_or(&self.base).clone();
        self.nr_since_checkpoint = 0;
        let done = self.head.seq;
        self.nr_settled = self.entries.partition_point(|e| Some(e.seq) <= done);
    }

    /// Work out the frames of new entries.
    fn settle_entries(&mut self) {
        while self.nr_settled < self.entries.len() {
            let at = self.nr_settled;
            let place = order::place_of(&self.entries, at);
            if place < at {
                order::move_forward(&mut self.entries, at, place);
                self.rewind_to(place);
            } else {
                self.settle_entry(at);
            }
        }
    }

    fn settle_entry(&mut self, at: usize) {
        let entry = &mut self.entries[at];
        let (hole, repair) =
            self.head.apply_step(entry.seq, entry.ns, entry.step, entry.task.as_ref());
        entry.hole = hole;
        entry.unseen = false;
        entry.ns = self.head.ns;
        entry.hardirq = self.head.hardirq();
        entry.softirq = self.head.softirq();
        entry.task = self.head.task().cloned();
        self.repair_before(at, repair);
        self.nr_settled = at + 1;
        self.nr_since_checkpoint += 1;
        if self.nr_since_checkpoint == CHECKPOINT_EVERY {
            self.checkpoints.push_back(self.head.clone());
            self.nr_since_checkpoint = 0;
        }
    }

    /// An exit without entry tells what ran before entry `at`. Never reaches across a hole:
    /// the caller asks for no repair at one, and the walk ends at the one before.
    fn repair_before(&mut self, at: usize, repair: Repair) {
        match repair {
            Repair::Nothing => {}
            Repair::Hardirq => {
                for entry in self.entries.range_mut(..at).rev() {
                    entry.hardirq = Layer::Active(None);
                    if !matches!(entry.step, Step::Stolen) || entry.hole {
                        break;
                    }
                }
            }
            Repair::Softirq => {
                for entry in self.entries.range_mut(..at).rev() {
                    entry.softirq = Layer::Active(None);
                    if entry.step.is_outside_hardirq() || entry.hole {
                        break;
                    }
                }
            }
            Repair::Task => {
                for entry in self.entries.range_mut(..at).rev() {
                    entry.unseen = true;
                    if entry.step.is_task() || entry.hole {
                        break;
                    }
                }
            }
        }
    }

    /// Forget what is not needed for windows that start at `before_ns` or later.
    pub fn prune_before(&mut self, before_ns: u64) {
        let nr = self.entries.partition_point(|e| e.ns <= before_ns).saturating_sub(1);
        self.drop_front(nr);
        self.nmis.prune_before(before_ns);
    }

    /// The first transition that is kept, ns: nothing before it is explained.
    pub fn begin_ns(&self) -> u64 {
        self.entries.front().map_or(self.base.ns, |entry| entry.ns)
    }

    /// Forget the `nr` oldest transitions.
    pub fn drop_front(&mut self, nr: usize) {
        for entry in self.entries.drain(..nr.min(self.entries.len())) {
            self.base.apply_step(entry.seq, entry.ns, entry.step, entry.task.as_ref());
        }
        self.stolen.prune_before(self.entries.front().map_or(self.base.ns, |e| e.ns));
        self.nr_settled = self.entries.len();
        self.give_back_memory();
        while self.checkpoints.front().is_some_and(|state| state.seq <= self.base.seq) {
            self.checkpoints.pop_front();
        }
    }

    /// What one burst needed is not kept for ever: a CPU after the other would take the bound of all.
    fn give_back_memory(&mut self) {
        let enough = 2 * self.entries.len().max(CHECKPOINT_EVERY);
        if self.entries.capacity() > 2 * enough {
            self.entries.shrink_to(enough);
        }
    }

    /// Transitions kept, NMIs aside.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no transition is kept.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
