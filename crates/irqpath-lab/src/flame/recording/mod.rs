// SPDX-License-Identifier: GPL-2.0-or-later
//! The file that the QEMU plugin leaves, written by `lab/plugin/output.c`.
//!
//! Little endian; `n` is an unsigned LEB128 number, `b` a byte, `w` eight bytes. In order:
//!
//! ```text
//! "IRQFLAME"  b format = 1  b processor (1 x86-64, 2 arm64)
//! n counters, then each n                         see `Stats`
//! n chains, each: b kind, unless kind <= 1: n parent, n address
//! n blocks, each: n address, n instructions, then for each of them b size
//! n paths, each:
//!     b from  b to  n restarted  b under way
//!     n routes, each: w w digest, n charges, each: n chain n block n first n count n times
//!     n instances, each: n length  n route  n epoch  b idle
//! w FNV-1a of everything before
//! ```
//!
//! A chain's parent stands before it. Nothing is believed: a damaged file is an error, never a
//! panic and never a wrong profile.

mod parse;

use std::collections::HashSet;
use std::path::Path;

use super::{FlameError, PathMarks};

use crate::own;

/// Of every x86-64 processor, and of most for arm64, bytes.
const CACHE_LINE: u64 = 64;

/// What the plugin saw on the way; for judging a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Interrupts and exceptions that came in the kernel.
    pub interrupts: u64,
    /// System calls, and interrupts that came in user space.
    pub entries: u64,
    /// Instructions that did not complete because of an exception, and are not counted.
    pub faulted: u64,
    /// Instructions that QEMU started twice, counted once.
    pub repeated: u64,
    /// Blocks that QEMU left after an instruction with I/O and continued.
    pub resumed: u64,
    /// Exceptions whose entry does not look like the kernel's.
    pub unshaped: u64,
    /// Returns that went elsewhere than their call said (first run of a task).
    pub mismatched: u64,
    /// Returns whose call was not seen (retpolines return without having been called).
    pub unmatched: u64,
    /// Returns from interrupts whose entry was not seen; the chain starts anew as unknown.
    pub lost: u64,
}

/// A call chain: its parent and one more step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    /// What lies above was not seen.
    Unknown,
    /// Everything below it was executed in user space.
    User,
    /// A call; `address` is where it returns to.
    Call { parent: u32, address: u64 },
    /// An interrupt or exception; `address` is what it interrupted, 0 if that is not known.
    Interrupt { parent: u32, address: u64 },
    /// Entry of a system call at this address of the kernel.
    Syscall { parent: u32, address: u64 },
}

/// A block of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) sizes: Vec<u8>,
}

/// Instructions `first..first + count` of a block, run `times` times by a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) node: u32,
    pub(super) block: u32,
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) times: u64,
}

/// Instances in which the same instructions ran in the same chains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Depends on addresses and counts only: equal in two runs of the same guest.
    pub digest: (u64, u64),
    pub(super) charges: Vec<Charge>,
}

impl Route {
    /// In instructions of the virtual CPU.
    pub fn length(&self) -> u64 {
        self.charges.iter().map(|charge| u64::from(charge.count) * charge.times).sum()
    }
}

/// One run of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance {
    /// In instructions of the virtual CPU.
    pub length: u64,
    /// Its route, index into [`PathRecording::routes`].
    pub route: usize,
    /// How many workloads (mark 16) had begun before.
    pub epoch: u16,
    /// The processor halted on the way, so more time passed than instructions were executed.
    pub idle: bool,
}

/// One path: all its instances in order, and their routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRecording {
    /// From where to where.
    pub marks: PathMarks,
    /// Instances that never ended because the first mark came again.
    pub restarted: u64,
    /// True if the guest ended on the way.
    pub under_way: bool,
    /// In the order in which they ended.
    pub instances: Vec<Instance>,
    /// In the order in which they were first seen.
    pub routes: Vec<Route>,
}

