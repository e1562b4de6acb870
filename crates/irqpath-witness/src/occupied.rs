// SPDX-License-Identifier: GPL-2.0-or-later
//! What every CPU did at every moment, and where every task was.
//!
//! The rule to know: nothing is inferred across a gap. Where an event's current task is not the
//! one that the last switch brought, a switch was not traced, and the time since the last event of
//! that CPU is [`Who::Unseen`].

use std::collections::{HashMap, HashSet};

use irqpath_model::{Occupancy, Origin, SoftirqVec};

use crate::event::{Event, Reading, What};
use crate::gaps::{Gaps, MAX_GAP_NS, Mark};
use crate::tolerance::{BOUNDARY_NS, TOLERANCE_NS};

/// What had a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    Hardirq(Origin),
    Softirq(SoftirqVec),
    /// A task; 0 is the idle task.
    Task(u32),
    /// The hypervisor had taken the CPU away.
    Steal,
    /// The kernel did not say.
    Unseen,
}

/// Since when, and by what.
#[derive(Debug, Clone, Copy)]
struct Piece {
    ns: u64,
    steal_ns: u64,
    who: Who,
    /// How much later irqpath read the clock at the event that begins it.
    gap_ns: u64,
    /// What was read there after irqpath had read.
    again: Option<Reading>,
    mark: Option<Mark>,
}

impl Piece {
    fn steal_in_between_ns(&self) -> u64 {
        self.again.map_or(0, |again| again.steal_ns.saturating_sub(self.steal_ns))
    }

    /// By how much later irqpath may have read the clock at the event that begins it.
    fn read_within_ns(&self) -> u64 {
        self.again.map_or(0, |again| again.ns.saturating_sub(self.ns))
    }
}

/// One CPU while its events are read.
#[derive(Debug, Default)]
struct Cpu {
    hardirqs: Vec<Origin>,
    softirq: Option<SoftirqVec>,
    /// The task that the last event showed; `None` before the first.
    current: Option<u32>,
    /// Tasks that were current while a switch was not traced.
    hiding: HashSet<u32>,
    pieces: Vec<Piece>,
}

impl Cpu {
    fn current_occupant(&self) -> Who {
        match (self.hardirqs.last(), self.softirq, self.current) {
            (Some(&origin), _, _) => Who::Hardirq(origin),
            (None, Some(vec), _) => Who::Softirq(vec),
            (None, None, Some(tid)) => Who::Task(tid),
            (None, None, None) => Who::Unseen,
        }
    }

    /// True if a switch was not traced since the last event.
    fn follow_current(&mut self, current: u32) -> bool {
        let missed = self.current.is_some_and(|known| known != current);
        if missed {
            if let Some(last) = self.pieces.last_mut() {
                last.who = Who::Unseen;
            }
            self.hiding.extend(self.current);
            self.hardirqs.clear();
            self.softirq = None;
        }
        self.current = Some(current);
        missed
    }
}

/// Time by occupant, ns, of some windows of some CPUs.
#[derive(Debug, Default, Clone)]
pub struct Shares {
    /// Time of each occupant.
    pub ns: HashMap<Who, u64>,
    /// Stolen time that may or may not lie within the windows: it was noticed at an event after a
    /// window's end, or began before its start, or was noticed while an event was read.
    pub unsure_ns: u64,
    /// In how many pieces.
    pub nr_pieces: usize,
}

impl Shares {
    /// Time of one occupant.
    pub fn ns_of(&self, who: Who) -> u64 {
        self.ns.get(&who).copied().unwrap_or(0)
    }
}

/// A window on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub cpu: u16,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// The occupants of all CPUs and the places of all tasks.
#[derive(Debug, Default)]
pub struct Occupied {
    cpus: HashMap<u16, Cpu>,
    /// Per task: from when on it belonged to which CPU's run queue, ascending.
    places: HashMap<u32, Vec<(u64, u16)>>,
    /// When each task was switched in on each CPU, ascending.
    switch_ins: HashMap<(u32, u16), Vec<u64>>,
    /// Between which events of a CPU a task was switched in there without a trace, ascending.
    unseen_ins: HashMap<(u32, u16), Vec<(u64, u64)>>,
    /// Softirqs of tasks that were switched out within one (`PREEMPT_RT`).
    suspended: HashMap<u32, SoftirqVec>,
    /// Tasks whose wakeup has not chosen a run queue yet, and since when.
    waking: HashMap<u32, u64>,
    /// When each task was switched out, and by when irqpath had noticed, ascending.
    switch_outs: HashMap<u32, Vec<(u64, u64)>>,
    /// By CPU and time of an event: when irqpath had read the clock at it.
    read_by: HashMap<(u16, u64), u64>,
    /// The same by task and time since when it belonged to another run queue.
    moves_read_by: HashMap<(u32, u64), u64>,
    nr_unseen: u64,
}

impl Occupied {
    /// From a whole record, in order of time.
    pub fn new(events: &[Event]) -> Self {
        let mut this = Self::default();
        for event in events {
            this.push(event);
        }
        this
    }

