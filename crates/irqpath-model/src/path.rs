// SPDX-License-Identifier: GPL-2.0-or-later
//! A joined path: the stamps from the raise of an interrupt to its target in user space.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::{Comm, Folded, Origin, Point, Scheduling, SoftirqVec, Task};

/// What a path went through between its origin and the wakeup of its target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Via(u32);

bitflags::bitflags! {
    impl Via: u32 {
        /// Softirq vectors: bit n is vector n.
        const SOFTIRQS = 0x03ff;
        /// An irq thread ran the handler.
        const IRQ_THREAD = 1 << 10;
        /// The softirq ran in `ksoftirqd/N`.
        const KSOFTIRQD = 1 << 11;
        /// A NAPI thread polled.
        const NAPI_THREAD = 1 << 12;
        /// A work item ran.
        const WORK = 1 << 13;
        /// The target ran on another CPU than the waker.
        const REMOTE = 1 << 14;
        /// The target ran the handler itself, in the place of the irq thread (an irqpath kernel's
        /// policy `migrate`); [`Point::IrqThread`] is its switch-in.
        const MIGRATED = 1 << 15;
        /// The softirq ran in `ktimers/N`, which serves expired timers on `PREEMPT_RT`.
        const KTIMERS = 1 << 16;
        /// The softirq ran in a thread of its own kind.
        const SOFTIRQ_THREAD = Self::KSOFTIRQD.bits() | Self::KTIMERS.bits();
    }
}

impl Via {
    /// The flag of one softirq vector.
    pub fn softirq(vec: SoftirqVec) -> Self {
        Self::from_bits_retain(1 << vec as u16)
    }

    /// The carriers in words: `thread+net_rx`, `timer+work`, `task` if the target ran the handler,
    /// `-` for a plain hardirq wakeup.
    /// A remote wakeup adds `@cpu`.
    pub fn describe(self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        if self.contains(Self::IRQ_THREAD) {
            parts.push("thread");
        }
        if self.contains(Self::MIGRATED) {
            parts.push("task");
        }
        for &vec in SoftirqVec::ALL {
            if self.contains(Self::softirq(vec)) {
                parts.push(vec.name());
            }
        }
        if self.contains(Self::KSOFTIRQD) {
            parts.push("ksoftirqd");
        }
        if self.contains(Self::KTIMERS) {
            parts.push("ktimers");
        }
        if self.contains(Self::NAPI_THREAD) {
            parts.push("napi");
        }
        if self.contains(Self::WORK) {
            parts.push("work");
        }
        let mut text = if parts.is_empty() { "-".to_owned() } else { parts.join("+") };
        if self.contains(Self::REMOTE) {
            text.push_str(" @cpu");
        }
        text
    }
}

/// When and where a point was stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// `CLOCK_MONOTONIC` ns, the clock of every stamp.
    pub ns: u64,
    /// The CPU that stamped it. For [`Point::Raise`] the CPU that took the interrupt.
    pub cpu: u16,
}

/// How the record of a path ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum PathEnd {
    /// The target returned to user space.
    User,
    /// The target has no user space to return to from here (kernel thread, page fault), or the
    /// `user` point is not traced.
    SwitchIn,
    /// The target slept again, or exited, before it returned to user space.
    SleptAgain,
    /// The target had not gone to sleep yet: it was still on its CPU when it was woken.
    AlreadyRunning,
}

/// What paths are grouped by in statistics.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PathKey {
    /// The interrupt or softirq that the path starts with.
    pub origin: Origin,
    /// What it goes through.
    pub via: Via,
    /// Name of the task that the path woke.
    pub comm: Comm,
    /// How the target is scheduled when its path ends, without a boost: a task that inherits a
    /// priority stays in its row. `None` in results of versions that did not tell.
    #[serde(default)]
    pub sched: Option<Scheduling>,
    /// True for the row of all paths of this origin that have none of their own: whatever they
    /// went through, to whatever target. Its name is [`Folded::COMM`].
    #[serde(default)]
    pub folded: bool,
    /// The number of the cgroup whose tasks are the targets, where those are not told apart by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<u64>,
}

impl PathKey {
    /// The row of the paths of an origin that have none of their own.
    pub fn others_of(origin: Origin) -> Self {
        let comm = Folded::COMM.into();
        Self { origin, via: Via::empty(), comm, sched: None, folded: true, cgroup: None }
    }

    /// True if a path with the key `other` counts in this row: its own, or one of a version that
    /// did not tell priorities.
    pub fn is_covering(&self, other: &Self) -> bool {
        self.origin == other.origin
            && self.via == other.via
            && self.comm == other.comm
            && self.cgroup == other.cgroup
            && self.folded == other.folded
            && (self.sched.is_none() || self.sched == other.sched)
    }
}

/// One joined path: from an interrupt to the task that it woke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathRecord {
    /// The interrupt or softirq that the path starts with.
    pub origin: Origin,
    /// What it goes through.
    pub via: Via,
    /// Stamps by [`Point::index`]; `None` where the path has no such point.
    pub stamps: [Option<Stamp>; Point::COUNT],
    /// Address of the expired timer's callback; 0 where the path is not a timer's.
    pub timer_fn: u64,
    /// The task woken at the end, as it was when it was switched in.
    pub target: Task,
    /// How the record ended.
    pub end: PathEnd,
    /// Run queues, in order of time: until the waking those on which the irq or NAPI thread waited,
    /// then the target's. Nothing where the one or the other was only on that of the CPU it ran on,
    /// and in recordings of format 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<RunQueue>,
    /// The number of the target's cgroup, where statistics are by cgroup. It is of no use when the
    /// host is not at hand, and is never stored.
    #[serde(skip)]
    pub cgroup: Option<u64>,
}

