// SPDX-License-Identifier: GPL-2.0-or-later
//! A copy of the rings as a source: it delivers what a live one would have delivered, in order of
//! time, and statistics of just that.

use std::collections::BTreeSet;
use std::time::Duration;

use irqpath_model::record::KernelStack;
use irqpath_model::{Event, Loss, LossReason, Missing, Snapshot};

use super::super::decode;
use super::copy::Copy;
use crate::tally::{LineTally, PathTally};
use crate::{Source, SourceError};

/// Paths and chunks of one look.
const BATCH: usize = 64;

/// The rings at one moment.
pub struct Frozen {
    copy: Copy,
    from_ns: u64,
    until_ns: u64,
    /// What is delivered, in order of time, and how much has been.
    order: Vec<(u64, Item)>,
    next: usize,
    paths: PathTally,
    lines: LineTally,
    /// Of what the kernel lost meanwhile the caller knows.
    loss: Loss,
    missing: Vec<Missing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Chunk(u32),
    Nmi(u32),
    Path(u32),
}

impl Frozen {
    pub(super) fn new(copy: Copy, from_ns: u64, until_ns: u64, missing: Vec<Missing>) -> Self {
        let chunks = copy.chunks.iter().enumerate().map(|(at, chunk)| {
            let newest = chunk.e.iter().map(|e| e.ns).max().unwrap_or(0);
            (newest.max(chunk.begin_ns), Item::Chunk(at as u32))
        });
        let nmis = copy.nmis.iter().enumerate();
        let nmis = nmis.map(|(at, nmi)| (nmi.ns, Item::Nmi(at as u32)));
        let paths = copy.paths.iter().enumerate().map(|(at, kept)| {
            let end_ns = kept.r.chain.ns.iter().copied().max().unwrap_or(0);
            (end_ns, Item::Path(at as u32))
        });
        let mut order: Vec<(u64, Item)> = chunks.chain(nmis).chain(paths).collect();
        order.sort_unstable();
        let mut loss = Loss::default();
        loss.add_loss(LossReason::OccupancyOverrun, copy.nr_overwritten);
        Self {
            copy,
            from_ns,
            until_ns,
            order,
            next: 0,
            paths: PathTally::default(),
            lines: LineTally::default(),
            loss,
            missing,
        }
    }

    /// Whose statistics and losses were, and can be again.
    pub(super) fn into_copy(self) -> Copy {
        self.copy
    }

    /// When what it holds of every CPU begins: later than was asked for if the memory was too small
    /// for so much.
    pub fn begins_ns(&self) -> u64 {
        let short = self.copy.short.iter().map(|&(_, ns)| ns).max();
        short.map_or(self.from_ns, |ns| ns.max(self.from_ns))
    }

    /// When it ends.
    pub fn ends_ns(&self) -> u64 {
        self.until_ns
    }

    /// Bytes of the rings that it holds.
    pub fn nr_bytes(&self) -> u64 {
        Copy::bytes_for(self.copy.chunks.len(), self.copy.paths.len())
    }

    /// The stacks of who blocked a path, in order of time; frames are addresses.
    pub fn stacks(&self) -> Vec<KernelStack> {
        let mut stacks: Vec<KernelStack> =
            self.copy.stacks.iter().map(|(cpu, stack)| decode::decode_stack(*cpu, stack)).collect();
        stacks.retain(|stack| stack.until_ns <= self.until_ns);
        stacks.sort_by_key(|stack| (stack.until_ns, stack.cpu));
        stacks
    }

    /// The callbacks of timers in its paths.
    pub fn timer_callbacks(&self) -> BTreeSet<u64> {
        let all = self.copy.paths.iter().map(|kept| kept.r.chain.timer_fn);
        all.filter(|&callback| callback != 0).collect()
    }

    /// What the kernel lost in that time.
    pub fn add_loss(&mut self, loss: &Loss) {
        for (&reason, &n) in &loss.0 {
            self.loss.add_loss(reason, n);
        }
    }

    fn take_item(&mut self, item: Item) -> Option<Event> {
        match item {
            Item::Chunk(at) => {
                let block = decode::decode_chunk(self.copy.chunks.get(at as usize)?, self.until_ns);
                self.lines.add_block(&block);
                (!block.is_empty()).then_some(Event::Occupancy(block))
            }
            Item::Nmi(at) => Some(Event::Occupancy(vec![self.copy.nmis.get(at as usize)?.clone()])),
            Item::Path(at) => {
                let record = decode::decode_path(&self.copy.paths.get(at as usize)?.r)?;
                if record.last().is_none_or(|last| last.ns > self.until_ns) {
                    return None;
                }
                self.paths.add_record(&record);
                Some(Event::Path(Box::new(record)))
            }
        }
    }
}

impl Source for Frozen {
    /// The next part; it never waits.
    fn poll_events(&mut self, _timeout: Duration) -> Result<Vec<Event>, SourceError> {
        let end = (self.next + BATCH).min(self.order.len());
        let items: Vec<Item> = self.order[self.next..end].iter().map(|&(_, item)| item).collect();
        self.next = end;
        Ok(items.into_iter().filter_map(|item| self.take_item(item)).collect())
    }

    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        let mut loss = self.loss.clone();
        self.paths.add_loss(&mut loss);
        Ok(Snapshot {
            ns: self.until_ns,
            paths: self.paths.stats(),
            lines: self.lines.lines(),
            softirqs: self.lines.softirqs(),
            loss,
            missing: self.missing.clone(),
            ..Snapshot::default()
        })
    }

    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        let mut events = Vec::new();
        while !self.is_exhausted() {
            events.extend(self.poll_events(Duration::ZERO)?);
        }
        Ok((events, self.take_snapshot()?))
    }

    fn is_exhausted(&self) -> bool {
        self.next >= self.order.len()
    }
}
