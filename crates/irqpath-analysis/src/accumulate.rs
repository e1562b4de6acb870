// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistics per path from records (recordings, samples read again), and the summary that is
//! stored and shown. A live source keeps its own statistics and needs only [`summarize_paths`].

use std::cmp::Reverse;
use std::collections::HashMap;

use irqpath_model::{
    Comm, MAX_PATHS, Measured, Names, Origin, PathRecord, PathStats, PathSummary, Paths,
    Scheduling, SlowPath, Snapshot, Summary, Via,
};

/// Statistics of every path, from its records.
#[derive(Debug, Default)]
pub struct Accumulator {
    paths: HashMap<(Origin, Via, Scheduling), HashMap<Comm, PathStats>>,
    nr_paths: usize,
    nr_records: u64,
    nr_left_out: u64,
}

impl Accumulator {
    /// Starts with no paths; all records are kept apart until there are too many of them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a record under its path, or under its origin's rest if there are too many paths.
    pub fn record(&mut self, record: &PathRecord) {
        self.nr_records += 1;
        let comm = &record.target.comm;
        // A lookup first: the name is copied for the first record of a path only.
        let line = (record.origin, record.via, record.target.scheduling());
        let known = self.paths.get_mut(&line).and_then(|comms| comms.get_mut(comm));
        if let Some(stats) = known {
            stats.record_path(record);
        } else if self.nr_paths < MAX_PATHS {
            let mut stats = PathStats::new(record.key());
            stats.record_path(record);
            self.paths.entry(line).or_default().insert(comm.clone(), stats);
            self.nr_paths += 1;
        } else {
            self.nr_left_out += 1;
        }
    }

    /// Records of paths beyond the first [`MAX_PATHS`], which are in no statistics.
    pub fn nr_left_out(&self) -> u64 {
        self.nr_left_out
    }

    /// Records added so far.
    pub fn nr_records(&self) -> u64 {
        self.nr_records
    }

    /// The statistics so far, in order of their keys.
    pub fn stats(&self) -> Vec<PathStats> {
        let mut stats: Vec<PathStats> =
            self.paths.values().flat_map(HashMap::values).cloned().collect();
        stats.sort_by(|a, b| a.key.cmp(&b.key));
        stats
    }
}

/// The threshold of a measurement, and what was over it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Judged {
    /// On the whole path, ns, if one was given.
    pub threshold_ns: Option<u64>,
    /// Records over it, kept or not.
    pub nr_slow: u64,
    /// Of these, the ones that the hypervisor's share alone put over it.
    pub nr_slow_by_hypervisor: u64,
}

/// The summary of a measurement: both by the longest time until a target ran.
pub fn summarize_paths(
    snapshot: Snapshot,
    mut slow: Vec<SlowPath>,
    judged: Judged,
    names: &Names,
) -> Summary {
    let mut paths: Vec<PathSummary> =
        snapshot.paths.into_iter().map(|stats| PathSummary::new(stats, names)).collect();
    paths.sort_by(|a, b| {
        Reverse(a.slowest_ns).cmp(&Reverse(b.slowest_ns)).then_with(|| a.key.cmp(&b.key))
    });
    slow.sort_by_cached_key(|path| Reverse(path.record.until_running_ns()));
    let measured = Measured::Paths(Paths {
        paths,
        lines: snapshot.lines,
        softirqs: snapshot.softirqs,
        napi: snapshot.napi,
        slow,
        nr_slow: judged.nr_slow,
        nr_slow_by_hypervisor: judged.nr_slow_by_hypervisor,
        threshold_ns: judged.threshold_ns,
        folded: snapshot.folded,
    });
    Summary {
        loss: snapshot.loss,
        overhead: snapshot.overhead,
        missing: snapshot.missing,
        ..Summary::from_measured(measured)
    }
}
