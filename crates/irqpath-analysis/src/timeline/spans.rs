// SPDX-License-Identifier: GPL-2.0-or-later
//! What lies over everything else on one CPU: NMIs, and time stolen by the hypervisor. Both are told
//! at their end and by their length, and are kept apart from the frames, in order of their ends.

use std::collections::VecDeque;

/// Spans as (end, duration), ns, ascending.
#[derive(Debug, Default)]
pub(super) struct Spans(VecDeque<(u64, u64)>);

impl Spans {
    /// Add one; the same one again is ignored.
    pub(super) fn insert_span(&mut self, end_ns: u64, duration_ns: u64) {
        let span = (end_ns, duration_ns);
        if self.0.back().is_none_or(|last| *last < span) {
            self.0.push_back(span);
        } else if let Err(at) = self.0.binary_search(&span) {
            self.0.insert(at, span);
        }
    }

    /// Forget the oldest until at most `max` are left.
    pub(super) fn shrink_to(&mut self, max: usize) {
        self.0.drain(..self.0.len().saturating_sub(max));
    }

    /// Forget those that ended by `before_ns`.
    pub(super) fn prune_before(&mut self, before_ns: u64) {
        let nr = self.0.partition_point(|(end, _)| *end <= before_ns);
        self.0.drain(..nr);
    }

    /// The parts within `[start, end)`, ascending and disjoint.
    pub(super) fn spans_within(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut parts = Vec::new();
        let mut done = start;
        for &(span_end, duration) in self.0.range(self.0.partition_point(|(e, _)| *e <= start)..) {
            let from = span_end.saturating_sub(duration).max(done);
            let to = span_end.min(end);
            if from < to {
                parts.push((from, to));
                done = to;
            }
            if span_end >= end && from >= end {
                break;
            }
        }
        parts
    }
}
