// SPDX-License-Identifier: GPL-2.0-or-later
//! What of a stage is the path's own work.
//!
//! A stage that runs in a handler owns that handler for all of the stage (`Claim::Whole`). A
//! stage that waits, begun from within a handler, owns only the rest of that run of it
//! (`Claim::Rest`): the same interrupt or softirq again, later in the wait, is interference.

use irqpath_model::{Origin, PathRecord, Point, SoftirqVec, StageSpan, Task, Via};

use crate::{Frame, Layer, Occupant, Segment};

/// How much of an occupant's time is the path's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim<T> {
    Nothing,
    Whole(T),
    Rest(T),
}

impl<T: PartialEq + Copy> Claim<T> {
    fn has_seen(&self, it: T) -> bool {
        matches!(self, Self::Whole(own) | Self::Rest(own) if *own == it)
    }
}

/// The path's own occupants in one stage.
#[derive(Debug)]
pub(super) struct Own {
    hardirq: Claim<Origin>,
    softirq: Claim<SoftirqVec>,
    /// The task in which the own softirq runs (PREEMPT_RT switches it out together with it).
    softirq_tid: Option<u32>,
    /// If the own softirq is not known from the timeline: any of these.
    softirqs: Via,
    tid: Claim<u32>,
    /// The task that the stage waits for, as it was at the end of the stage.
    pub(super) waiter: Option<Task>,
}

impl Own {
    /// `parts` are the segments of the stage by the CPU it waited for; `end` is what holds from
    /// the end of the stage on, where that is known.
    pub(super) fn new(
        record: &PathRecord,
        span: &StageSpan,
        parts: &[(Option<u16>, Vec<Segment>)],
        end: Option<&Frame>,
    ) -> Self {
        let last = parts.last().and_then(|(_, s)| s.last()).map(|segment| &segment.frame);
        let mut own = Self {
            hardirq: Claim::Nothing,
            softirq: Claim::Nothing,
            softirq_tid: None,
            softirqs: Via::empty(),
            tid: Claim::Nothing,
            waiter: find_waiter(record, span.to, end.into_iter().chain(last)),
        };
        if let Some((cpu, segments)) = parts.first()
            && *cpu == Some(span.start.cpu)
            && let Some(first) = segments.first()
        {
            own.claim_start(record, span.from, &first.frame);
        }
        own
    }

    /// What the point that starts the stage was stamped in.
    fn claim_start(&mut self, record: &PathRecord, from: Point, frame: &Frame) {
        match from {
            Point::Raise | Point::SwitchIn | Point::User => {}
            Point::Hardirq => self.hardirq = Claim::Whole(record.origin),
            Point::Softirq => {
                self.softirqs = record.via & Via::SOFTIRQS;
                self.claim_softirq(record, frame, Claim::Whole);
            }
            Point::Work if matches!(frame.occupant(), Occupant::Softirq(_)) => {
                if let Layer::Active(Some(vec)) = frame.softirq {
                    self.softirq = Claim::Whole(vec);
                }
            }
            Point::IrqThread | Point::Work => self.claim_task(frame),
            Point::SoftirqRaise => self.claim_rest(record, frame),
            Point::WorkQueue | Point::Waking => {
                self.claim_rest(record, frame);
                self.claim_softirq(record, frame, Claim::Rest);
            }
        }
    }

    fn claim_task(&mut self, frame: &Frame) {
        if let Some(tid) = frame.tid() {
            self.tid = Claim::Whole(tid);
        }
    }

    fn claim_softirq(
        &mut self,
        record: &PathRecord,
        frame: &Frame,
        claim: fn(SoftirqVec) -> Claim<SoftirqVec>,
    ) {
        if let Layer::Active(Some(vec)) = frame.softirq
            && record.via.contains(Via::softirq(vec))
        {
            self.softirq = claim(vec);
            self.softirq_tid = frame.tid();
            self.softirqs = Via::empty();
        }
    }

    /// The rest of the hardirq, or of the thread that carries the path.
    fn claim_rest(&mut self, record: &PathRecord, frame: &Frame) {
        if frame.hardirq == Layer::Active(Some(record.origin)) {
            self.hardirq = Claim::Rest(record.origin);
        }
        if let Some(task) = frame.known_task()
            && is_carrier(task, record.via)
        {
            self.tid = Claim::Rest(task.tid);
        }
    }

    /// Look at the next segment: the rest of a handler ends with the handler.
    pub(super) fn follow_frame(&mut self, frame: &Frame) {
        if matches!(self.hardirq, Claim::Rest(_)) && !matches!(frame.hardirq, Layer::Active(_)) {
            self.hardirq = Claim::Nothing;
        }
        if let Claim::Rest(vec) = self.softirq
            && frame.tid() == self.softirq_tid
            && frame.softirq != Layer::Active(Some(vec))
        {
            self.softirq = Claim::Nothing;
        }
        if let Claim::Rest(tid) = self.tid
            && frame.tid() != Some(tid)
        {
            self.tid = Claim::Nothing;
        }
    }

    /// The wait goes on for another CPU: what belongs to the path was on the one before.
    pub(super) fn move_on(&mut self) {
        self.hardirq = Claim::Nothing;
        self.softirq = Claim::Nothing;
        self.softirqs = Via::empty();
        self.tid = Claim::Nothing;
    }

    pub(super) fn has_hardirq(&self, origin: Origin) -> bool {
        self.hardirq.has_seen(origin)
    }

    pub(super) fn has_softirq(&self, vec: SoftirqVec) -> bool {
        self.softirq.has_seen(vec) || self.softirqs.contains(Via::softirq(vec))
    }

    /// True for the thread in which the path runs, or that it waits for.
    pub(super) fn has_task(&self, task: &Task) -> bool {
        self.tid.has_seen(task.tid) || self.waiter.as_ref().is_some_and(|w| w.tid == task.tid)
    }

    /// True if `has_task` holds only because the thread finishes what it did before the wait.
    pub(super) fn is_rest_of(&self, task: &Task) -> bool {
        self.tid == Claim::Rest(task.tid) && self.waiter.as_ref().is_none_or(|w| w.tid != task.tid)
    }
}

/// The task that the stage waits for: known, or among what runs at its end. An irq thread's
/// point is its switch-in, so that what runs before the point is not the thread yet.
fn find_waiter<'a>(
    record: &PathRecord,
    to: Point,
    mut at_end: impl Iterator<Item = &'a Frame>,
) -> Option<Task> {
    let expected = match to {
        Point::IrqThread if record.via.contains(Via::MIGRATED) => {
            return Some(record.target.clone());
        }
        Point::IrqThread => Via::IRQ_THREAD,
        Point::Softirq => Via::SOFTIRQ_THREAD,
        Point::SwitchIn | Point::User => return Some(record.target.clone()),
        _ => return None,
    };
    at_end
        .find_map(|frame| frame.known_task().filter(|task| is_carrier(task, expected)))
        .map(|task| (**task).clone())
}

/// True for a kernel thread of the kinds in `via`; kernel threads are known by name only.
pub(super) fn is_carrier(task: &Task, via: Via) -> bool {
    const PREFIXES: [(Via, &str); 5] = [
        (Via::IRQ_THREAD, "irq/"),
        (Via::SOFTIRQ_THREAD, "ksoftirqd/"),
        (Via::SOFTIRQ_THREAD, "ktimers/"),
        (Via::NAPI_THREAD, "napi/"),
        (Via::WORK, "kworker/"),
    ];
    PREFIXES
        .iter()
        .any(|&(kind, name)| via.intersects(kind) && task.comm.as_str().starts_with(name))
}
