// SPDX-License-Identifier: GPL-2.0-or-later
//! The kind of cause that an occupant is, for one stage of one path.
//!
//! Interrupts and softirqs are interference wherever they are not the path's own. What a thread
//! is depends on what the stage waits for: the interrupt itself (then interrupts were off), a
//! softirq (then bottom halves were off), or a task (then urgency decides).

use irqpath_model::{CauseKind, PathRecord, Point, StageSpan, Task, Via};

use super::own::{Own, is_carrier};
use crate::Occupant;

/// First priority of the fair class; its tasks share the CPU whatever their nice value.
const FAIR: std::ops::RangeInclusive<i16> = 100..=139;

/// Classify what occupied a segment; `is_last` if the segment ends the stage.
pub(super) fn classify_occupant(
    record: &PathRecord,
    span: &StageSpan,
    own: &Own,
    occupant: &Occupant,
    is_last: bool,
) -> CauseKind {
    match occupant {
        Occupant::Unknown => CauseKind::Unexplained,
        Occupant::Unseen => CauseKind::Unseen,
        Occupant::Stolen => CauseKind::Steal,
        Occupant::Nmi => CauseKind::Nmi,
        Occupant::Hardirq(origin) => {
            let is_awaited = is_last && span.to == Point::Hardirq && *origin == Some(record.origin);
            if is_awaited || origin.is_some_and(|o| own.has_hardirq(o)) {
                CauseKind::Own
            } else {
                CauseKind::Hardirq
            }
        }
        Occupant::Softirq(vec) => {
            let is_awaited = is_last
                && span.to == Point::Softirq
                && vec.is_some_and(|v| record.via.contains(Via::softirq(v)));
            if is_awaited || vec.is_some_and(|v| own.has_softirq(v)) {
                CauseKind::Own
            } else {
                CauseKind::Softirq
            }
        }
        Occupant::Task(task) => classify_thread(record, span.to, own, task),
    }
}

fn classify_thread(record: &PathRecord, to: Point, own: &Own, task: &Task) -> CauseKind {
    if task.is_idle() {
        return CauseKind::Idle;
    }
    if to == Point::Hardirq {
        return CauseKind::IrqsOff;
    }
    let is_softirq_thread = to == Point::Softirq && is_carrier(task, Via::SOFTIRQ_THREAD);
    // The waker that goes on although it is less urgent than its target is not own work.
    let is_blocking_waker = to == Point::SwitchIn
        && own.is_rest_of(task)
        && compare_urgency(task, record.target.prio) != CauseKind::Thread;
    if is_softirq_thread || (own.has_task(task) && !is_blocking_waker) {
        return CauseKind::Own;
    }
    let waiter = own.waiter.as_ref().map(|w| w.prio);
    match (to, waiter) {
        (Point::Softirq, _) if !record.via.intersects(Via::SOFTIRQ_THREAD) => CauseKind::PreemptOff,
        (Point::Softirq | Point::IrqThread | Point::SwitchIn, Some(prio)) => {
            compare_urgency(task, prio)
        }
        (Point::Softirq | Point::IrqThread, None) if !task.is_realtime() => CauseKind::PreemptOff,
        _ => CauseKind::Thread,
    }
}

/// What `task` is to a waiting task of priority `waiter`.
fn compare_urgency(task: &Task, waiter: i16) -> CauseKind {
    if task.is_boosted() && is_less_urgent(task.normal_prio, waiter) {
        CauseKind::LockHolder
    } else if is_less_urgent(task.prio, waiter) {
        CauseKind::PreemptOff
    } else {
        CauseKind::Thread
    }
}

fn is_less_urgent(prio: i16, than: i16) -> bool {
    prio > than && !(FAIR.contains(&prio) && FAIR.contains(&than))
}
