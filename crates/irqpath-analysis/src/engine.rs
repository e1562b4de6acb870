// SPDX-License-Identifier: GPL-2.0-or-later
//! Causes for a stream of events: holds wanted records back until the transitions they need
//! have arrived, attributes them, and forgets what is no longer needed.
//!
//! Neighbours: `wanted.rs` chooses the records, `timeline/` keeps the transitions, `attribute/`
//! finds the causes.
//!
//! Bounds: at most `max_pending` records wait (then the oldest is done with what there is), at
//! most `max_transitions` of 48 bytes are kept on all CPUs together, plus 4096 NMIs and 256
//! tasks per CPU. Finished paths wait for [`Engine::drain`], which should be called with every
//! poll of the source.

use std::collections::VecDeque;

use irqpath_model::{Event, Loss, LossReason, Names, PathRecord, SlowPath};

use crate::{DEFAULT_SLOW, Timelines, Wanted, attribute_path};

/// Windows that a source delivers start a little before the path; what they hold is kept.
const MARGIN_NS: u64 = 10_000_000;

/// Limits and policy of an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// Attribute paths at least this long, ns. New maxima of a path always are.
    pub threshold_ns: Option<u64>,
    /// Of the paths over the threshold, attribute only those among the slowest so many when
    /// they come; `None` means every one.
    pub keep: Option<usize>,
    /// How long a record waits for missing transitions, ns of event time.
    pub settle_ns: u64,
    /// How long transitions are kept for records that have not arrived yet, ns of event time.
    pub keep_ns: u64,
    /// Most records that wait.
    pub max_pending: usize,
    /// Most transitions kept, all CPUs together.
    pub max_transitions: usize,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            threshold_ns: None,
            keep: Some(DEFAULT_SLOW),
            settle_ns: 1_000_000_000,
            keep_ns: 300_000_000,
            max_pending: 4096,
            max_transitions: 1 << 18,
        }
    }
}

#[derive(Debug)]
struct Pending {
    record: PathRecord,
    first_ns: u64,
    last_ns: u64,
}

/// Turns events into slow paths with causes.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    names: Names,
    wanted: Wanted,
    timelines: Timelines,
    pending: VecDeque<Pending>,
    done: Vec<SlowPath>,
    newest_ns: u64,
    nr_cut: u64,
}

impl Engine {
    /// An engine that has seen nothing.
    pub fn new(config: EngineConfig, names: Names) -> Self {
        Self {
            wanted: Wanted::new(config.threshold_ns, config.keep),
            config,
            names,
            timelines: Timelines::new(),
            pending: VecDeque::new(),
            done: Vec::new(),
            newest_ns: 0,
            nr_cut: 0,
        }
    }

    /// Take over one event.
    pub fn push(&mut self, event: Event) {
        match event {
            Event::Path(record) => self.push_record(*record),
            Event::Occupancy(block) => {
                let newest = block.iter().map(|o| o.ns).max().unwrap_or(0);
                self.newest_ns = self.newest_ns.max(newest);
                self.timelines.ingest_block(block);
                self.timelines.shrink_to(self.config.max_transitions);
            }
        }
    }

    fn push_record(&mut self, record: PathRecord) {
        let (Some(first), Some(last)) = (record.first(), record.last()) else { return };
        self.newest_ns = self.newest_ns.max(last.ns);
        if !self.wanted.admit_record(&record) {
            return;
        }
        self.pending.push_back(Pending { record, first_ns: first.ns, last_ns: last.ns });
        if self.pending.len() > self.config.max_pending
            && let Some(oldest) = self.pending.pop_front()
        {
            self.attribute_record(&oldest.record);
        }
    }

    /// Time went on to `now_ns` without events (the time of a snapshot, say).
    pub fn advance(&mut self, now_ns: u64) {
        self.newest_ns = self.newest_ns.max(now_ns);
    }

    /// The paths that are finished since the last call.
    pub fn drain(&mut self) -> Vec<SlowPath> {
        for _ in 0..self.pending.len() {
            let Some(pending) = self.pending.pop_front() else { break };
            if self.is_ready(&pending) {
                self.attribute_record(&pending.record);
            } else {
                self.pending.push_back(pending);
            }
        }
        self.prune_timelines();
        std::mem::take(&mut self.done)
    }

    /// As [`Engine::drain`], but no record waits any longer. For the end of the stream.
    pub fn flush(&mut self) -> Vec<SlowPath> {
        while let Some(pending) = self.pending.pop_front() {
            self.attribute_record(&pending.record);
        }
        self.drain()
    }

    fn is_ready(&self, pending: &Pending) -> bool {
        if self.newest_ns.saturating_sub(pending.last_ns) >= self.config.settle_ns {
            return true;
        }
        let stages = pending.record.stages();
        stages.iter().flat_map(|stage| pending.record.stage_waits(stage)).all(|wait| {
            let covers = |cpu| self.timelines.covers_window(cpu, wait.start_ns, wait.end_ns);
            wait.cpu.is_none_or(covers) || self.timelines.has_forgotten(&wait)
        })
    }

    fn attribute_record(&mut self, record: &PathRecord) {
        let stages = record.stages();
        let waits = stages.iter().flat_map(|stage| record.stage_waits(stage));
        self.nr_cut += waits.filter(|wait| self.timelines.has_forgotten(wait)).count() as u64;
        self.done.push(attribute_path(record, &self.timelines, &self.names));
    }

    fn prune_timelines(&mut self) {
        let needed = self.pending.iter().map(|p| p.first_ns).min().unwrap_or(u64::MAX);
        let kept = self.newest_ns.saturating_sub(self.config.keep_ns);
        self.timelines.prune_before(needed.min(kept).saturating_sub(MARGIN_NS));
    }

    /// Records over the threshold so far, attributed or not.
    pub fn nr_over(&self) -> u64 {
        self.wanted.nr_over()
    }

    /// Records that wait for transitions.
    pub fn nr_pending(&self) -> usize {
        self.pending.len()
    }

    /// Transitions kept in memory now, on all CPUs.
    pub fn nr_transitions(&self) -> usize {
        self.timelines.len()
    }

    /// What the bounds cost: waits of explained paths of which transitions had been forgotten to keep
    /// `max_transitions`. To be added to the source's own loss.
    pub fn loss(&self) -> Loss {
        let mut loss = Loss::default();
        loss.add_loss(LossReason::OccupancyOverrun, self.nr_cut);
        loss
    }
}