    fn push(&mut self, event: &Event) {
        if let What::Nmi { .. } = event.what {
            return;
        }
        let cpu = self.cpus.entry(event.cpu).or_default();
        let last_ns = cpu.pieces.last().map_or(0, |piece| piece.ns);
        if cpu.follow_current(event.current) {
            self.nr_unseen += 1;
            let unseen = self.unseen_ins.entry((event.current, event.cpu)).or_default();
            unseen.push((last_ns, event.ns));
        }
        match &event.what {
            What::IrqEntry(origin) => cpu.hardirqs.push(*origin),
            What::IrqExit { .. } => drop(cpu.hardirqs.pop()),
            What::SoftirqEntry(vec) => cpu.softirq = Some(*vec),
            What::SoftirqExit(_) => cpu.softirq = None,
            What::Switch { prev, next, .. } => {
                cpu.hardirqs.clear();
                if let Some(vec) = cpu.softirq.take() {
                    self.suspended.insert(*prev, vec);
                }
                cpu.softirq = self.suspended.remove(&next.tid);
                cpu.current = Some(next.tid);
                self.switch_ins.entry((next.tid, event.cpu)).or_default().push(event.ns);
                let read_by_ns = event.again.map_or(event.ns, |again| again.ns);
                self.switch_outs.entry(*prev).or_default().push((event.ns, read_by_ns));
            }
            _ => {}
        }
        let (ns, steal_ns, who) = (event.ns, event.steal_ns, cpu.current_occupant());
        let mark = Mark::mark_of(&event.what);
        cpu.pieces.push(Piece { ns, steal_ns, who, gap_ns: 0, again: event.again, mark });
        if let Some(again) = event.again {
            self.read_by.insert((event.cpu, event.ns), again.ns);
        }
        self.place_event(event);
    }

    /// Where the task of an event is from then on. A wakeup that takes its time (the task may still be
    /// leaving its CPU) counts for the run queue that it chooses.
    fn place_event(&mut self, event: &Event) {
        let (tid, at, ns) = match &event.what {
            What::Waking { task, cpu, .. } => {
                self.waking.insert(task.tid, event.ns);
                (task.tid, *cpu, event.ns)
            }
            What::Wakeup { tid, cpu } => {
                self.waking.remove(tid);
                (*tid, *cpu, event.ns)
            }
            What::Migrate { tid, to, .. } => {
                (*tid, *to, self.waking.get(tid).copied().unwrap_or(event.ns))
            }
            What::Switch { next, .. } => {
                self.waking.remove(&next.tid);
                (next.tid, event.cpu, event.ns)
            }
            _ => return,
        };
        if tid == 0 {
            return;
        }
        if let Some(again) = event.again {
            self.moves_read_by.insert((tid, ns), again.ns);
        }
        let places = self.places.entry(tid).or_default();
        if places.last().is_some_and(|(since_ns, _)| *since_ns == ns) {
            places.pop();
        }
        if places.last().is_none_or(|(_, last)| *last != at) {
            places.push((ns, at));
        }
    }

    /// Note how much later irqpath read the clock at the events that begin and end what had a CPU.
    pub fn read_again(&mut self, readings: &[Occupancy]) {
        let gaps = Gaps::new(readings);
        for (&nr, cpu) in &mut self.cpus {
            // From the last to the first: what irqpath missed must not be taken for the next one.
            let mut following: HashMap<Mark, u64> = HashMap::new();
            for piece in cpu.pieces.iter_mut().rev() {
                let Some(mark) = piece.mark else { continue };
                let next_ns = following.insert(mark, piece.ns).unwrap_or(u64::MAX);
                let read_by_ns = piece.again.map_or(u64::MAX, |again| again.ns + BOUNDARY_NS);
                piece.gap_ns = gaps.read_delay(nr, mark, piece.ns, next_ns.min(read_by_ns));
            }
        }
    }

    /// Switches that were not traced.
    pub fn nr_unseen(&self) -> u64 {
        self.nr_unseen
    }

    /// True for a task while which nothing is traced.
    pub fn is_hidden(&self, tid: u32) -> bool {
        self.cpus.values().any(|cpu| cpu.hiding.contains(&tid))
    }

    /// When irqpath had read the clock at the event of a CPU at `ns`, at the latest; `None` where nobody
    /// looked after it.
    pub fn read_by_ns(&self, cpu: u16, ns: u64) -> Option<u64> {
        self.read_by.get(&(cpu, ns)).copied()
    }

    /// The same for the move of a task to the run queue that it belonged to since `since_ns`.
    pub fn move_read_by_ns(&self, tid: u32, since_ns: u64) -> Option<u64> {
        self.moves_read_by.get(&(tid, since_ns)).copied()
    }

    /// When a task was switched in on a CPU the last time until `ns`.
    pub fn last_switch_in(&self, (tid, cpu): (u32, u16), ns: u64) -> Option<u64> {
        let all = self.switch_ins.get(&(tid, cpu))?;
        all[..all.partition_point(|&at| at <= ns)].last().copied()
    }