/// Instances beside what the guest measured of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Instances whose length is what was measured.
    pub exact: usize,
    /// Instances on whose way the processor halted, and that took no less time than instructions.
    pub idle: usize,
    /// Others: index, instructions, measured. Must be empty.
    pub differing: Vec<(usize, u64, u64)>,
    /// Instances without a measurement, or measurements without an instance.
    pub unpaired: usize,
}

impl Comparison {
    /// Instances that are as long as they were measured to be.
    pub const fn nr_same(&self) -> usize {
        self.exact + self.idle
    }

    /// Those that are not, or that have nothing to be compared with.
    pub const fn nr_other(&self) -> usize {
        self.differing.len() + self.unpaired
    }
}

impl PathRecording {
    /// Compare the instances with what the guest measured itself, by stamps that count
    /// instructions (TSC in exact mode), in the same order.
    pub fn compare_lengths(&self, measured: &[u64]) -> Comparison {
        let unpaired = self.instances.len().abs_diff(measured.len());
        let mut found = Comparison { unpaired, ..Comparison::default() };
        for (at, (instance, &time)) in self.instances.iter().zip(measured).enumerate() {
            if instance.length == time {
                found.exact += 1;
            } else if instance.idle && instance.length < time {
                found.idle += 1;
            } else {
                found.differing.push((at, instance.length, time));
            }
        }
        found
    }

    /// Index of the instance at this quantile of the lengths (0 shortest, 0.5 median, 1 longest);
    /// of several with the same length one of the most frequent route. `None` without instances.
    pub fn quantile_index(&self, q: f64) -> Option<usize> {
        let mut order: Vec<usize> = (0..self.instances.len()).collect();
        order.sort_by_key(|&at| (self.instances[at].length, at));
        let rank = (q.clamp(0.0, 1.0) * order.len().checked_sub(1)? as f64).floor() as usize;
        let length = self.instances[order[rank]].length;
        let same = order.iter().filter(|&&at| self.instances[at].length == length);
        let mut runs = vec![0usize; self.routes.len()];
        same.clone().for_each(|&at| runs[self.instances[at].route] += 1);
        same.copied().min_by_key(|&at| (std::cmp::Reverse(runs[self.instances[at].route]), at))
    }

    /// The route of an instance.
    pub fn route_of(&self, instance: usize) -> Option<&Route> {
        self.instances.get(instance).map(|instance| &self.routes[instance.route])
    }
}

/// Everything the plugin recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub stats: Stats,
    /// The paths that were asked for, in that order.
    pub paths: Vec<PathRecording>,
    pub(super) nodes: Vec<Node>,
    pub(super) blocks: Vec<Block>,
}

impl Recording {
    /// Read a recording.
    ///
    /// # Errors
    /// [`FlameError::Read`] if there is none: QEMU was killed before it could end.
    pub fn read(path: &Path) -> Result<Self, FlameError> {
        let bytes = own::read(path);
        Self::parse(&bytes.map_err(|source| FlameError::Read { path: path.to_owned(), source })?)
    }

    /// Parse a recording.
    ///
    /// # Errors
    /// [`FlameError::Recording`] or [`FlameError::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, FlameError> {
        parse::parse_recording(bytes)
    }

    /// How many different cache lines the instructions of a route lie in: what a path without a warm
    /// cache fetches, at least. Data are not counted.
    pub fn count_code_lines(&self, route: &Route) -> u64 {
        let mut lines = HashSet::new();
        for charge in route.charges.iter().filter(|charge| charge.times > 0) {
            let block = &self.blocks[charge.block as usize];
            let (first, end) = (charge.first as usize, (charge.first + charge.count) as usize);
            let mut address = block.address;
            for (at, size) in block.sizes.iter().enumerate() {
                let last = address.wrapping_add(u64::from(size.saturating_sub(1)));
                if (first..end).contains(&at) {
                    lines.extend([address / CACHE_LINE, last / CACHE_LINE]);
                }
                address = address.wrapping_add(u64::from(*size));
            }
        }
        lines.len() as u64
    }

    /// The path between these marks, if it was asked for.
    pub fn find_path(&self, marks: PathMarks) -> Option<&PathRecording> {
        self.paths.iter().find(|path| path.marks == marks)
    }
}
