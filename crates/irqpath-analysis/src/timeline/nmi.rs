// SPDX-License-Identifier: GPL-2.0-or-later
//! The NMIs of one CPU. They are not numbered and lie over everything else, so they are kept
//! apart from the other transitions, in order of their ends.

use std::collections::VecDeque;

/// Most NMIs kept per CPU; the oldest goes first.
const MAX_NMIS: usize = 4096;

/// NMIs as (end, duration), ns, ascending.
#[derive(Debug, Default)]
pub(super) struct Nmis(VecDeque<(u64, u64)>);

impl Nmis {
    /// Add one; the same one again is ignored.
    pub(super) fn insert(&mut self, end_ns: u64, duration_ns: u64) {
        let nmi = (end_ns, duration_ns);
        if self.0.back().is_none_or(|last| *last < nmi) {
            self.0.push_back(nmi);
        } else if let Err(at) = self.0.binary_search(&nmi) {
            self.0.insert(at, nmi);
        }
        if self.0.len() > MAX_NMIS {
            self.0.pop_front();
        }
    }

    /// Forget those that ended by `before_ns`.
    pub(super) fn prune(&mut self, before_ns: u64) {
        let nr = self.0.partition_point(|(end, _)| *end <= before_ns);
        self.0.drain(..nr);
    }

    /// The parts within `[start, end)`, ascending and disjoint.
    pub(super) fn within(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut done = start;
        for &(nmi_end, duration) in self.0.range(self.0.partition_point(|(e, _)| *e <= start)..) {
            let from = nmi_end.saturating_sub(duration).max(done);
            let to = nmi_end.min(end);
            if from < to {
                parts.push((from, to));
                done = to;
            }
            if nmi_end >= end && from >= end {
                break;
            }
        }
        parts
    }
}
