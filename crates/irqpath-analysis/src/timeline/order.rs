// SPDX-License-Identifier: GPL-2.0-or-later
//! The place of a transition that an interrupt overtook.
//!
//! Where interrupts are on, the programs read the clock first and take the number second (see
//! `bpf/occupancy.bpf.h`). An interrupt between the two has earlier numbers and later times. The times are
//! right: such a transition goes back before the handlers that it was read before.

use std::collections::VecDeque;

use super::Entry;
use super::state::Step;

/// Where entry `at` belongs: before the whole handlers right before it that began after its time.
pub(super) fn place_of(entries: &VecDeque<Entry>, at: usize) -> usize {
    let entry = &entries[at];
    let mut place = at;
    if !entry.step.is_outside_hardirq() {
        return place;
    }
    let mut nr_open = 0_usize;
    for i in (0..at).rev() {
        let earlier = &entries[i];
        let is_next = earlier.seq.wrapping_add((at - i) as u64) == entry.seq;
        if earlier.ns <= entry.ns || !is_next {
            break;
        }
        match earlier.step {
            Step::HardirqExit => nr_open += 1,
            Step::HardirqEntry(_) if nr_open > 0 => nr_open -= 1,
            Step::Stolen => {}
            Step::SwitchIn if nr_open == 0 && is_restated(entries, i) => {}
            _ => break,
        }
        if nr_open == 0 {
            place = i;
        }
    }
    place
}

/// True for the task that a handler restated at its start, because its number began a chunk.
fn is_restated(entries: &VecDeque<Entry>, at: usize) -> bool {
    let tid = |i: usize| entries.get(i).and_then(|entry| entry.task.as_ref()).map(|task| task.tid);
    let begins_handler = |entry: &Entry| !entry.step.is_outside_hardirq();
    let before = at.checked_sub(1).and_then(tid);
    before.is_some() && before == tid(at) && entries.get(at + 1).is_some_and(begins_handler)
}

/// Move entry `at` to `place`. The numbers stay in order; the same ones are taken as before.
pub(super) fn move_forward(entries: &mut VecDeque<Entry>, at: usize, place: usize) {
    for i in (place..at).rev() {
        entries.swap(i, i + 1);
        let (a, b) = (entries[i].seq, entries[i + 1].seq);
        (entries[i].seq, entries[i + 1].seq) = (b, a);
    }
}