/// From when on a task was on the run queue of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunQueue {
    /// `CLOCK_MONOTONIC` ns, the clock of every stamp.
    pub since_ns: u64,
    /// The CPU; `None` where that is not known, as there were too many moves.
    pub cpu: Option<u16>,
}

/// A part of a stage, with the CPU for which it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuWait {
    /// The CPU; `None` if it is not known.
    pub cpu: Option<u16>,
    /// When the wait began, `CLOCK_MONOTONIC` ns.
    pub start_ns: u64,
    /// End, ns; after the start.
    pub end_ns: u64,
}

/// One stage of one path. It ran on `end.cpu`, except for the part of a remote wakeup that was
/// spent on the waker's CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageSpan {
    /// The point that starts it.
    pub from: Point,
    /// The point that ends and names it.
    pub to: Point,
    /// When and where the path was at `from`.
    pub start: Stamp,
    /// Stamp of `to`; never before `start`.
    pub end: Stamp,
}

impl StageSpan {
    /// Time from `start` to `end`, ns.
    pub fn ns(&self) -> u64 {
        self.end.ns - self.start.ns
    }
}

impl PathRecord {
    /// The group it belongs to.
    pub fn key(&self) -> PathKey {
        let comm = if self.cgroup.is_some() { Comm::default() } else { self.target.comm.clone() };
        PathKey {
            origin: self.origin,
            via: self.via,
            comm,
            sched: Some(self.target.scheduling()),
            folded: false,
            cgroup: self.cgroup,
        }
    }

    /// The stages, in order. Stamps that run backwards (clocks of two CPUs) are clamped.
    pub fn stages(&self) -> Vec<StageSpan> {
        let mut spans = Vec::with_capacity(Point::COUNT);
        let mut previous: Option<(Point, Stamp)> = None;
        for &point in Point::ALL {
            let Some(mut stamp) = self.stamps[point.index()] else { continue };
            if let Some((from, start)) = previous {
                stamp.ns = stamp.ns.max(start.ns);
                spans.push(StageSpan { from, to: point, start, end: stamp });
            }
            previous = Some((point, stamp));
        }
        spans
    }

    /// The run queues of the task that waits for the point `to`.
    fn queues_of(&self, to: Point) -> &[RunQueue] {
        let waking_ns = self.stamps[Point::Waking.index()].map_or(u64::MAX, |stamp| stamp.ns);
        let of_target = self.queues.partition_point(|queue| queue.since_ns < waking_ns);
        match to {
            Point::IrqThread => &self.queues[..of_target],
            Point::SwitchIn | Point::User => &self.queues[of_target..],
            _ => &[],
        }
    }

    /// The parts of a stage, each with the CPU for which it waited; they touch and fill it. A task
    /// waits for the CPU on whose run queue it is. A move that was not seen leaves the CPU unknown.
    pub fn stage_waits(&self, span: &StageSpan) -> Vec<CpuWait> {
        let StageSpan { start, end, .. } = *span;
        let since_start = |queue: &&RunQueue| queue.since_ns > start.ns && queue.since_ns <= end.ns;
        let mut from = RunQueue { since_ns: start.ns, cpu: Some(end.cpu) };
        let mut moves: Vec<RunQueue> = Vec::new();
        let queues = self.queues_of(span.to);
        if !queues.is_empty() {
            let before = queues.iter().rfind(|queue| queue.since_ns <= start.ns);
            from.cpu = match span.from {
                Point::SwitchIn => Some(start.cpu),
                _ => before.and_then(|queue| queue.cpu),
            };
            moves.extend(queues.iter().filter(since_start));
        }
        if let Some(last) = std::iter::once(&mut from).chain(&mut moves).last()
            && last.cpu != Some(end.cpu)
        {
            last.cpu = None;
        }
        let ends = moves.iter().map(|queue| queue.since_ns).chain([end.ns]);
        std::iter::once(&from)
            .chain(&moves)
            .zip(ends)
            .map(|(queue, end_ns)| CpuWait { cpu: queue.cpu, start_ns: queue.since_ns, end_ns })
            .filter(|wait| wait.start_ns < wait.end_ns)
            .collect()
    }

    /// First stamp of the path.
    pub fn first(&self) -> Option<Stamp> {
        self.stamps.iter().flatten().next().copied()
    }

    /// Last stamp of the path.
    pub fn last(&self) -> Option<Stamp> {
        self.stages().last().map(|s| s.end).or_else(|| self.first())
    }

    /// From the first stamp until the target runs, in nanoseconds: without its return to user space,
    /// during which a system call does its own work. What paths are ranked by.
    pub fn until_running_ns(&self) -> u64 {
        let waits = |stage: &&StageSpan| stage.to != Point::User;
        self.stages().iter().filter(waits).map(StageSpan::ns).sum()
    }

    /// From the first to the last stamp, in nanoseconds: the sum of the stages.
    pub fn total_ns(&self) -> u64 {
        self.stages().iter().map(StageSpan::ns).sum()
    }
}
