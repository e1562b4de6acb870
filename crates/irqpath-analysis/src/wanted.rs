// SPDX-License-Identifier: GPL-2.0-or-later
//! Which records get their causes: those over the threshold, and each new maximum of a path.
//!
//! When every path is recorded most are neither and are only counted. When every path is over
//! the threshold, only those that could be among the slowest kept ones are worth the work.
//! Neighbour: `engine.rs` asks before it holds a record back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use irqpath_model::{Comm, Origin, PathRecord, Via};

/// Most paths whose maximum is remembered; further paths are wanted over the threshold only.
const MAX_PATHS: usize = 16_384;

/// The policy, with what it has to remember.
#[derive(Debug, Default)]
pub struct Wanted {
    threshold_ns: Option<u64>,
    keep: Option<usize>,
    /// The `keep` longest totals so far.
    longest: BinaryHeap<Reverse<u64>>,
    maxima: HashMap<(Origin, Via), HashMap<Comm, u64>>,
    nr_paths: usize,
    nr_over: u64,
}

impl Wanted {
    /// Paths of at least `threshold_ns` and maxima; of those over the threshold only the ones
    /// that are among the `keep` slowest when they come.
    pub fn new(threshold_ns: Option<u64>, keep: Option<usize>) -> Self {
        Self { threshold_ns, keep, ..Self::default() }
    }

    /// True if this record should get its causes. Remembers it.
    pub fn wanted(&mut self, record: &PathRecord) -> bool {
        let total_ns = record.total_ns();
        let is_maximum = self.is_maximum(record, total_ns);
        let is_over = self.threshold_ns.is_some_and(|threshold| total_ns >= threshold);
        self.nr_over += u64::from(is_over);
        let is_kept = is_over && self.is_among_longest(total_ns);
        is_maximum || is_kept
    }

    fn is_maximum(&mut self, record: &PathRecord, total_ns: u64) -> bool {
        let comms = self.maxima.entry((record.origin, record.via)).or_default();
        if let Some(maximum) = comms.get_mut(&record.target.comm) {
            let is_new = total_ns > *maximum;
            *maximum = total_ns.max(*maximum);
            return is_new;
        }
        if self.nr_paths < MAX_PATHS {
            self.nr_paths += 1;
            comms.insert(record.target.comm.clone(), total_ns);
            return true;
        }
        false
    }

    fn is_among_longest(&mut self, total_ns: u64) -> bool {
        let Some(keep) = self.keep else { return true };
        if self.longest.len() < keep {
            self.longest.push(Reverse(total_ns));
            return true;
        }
        match self.longest.peek_mut() {
            Some(mut shortest) if shortest.0 < total_ns => {
                *shortest = Reverse(total_ns);
                true
            }
            _ => false,
        }
    }

    /// Records over the threshold so far, wanted or not.
    pub fn nr_over(&self) -> u64 {
        self.nr_over
    }
}
