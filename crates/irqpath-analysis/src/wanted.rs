// SPDX-License-Identifier: GPL-2.0-or-later
//! Which records get their causes: those over the threshold, and each new maximum of a path. The
//! threshold is about the whole path, ranks are about the time until the target ran.
//!
//! When every path is recorded most are neither and are only counted. When every path is over
//! the threshold, only those that could be among the slowest kept ones are worth the work.
//! Neighbour: `engine.rs` asks before it holds a record back.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use irqpath_model::{Comm, Origin, PathRecord, Scheduling, Via};

/// Most paths whose maximum is remembered by itself; those that come later share one for each
/// origin, so that a flood of names does not hide what is slow.
const MAX_PATHS: usize = 4096;

/// The policy, with what it has to remember.
#[derive(Debug, Default)]
pub struct Wanted {
    threshold_ns: Option<u64>,
    keep: Option<usize>,
    /// The `keep` longest times so far.
    longest: BinaryHeap<Reverse<u64>>,
    maxima: HashMap<(Origin, Via, Scheduling), HashMap<Comm, u64>>,
    nr_paths: usize,
    /// The maxima of the paths that came too late for one of their own.
    others: HashMap<Origin, u64>,
    nr_over: u64,
}

impl Wanted {
    /// Paths of at least `threshold_ns` and maxima; of those over the threshold only the ones
    /// that are among the `keep` slowest when they come.
    pub fn new(threshold_ns: Option<u64>, keep: Option<usize>) -> Self {
        Self { threshold_ns, keep, ..Self::default() }
    }

    /// True if this record should get its causes. Remembers it.
    pub fn admit_record(&mut self, record: &PathRecord) -> bool {
        let total_ns = record.total_ns();
        let slow_ns = record.until_running_ns();
        let is_maximum = self.is_maximum(record, slow_ns);
        let is_over = self.threshold_ns.is_some_and(|threshold| total_ns >= threshold);
        self.nr_over += u64::from(is_over);
        let is_kept = is_over && self.is_among_longest(slow_ns);
        is_maximum || is_kept
    }

    fn is_maximum(&mut self, record: &PathRecord, slow_ns: u64) -> bool {
        let sched = record.target.scheduling();
        let comms = self.maxima.entry((record.origin, record.via, sched)).or_default();
        if let Some(maximum) = comms.get_mut(&record.target.comm) {
            return raise_maximum(maximum, slow_ns);
        }
        if self.nr_paths < MAX_PATHS {
            self.nr_paths += 1;
            comms.insert(record.target.comm.clone(), slow_ns);
            return true;
        }
        raise_maximum(self.others.entry(record.origin).or_default(), slow_ns)
    }

    fn is_among_longest(&mut self, slow_ns: u64) -> bool {
        let Some(keep) = self.keep else { return true };
        if self.longest.len() < keep {
            self.longest.push(Reverse(slow_ns));
            return true;
        }
        match self.longest.peek_mut() {
            Some(mut shortest) if shortest.0 < slow_ns => {
                *shortest = Reverse(slow_ns);
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

/// Raise `maximum` to `ns`. True if that is higher.
fn raise_maximum(maximum: &mut u64, ns: u64) -> bool {
    let is_new = ns > *maximum;
    *maximum = ns.max(*maximum);
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{PathEnd, Point, Stamp, Task};

    fn record(comm: &str, ns: u64) -> PathRecord {
        let mut stamps = [None; Point::COUNT];
        stamps[Point::Hardirq.index()] = Some(Stamp { ns: 1, cpu: 0 });
        stamps[Point::SwitchIn.index()] = Some(Stamp { ns: 1 + ns, cpu: 0 });
        PathRecord {
            origin: Origin::Irq(36),
            via: Via::empty(),
            stamps,
            timer_fn: 0,
            target: Task { comm: comm.into(), ..Task::default() },
            end: PathEnd::SwitchIn,
            queues: Vec::new(),
            cgroup: None,
        }
    }

    #[test]
    fn a_flood_of_names_does_not_hide_what_is_slow() {
        let mut wanted = Wanted::new(None, None);
        let nr = (0..100_000)
            .filter(|at| wanted.admit_record(&record(&format!("name{at}"), 10)))
            .count();
        assert_eq!(nr, MAX_PATHS + 1, "each path of its own, and the first of the rest");
        assert!(wanted.admit_record(&record("late", 500)));
        assert!(!wanted.admit_record(&record("later", 400)));
        assert!(wanted.admit_record(&record("name0", 20)), "it has a maximum of its own");
    }
}
