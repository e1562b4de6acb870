// SPDX-License-Identifier: GPL-2.0-or-later
//! What was counted while every program was attached.
//!
//! Attaching and detaching patch the kernel's code, which interrupts every CPU some hundred times.
//! The programs that are attached then count these interrupts, but they are not the machine's own,
//! and the kernel's counts are read after and before them.

use irqpath_model::{LineStats, Snapshot, SoftirqStats};
use libbpf_rs::Result;

use super::skel::IrqpathSkel;
use super::stats;

/// The counts of lines and softirqs at both ends. Maxima have no beginning, and are left alone.
pub struct Window {
    start: Snapshot,
    end: Option<Snapshot>,
}

impl Window {
    /// Opens the window with the counts of now.
    pub fn open(skel: &IrqpathSkel<'_>) -> Result<Self> {
        Ok(Self { start: stats::read_counts(skel)?, end: None })
    }

    /// It ends now, unless it has ended before.
    pub fn close(&mut self, skel: &IrqpathSkel<'_>) -> Result<()> {
        if self.end.is_none() {
            self.end = Some(stats::read_counts(skel)?);
        }
        Ok(())
    }

    /// Leave of the counts of a snapshot what lies within.
    pub fn cut_snapshot(&self, snapshot: &mut Snapshot) {
        if let Some(end) = &self.end {
            snapshot.lines.clone_from(&end.lines);
            snapshot.softirqs.clone_from(&end.softirqs);
        }
        for line in &mut snapshot.lines {
            let same = |l: &&LineStats| (l.origin, l.cpu) == (line.origin, line.cpu);
            if let Some(before) = self.start.lines.iter().find(same) {
                line.nr -= before.nr.min(line.nr);
                line.run_ns -= before.run_ns.min(line.run_ns);
            }
        }
        for softirq in &mut snapshot.softirqs {
            let same = |s: &&SoftirqStats| (s.vec, s.cpu) == (softirq.vec, softirq.cpu);
            if let Some(before) = self.start.softirqs.iter().find(same) {
                softirq.nr -= before.nr.min(softirq.nr);
                softirq.run_ns -= before.run_ns.min(softirq.run_ns);
                softirq.delay_ns -= before.delay_ns.min(softirq.delay_ns);
            }
        }
        snapshot.lines.retain(|line| line.nr > 0);
        snapshot.softirqs.retain(|softirq| softirq.nr > 0);
    }
}
