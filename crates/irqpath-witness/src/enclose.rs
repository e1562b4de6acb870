// SPDX-License-Identifier: GPL-2.0-or-later
//! Pairs each event of a recorder with the same event of a second one.
//!
//! Programs at one tracepoint run in the order in which they were attached. A recorder that was
//! attached before irqpath and another one that was attached after it therefore read the clock
//! before and after irqpath did, and what irqpath says of an event must lie between the two
//! readings. A host may let the CPU stand still in between; that widens the bracket and needs no
//! allowance.

use std::collections::HashMap;
use std::mem::discriminant;

use crate::event::{Event, Reading, What};

/// Set [`Event::again`] of each event that `closing` has, too. Both are in order of time.
pub(crate) fn enclose_events(events: &mut [Event], closing: &[Event]) {
    let mut open: HashMap<u16, Vec<usize>> = HashMap::new();
    let mut at = 0;
    for close in closing {
        while at < events.len() && events[at].ns <= close.ns {
            open.entry(events[at].cpu).or_default().push(at);
            at += 1;
        }
        let open = open.entry(close.cpu).or_default();
        // An interrupt between both readings is inside: it was opened later and closed earlier.
        if let Some(found) = open.iter().rposition(|&at| is_same(&events[at].what, &close.what)) {
            events[open[found]].again = Some(Reading { ns: close.ns, steal_ns: close.steal_ns });
            // Those above it were skipped by the second recorder.
            open.truncate(found);
        }
    }
}

/// True for two readings of one event. A task's state may have changed between them.
fn is_same(one: &What, other: &What) -> bool {
    discriminant(one) == discriminant(other)
        && match (one, other) {
            (What::Waking { task: a, .. }, What::Waking { task: b, .. })
            | (What::Switch { next: a, .. }, What::Switch { next: b, .. }) => a.tid == b.tid,
            (What::Wakeup { tid: a, .. }, What::Wakeup { tid: b, .. })
            | (What::Migrate { tid: a, .. }, What::Migrate { tid: b, .. }) => a == b,
            _ => one == other,
        }
}

#[cfg(test)]
mod tests {
    use irqpath_model::{Origin, Vector};

    use super::*;

    fn event(ns: u64, cpu: u16, what: What) -> Event {
        Event { ns, again: None, steal_ns: 0, cpu, current: 7, what }
    }

    fn entry(ns: u64, cpu: u16) -> Event {
        event(ns, cpu, What::IrqEntry(Origin::Vector(Vector::LocalTimer)))
    }

    fn wakeup(ns: u64, tid: u32) -> Event {
        event(ns, 0, What::Wakeup { tid, cpu: 0 })
    }

    fn ends(events: &[Event]) -> Vec<Option<u64>> {
        events.iter().map(|event| event.again.map(|reading| reading.ns)).collect()
    }

    #[test]
    fn an_interrupt_between_two_readings_is_inside() {
        let mut events = [wakeup(10, 3), entry(20, 0), wakeup(25, 3)];
        enclose_events(&mut events, &[entry(22, 0), wakeup(27, 3), wakeup(40, 3)]);
        assert_eq!(ends(&events), [Some(40), Some(22), Some(27)]);
    }

    #[test]
    fn each_cpu_has_its_own_order() {
        let mut events = [entry(10, 0), entry(11, 1), entry(30, 0)];
        enclose_events(&mut events, &[entry(12, 1), entry(20, 0), entry(31, 0)]);
        assert_eq!(ends(&events), [Some(20), Some(12), Some(31)]);
    }

    #[test]
    fn an_event_that_the_second_recorder_skipped_has_no_end() {
        let mut events = [wakeup(10, 3), wakeup(12, 4), wakeup(20, 3)];
        enclose_events(&mut events, &[wakeup(15, 3), wakeup(21, 3)]);
        assert_eq!(ends(&events), [Some(15), None, Some(21)]);
    }
}