    /// Whether the record itself proves that it lacks a switch to this task on this CPU, which may have
    /// been at `ns`: the next event there found the task running.
    pub fn may_have_switched_in(&self, (tid, cpu): (u32, u16), ns: u64) -> bool {
        let unseen = self.unseen_ins.get(&(tid, cpu));
        unseen.is_some_and(|all| all.iter().any(|&(from, until)| (from..=until).contains(&ns)))
    }

    /// Whether a task was being switched out while its wakeup at `ns` was read, on another CPU. The
    /// recorders may then have seen both in either order, and its state before or after.
    pub fn is_racing(&self, tid: u32, cpu: u16, ns: u64) -> bool {
        let read_by_ns = self.read_by_ns(cpu, ns).unwrap_or(ns);
        let outs = self.switch_outs.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = outs.partition_point(|(_, by_ns)| by_ns + TOLERANCE_NS < ns);
        outs.get(first).is_some_and(|(out_ns, _)| *out_ns <= read_by_ns + TOLERANCE_NS)
    }

    /// The run queues of a task between two times. What it was before it was first seen is not
    /// known and left out.
    pub fn windows_of(&self, tid: u32, start_ns: u64, end_ns: u64) -> Vec<Window> {
        let places = self.places.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = places.partition_point(|(ns, _)| *ns <= start_ns).saturating_sub(1);
        let mut windows = Vec::new();
        for (at, &(ns, cpu)) in places.iter().enumerate().skip(first) {
            let until = places.get(at + 1).map_or(u64::MAX, |(next, _)| *next).min(end_ns);
            let from = ns.max(start_ns);
            if from < until {
                windows.push(Window { cpu, start_ns: from, end_ns: until });
            }
            if until == end_ns {
                break;
            }
        }
        windows
    }

    /// Every CPU that was heard of.
    pub fn cpus(&self) -> Vec<u16> {
        self.cpus.keys().copied().collect()
    }

    /// Who had the CPUs in these windows.
    pub fn share_out(&self, windows: &[Window]) -> Shares {
        let mut shares = Shares::default();
        for window in windows {
            self.add_window(window, &mut shares);
        }
        shares
    }

    /// The most time that `who` can have had in these windows if each of its pieces may have begun
    /// earlier and ended later by `slack_ns`, and ended when irqpath read the clock at its end.
    pub fn at_most(&self, windows: &[Window], who: Who, slack_ns: u64) -> u64 {
        windows.iter().map(|window| self.at_most_in(window, who, slack_ns)).sum()
    }

    fn at_most_in(&self, window: &Window, who: Who, slack_ns: u64) -> u64 {
        let Some(cpu) = self.cpus.get(&window.cpu) else { return 0 };
        let from_ns = window.start_ns.saturating_sub(slack_ns.max(MAX_GAP_NS));
        let first = cpu.pieces.partition_point(|p| p.ns <= from_ns).saturating_sub(1);
        let pieces = cpu.pieces[first..].iter().zip(&cpu.pieces[first + 1..]);
        let near = pieces.take_while(|(piece, _)| piece.ns < window.end_ns + slack_ns);
        let widened = near.filter(|(piece, _)| piece.who == who).map(|(piece, next)| {
            let start_ns = piece.ns.saturating_sub(slack_ns).max(window.start_ns);
            let end_ns = next.ns + slack_ns.max(next.gap_ns);
            end_ns.min(window.end_ns).saturating_sub(start_ns)
        });
        widened.sum()
    }

    fn add_window(&self, window: &Window, shares: &mut Shares) {
        let Some(cpu) = self.cpus.get(&window.cpu) else { return };
        let first = cpu.pieces.partition_point(|p| p.ns <= window.start_ns).saturating_sub(1);
        for (piece, next) in cpu.pieces[first..].iter().zip(&cpu.pieces[first + 1..]) {
            if piece.ns >= window.end_ns {
                break;
            }
            let ns = next.ns.min(window.end_ns).saturating_sub(piece.ns.max(window.start_ns));
            if ns == 0 {
                continue;
            }
            let stolen = next.steal_ns.saturating_sub(piece.steal_ns);
            let is_whole = piece.ns >= window.start_ns && next.ns <= window.end_ns;
            let steal_ns = stolen.min(ns);
            // irqpath may have noticed what was stolen between the two readings at an event.
            shares.unsure_ns += piece.steal_in_between_ns() + next.steal_in_between_ns();
            if is_whole {
                *shares.ns.entry(Who::Steal).or_default() += steal_ns;
                *shares.ns.entry(piece.who).or_default() += ns - steal_ns;
            } else {
                // For irqpath it ends where irqpath read the clock, and as much of it lies within.
                shares.unsure_ns += stolen.min(ns + next.read_within_ns());
                *shares.ns.entry(piece.who).or_default() += ns;
            }
            shares.nr_pieces += 1;
        }
    }
}
