// SPDX-License-Identifier: GPL-2.0-or-later
//! How much later irqpath read the clock than the witness did, at the same event.
//!
//! Both run at the same tracepoint, the witness first, and each reads the clock. A host that lets
//! the CPU stand still in between, which it need not count as stolen, moves the boundary between two
//! occupants for one of them. With irqpath's reading at hand that is no guess.

use std::collections::HashMap;

use irqpath_model::{Occupancy, Origin, SoftirqVec, Transition};

use crate::event::What;

/// Two readings further apart are of two events.
pub(crate) const MAX_GAP_NS: u64 = 20_000_000;
/// The clock of the second reading may be behind by so much.
const BEHIND_NS: u64 = 1_000;

/// An event that changes who has a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    IrqEntry(Origin),
    IrqExit,
    SoftirqEntry(SoftirqVec),
    SoftirqExit,
    Switch(u32),
}

impl Mark {
    pub(crate) fn mark_of(what: &What) -> Option<Self> {
        match what {
            What::IrqEntry(origin) => Some(Self::IrqEntry(*origin)),
            What::IrqExit { .. } => Some(Self::IrqExit),
            What::SoftirqEntry(vec) => Some(Self::SoftirqEntry(*vec)),
            What::SoftirqExit(_) => Some(Self::SoftirqExit),
            What::Switch { next, .. } => Some(Self::Switch(next.tid)),
            _ => None,
        }
    }

    fn read(transition: &Transition) -> Option<Self> {
        match transition {
            Transition::HardirqEntry(origin) => Some(Self::IrqEntry(*origin)),
            Transition::HardirqExit => Some(Self::IrqExit),
            Transition::SoftirqEntry(vec) => Some(Self::SoftirqEntry(*vec)),
            Transition::SoftirqExit => Some(Self::SoftirqExit),
            Transition::SwitchIn(task) => Some(Self::Switch(task.tid)),
            Transition::Unseen(_) | Transition::NmiEnd { .. } | Transition::Stolen { .. } => None,
        }
    }
}

/// Irqpath's readings by CPU and event, ascending.
pub(crate) struct Gaps(HashMap<(u16, Mark), Vec<u64>>);

impl Gaps {
    pub(crate) fn new(readings: &[Occupancy]) -> Self {
        let mut in_order: Vec<&Occupancy> = readings.iter().collect();
        in_order.sort_by_key(|reading| (reading.cpu, reading.seq));
        let mut all: HashMap<(u16, Mark), Vec<u64>> = HashMap::new();
        // An interrupt that came between a reading and its number is told before it.
        let mut latest = (0, 0);
        for reading in in_order {
            let Some(mark) = Mark::read(&reading.what) else { continue };
            let before_ns = if latest.0 == reading.cpu { latest.1 } else { 0 };
            latest = (reading.cpu, reading.ns.max(before_ns));
            all.entry((reading.cpu, mark)).or_default().push(latest.1);
        }
        Self(all)
    }

    /// How much later the event of `ns` was read; 0 if it was not before `until_ns`, when the next
    /// such event happened.
    pub(crate) fn read_delay(&self, cpu: u16, mark: Mark, ns: u64, until_ns: u64) -> u64 {
        let Some(times) = self.0.get(&(cpu, mark)) else { return 0 };
        let first = times.partition_point(|time| time + BEHIND_NS < ns);
        let read_ns = times.get(first).filter(|time| **time < until_ns.min(ns + MAX_GAP_NS));
        read_ns.map_or(0, |time| time.saturating_sub(ns))
    }
}
