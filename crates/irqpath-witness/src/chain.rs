// SPDX-License-Identifier: GPL-2.0-or-later
//! Where work comes from, as it is handed on from context to context.

use irqpath_model::{Origin, Point, SoftirqVec, Stamp, Via};

/// The way of a path so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// What it began with.
    pub origin: Origin,
    /// What it went through.
    pub via: Via,
    /// Indexed by [`Point::index`]; `None` where the chain did not pass.
    pub stamps: [Option<Stamp>; Point::COUNT],
    /// Something on the way was not traced, so that this may be wrong.
    pub is_unsure: bool,
    /// The threads that carried it: who, when it was woken, and where that was done.
    pub carriers: Vec<(u32, Stamp)>,
}

impl Chain {
    pub(crate) fn new(origin: Origin) -> Self {
        Self {
            origin,
            via: Via::empty(),
            stamps: [None; Point::COUNT],
            is_unsure: false,
            carriers: Vec::new(),
        }
    }

    pub(crate) fn by_task(vec: SoftirqVec) -> Self {
        Self::new(Origin::Softirq(vec))
    }

    /// The same, one point further. Work that goes round forgets its first round.
    pub(crate) fn with_stamp(&self, point: Point, ns: u64, cpu: u16) -> Self {
        let mut next = self.clone();
        next.stamps[point.index()] = Some(Stamp { ns, cpu });
        for later in &mut next.stamps[point.index() + 1..] {
            *later = None;
        }
        next
    }

    /// The same, waiting for a thread that was woken then and there.
    pub(crate) fn carried_by(mut self, tid: u32, ns: u64, cpu: u16) -> Self {
        self.carriers.push((tid, Stamp { ns, cpu }));
        self
    }

    pub(crate) fn with_via(mut self, via: Via) -> Self {
        self.via |= via;
        self
    }

    pub(crate) fn stamp(&self, point: Point) -> Option<Stamp> {
        self.stamps[point.index()]
    }

    /// The raise, as a timer's expiry: never later than what followed it.
    pub(crate) fn with_raise(&self, ns: u64, cpu: u16) -> Self {
        let first = self.stamps[Point::Raise.index() + 1..].iter().flatten().next();
        let mut raised = self.clone();
        let ns = first.map_or(ns, |first| ns.min(first.ns));
        raised.stamps[Point::Raise.index()] = Some(Stamp { ns, cpu });
        raised
    }
}
