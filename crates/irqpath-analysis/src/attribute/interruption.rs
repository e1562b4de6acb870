// SPDX-License-Identifier: GPL-2.0-or-later
//! What ran while a task that wanted to run could not: a window of one CPU cut into what occupied
//! it. There is no path here, so nothing is blocking: whatever is not the task itself interfered.
//!
//! What the task's own frame covers is the entry to and exit from the kernel, which lie outside
//! of every tracepoint, and whatever no tracepoint sees: the hypervisor, firmware, exceptions.

use irqpath_model::{Cause, CauseKind, Names};

use super::tally::Tally;
use crate::{Occupant, Timelines};

/// The causes of one interruption of the task `tid`. `since_ns` is when tracing began: a state
/// that is older counts as unknown.
pub fn attribute_interruption(
    window: (u16, u64, u64),
    tid: u32,
    since_ns: u64,
    timelines: &Timelines,
    names: &Names,
) -> Vec<Cause> {
    let (cpu, start_ns, end_ns) = window;
    let mut tally = Tally::default();
    for segment in timelines.segments(cpu, start_ns, end_ns, since_ns) {
        let occupant = segment.occupant();
        let ns = segment.ns();
        tally.add_segment(classify_interrupter(&occupant, tid), occupant, ns);
    }
    tally.into_causes(names)
}

fn classify_interrupter(occupant: &Occupant, tid: u32) -> CauseKind {
    match occupant {
        Occupant::Task(task) if task.tid == tid => CauseKind::Own,
        other => without_target(other),
    }
}

/// What kind of occupant this is where nobody waits for the CPU.
pub fn without_target(occupant: &Occupant) -> CauseKind {
    match occupant {
        Occupant::Unknown => CauseKind::Unexplained,
        Occupant::Unseen => CauseKind::Unseen,
        Occupant::Stolen => CauseKind::Steal,
        Occupant::Nmi => CauseKind::Nmi,
        Occupant::Hardirq(_) => CauseKind::Hardirq,
        Occupant::Softirq(_) => CauseKind::Softirq,
        Occupant::Task(task) if task.is_idle() => CauseKind::Idle,
        Occupant::Task(_) => CauseKind::Thread,
    }
}
