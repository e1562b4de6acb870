// SPDX-License-Identifier: GPL-2.0-or-later
//! The timelines of all CPUs.

use std::collections::BTreeMap;

use irqpath_model::{CpuWait, Occupancy};

use super::{Frame, Segment, Timeline};

/// One timeline per CPU that was heard of.
#[derive(Debug, Default)]
pub struct Timelines {
    cpus: BTreeMap<u16, Timeline>,
    len: usize,
    /// Until when transitions were forgotten to keep the bound, ns, by CPU.
    forgotten: BTreeMap<u16, u64>,
}

impl Timelines {
    /// Starts with no CPU; the first transition of each adds its timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take over a block of transitions, of one CPU or of several.
    pub fn ingest_block(&mut self, block: Vec<Occupancy>) {
        let mut block = block.into_iter().peekable();
        while let Some(cpu) = block.peek().map(|o| o.cpu) {
            let timeline = self.cpus.entry(cpu).or_default();
            let before = timeline.len();
            timeline.ingest_block(std::iter::from_fn(|| block.next_if(|o| o.cpu == cpu)));
            self.len = self.len + timeline.len() - before;
        }
    }

    /// The timeline of one CPU.
    pub fn cpu(&self, cpu: u16) -> Option<&Timeline> {
        self.cpus.get(&cpu)
    }

    /// As [`Timeline::segments`]; a CPU never heard of is one unknown segment.
    pub fn segments(&self, cpu: u16, start_ns: u64, end_ns: u64, open_since: u64) -> Vec<Segment> {
        match self.cpus.get(&cpu) {
            Some(timeline) => timeline.segments(start_ns, end_ns, open_since),
            None if start_ns < end_ns => {
                vec![Segment { start_ns, end_ns, over: None, frame: Frame::default() }]
            }
            None => Vec::new(),
        }
    }

    /// The segments of a wait; those of an unknown CPU are unknown.
    pub fn segments_of(&self, wait: &CpuWait, open_since: u64) -> Vec<Segment> {
        let CpuWait { cpu, start_ns, end_ns } = *wait;
        match cpu {
            Some(cpu) => self.segments(cpu, start_ns, end_ns, open_since),
            None => vec![Segment { start_ns, end_ns, over: None, frame: Frame::default() }],
        }
    }

    /// As [`Timeline::frame_at`]; `None`, too, for a CPU never heard of.
    pub fn frame_at(&self, cpu: u16, ns: u64) -> Option<Frame> {
        self.cpus.get(&cpu)?.frame_at(ns)
    }

    /// As [`Timeline::covers_window`]; false for a CPU never heard of.
    pub fn covers_window(&self, cpu: u16, start_ns: u64, end_ns: u64) -> bool {
        self.cpus.get(&cpu).is_some_and(|t| t.covers_window(start_ns, end_ns))
    }

    /// True if a part of the wait was forgotten to keep the bound of [`Timelines::shrink_to`].
    pub fn has_forgotten(&self, wait: &CpuWait) -> bool {
        let until = wait.cpu.and_then(|cpu| self.forgotten.get(&cpu));
        until.is_some_and(|until| wait.start_ns < *until)
    }

    /// As [`Timeline::prune_before`], on every CPU.
    pub fn prune_before(&mut self, before_ns: u64) {
        for timeline in self.cpus.values_mut() {
            timeline.prune_before(before_ns);
        }
        self.len = self.cpus.values().map(Timeline::len).sum();
    }

    /// Forget the oldest transitions of the CPUs that have most, until at most `max` are left.
    /// Returns how many were forgotten.
    pub fn shrink_to(&mut self, max: usize) -> u64 {
        let before = self.len;
        while self.len > max {
            let Some((cpu, longest)) = self.cpus.iter_mut().max_by_key(|(_, t)| t.len()) else {
                break;
            };
            let nr = (self.len - max).max(longest.len() / 4).min(longest.len());
            longest.drop_front(nr);
            self.forgotten.insert(*cpu, longest.begin_ns());
            self.len -= nr;
        }
        (before - self.len) as u64
    }

    /// Transitions kept on all CPUs, NMIs aside.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no transition is kept.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
