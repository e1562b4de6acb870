// SPDX-License-Identifier: GPL-2.0-or-later
//! Which slow paths are kept when there are too many: the slowest of each path first, then the
//! slowest of all, by the time until the target ran. Neighbour: `engine.rs` delivers them.

use irqpath_model::{PathRecord, SlowPath};

/// Slow paths kept if nothing else is asked for.
pub const DEFAULT_SLOW: usize = 200;

/// The slowest paths so far, slowest first.
#[derive(Debug, Clone)]
pub struct SlowKeeper {
    capacity: usize,
    paths: Vec<(u64, SlowPath)>,
}

impl Default for SlowKeeper {
    fn default() -> Self {
        Self::new(DEFAULT_SLOW)
    }
}

impl SlowKeeper {
    /// Keep at most `capacity` paths.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, paths: Vec::new() }
    }

    /// Add one; another one may have to go for it.
    pub fn add_path(&mut self, path: SlowPath) {
        let slow_ns = path.record.until_running_ns();
        let at = self.paths.partition_point(|(ns, _)| *ns >= slow_ns);
        self.paths.insert(at, (slow_ns, path));
        if self.paths.len() > self.capacity {
            self.paths.remove(self.least_wanted());
        }
    }

    /// The least slow one that is not the slowest of its path; if each is, the least slow.
    fn least_wanted(&self) -> usize {
        let last = self.paths.len() - 1;
        (0..=last).rev().find(|&at| !self.is_slowest_of_its_path(at)).unwrap_or(last)
    }

    fn is_slowest_of_its_path(&self, at: usize) -> bool {
        let record = &self.paths[at].1.record;
        !self.paths[..at].iter().any(|(_, slower)| is_same_path(&slower.record, record))
    }

    /// The kept paths, slowest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SlowPath> {
        self.paths.iter().map(|(_, path)| path)
    }

    /// The kept paths, slowest first.
    pub fn into_vec(self) -> Vec<SlowPath> {
        self.paths.into_iter().map(|(_, path)| path).collect()
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// True if none is kept.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }
}

/// [`PathRecord::key`] without its copy of the name.
fn is_same_path(a: &PathRecord, b: &PathRecord) -> bool {
    a.origin == b.origin
        && a.via == b.via
        && a.cgroup == b.cgroup
        && (a.cgroup.is_some() || a.target.comm == b.target.comm)
        && a.target.scheduling() == b.target.scheduling()
}
