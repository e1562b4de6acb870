// SPDX-License-Identifier: GPL-2.0-or-later
//! Who a cause names, read from the words that people see.

use irqpath_model::{Cause, CauseKind, Origin, SoftirqVec, Vector};

use crate::occupied::Who;

/// The occupant that a cause means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// Something that the record knows too.
    Known(Who),
    /// An NMI, which lies over the others.
    Nmi,
    /// Said not to be known.
    Unknown,
    /// Words that nobody here understands: always wrong.
    Nonsense,
}

impl Named {
    /// Read it from a cause.
    pub fn parse_cause(cause: &Cause) -> Self {
        match cause.kind {
            CauseKind::Unexplained | CauseKind::Unseen => Self::Unknown,
            CauseKind::Nmi => Self::Nmi,
            CauseKind::Steal => Self::Known(Who::Steal),
            CauseKind::Idle => Self::Known(Who::Task(0)),
            _ if cause.who == "idle" => Self::Known(Who::Task(0)),
            _ => parse_origin(&cause.who)
                .map(Who::Hardirq)
                .or_else(|| parse_softirq(&cause.who).map(Who::Softirq))
                .or_else(|| parse_task(&cause.who).map(Who::Task))
                .map_or(Self::Nonsense, Self::Known),
        }
    }
}

/// `36:virtio1-req.0`, `36`, `LOC:local_timer`.
fn parse_origin(who: &str) -> Option<Origin> {
    let (label, name) = who.split_once(':').unwrap_or((who, ""));
    if let Some(vector) = Vector::ALL.iter().find(|v| v.label() == label && v.name() == name) {
        return Some(Origin::Vector(*vector));
    }
    // A task ends with its priority behind a space.
    if who.rsplit_once(' ').is_some_and(|(_, last)| is_priority(last)) {
        return None;
    }
    label.parse().ok().map(Origin::Irq)
}

fn parse_softirq(who: &str) -> Option<SoftirqVec> {
    SoftirqVec::ALL.iter().copied().find(|vec| vec.name() == who)
}

/// `comm:tid priority`, with ` (boosted)` behind it or not.
fn parse_task(who: &str) -> Option<u32> {
    let who = who.strip_suffix(" (boosted)").unwrap_or(who);
    let (task, priority) = who.rsplit_once(' ')?;
    let (_, tid) = task.rsplit_once(':')?;
    is_priority(priority).then_some(())?;
    tid.parse().ok()
}

fn is_priority(word: &str) -> bool {
    word == "d" || word == "idle" || ["o:", "f:", "r:"].iter().any(|class| word.starts_with(class))
}
