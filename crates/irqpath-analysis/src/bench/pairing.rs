// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds the two halves of every run, and the checkpoints between them.
//!
//! A bottom half may come after the next run has begun: a work item that waits for its thread
//! under load. Its checkpoint then stands in a later line of the capture. Mechanisms do not
//! queue: one bottom half serves all top halves before it, so it ends every run that is open.

use std::collections::HashMap;

use irqpath_model::bench::{BOTTOM_HALF, BenchCapture, Clock, Run, TOP_HALF};

use super::BenchError;

/// A run with both of its halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairedRun {
    /// From top to bottom half.
    pub ticks: u64,
    /// What was between them: an index into [`Pairing::patterns`].
    pub pattern: usize,
    /// The line of the capture that has its top half.
    pub line: usize,
    /// The next run had begun before.
    pub is_late: bool,
}

/// How often each checkpoint was met between the halves: `(index of the name, count)`, sorted.
pub type Pattern = Vec<(u16, u32)>;

/// All runs of a capture.
#[derive(Debug, Default)]
pub struct Pairing {
    /// Runs with both halves, in the order of their bottom halves.
    pub runs: Vec<PairedRun>,
    /// What was met; few runs differ.
    pub patterns: Vec<Pattern>,
    /// Runs without one of their halves.
    pub nr_incomplete: u64,
    /// Runs whose bottom half is stamped before the top half.
    pub nr_backwards: u64,
    numbers: HashMap<Pattern, usize>,
}

/// A run whose bottom half was not met yet.
struct Open {
    line: usize,
    ticks: u64,
    between: Vec<u16>,
}

impl Pairing {
    /// Pair the halves by the stamps of `clock`.
    pub fn new(capture: &BenchCapture, clock: Clock) -> Result<Self, BenchError> {
        let runs = &capture.runs;
        let lines = runs.by_clock(clock).ok_or_else(|| BenchError::NoClock {
            clock,
            recorded: runs.clocks().map(Clock::name).collect::<Vec<_>>().join(" "),
        })?;
        let (top, bottom) = (runs.name_index(TOP_HALF), runs.name_index(BOTTOM_HALF));
        let mut this = Self::default();
        let mut open = Vec::new();
        for (line, run) in lines.enumerate() {
            let began = this.follow_line(line, run, (top, bottom), &mut open);
            this.nr_incomplete += u64::from(!began);
            // In a full line the bottom half may have found no room.
            if run.names.len() as u64 >= capture.config.checkpoint_capacity {
                this.nr_incomplete += open.drain(..).len() as u64;
            }
        }
        this.nr_incomplete += open.len() as u64;
        Ok(this)
    }

    /// Follow one line; true if it has a top half.
    fn follow_line(
        &mut self,
        line: usize,
        run: Run<'_>,
        (top, bottom): (Option<u16>, Option<u16>),
        open: &mut Vec<Open>,
    ) -> bool {
        let mut began = false;
        for (&name, &ticks) in run.names.iter().zip(run.ticks) {
            if Some(name) == bottom {
                for run in open.drain(..) {
                    self.close_run(run, line, ticks);
                }
                continue;
            }
            for run in open.iter_mut() {
                run.between.push(name);
            }
            if Some(name) == top && !began {
                began = true;
                open.push(Open { line, ticks, between: Vec::new() });
            }
        }
        began
    }

    fn close_run(&mut self, open: Open, line: usize, ticks: u64) {
        let Some(ticks) = ticks.checked_sub(open.ticks) else {
            self.nr_backwards += 1;
            return;
        };
        let pattern = self.pattern_number(open.between);
        self.runs.push(PairedRun { ticks, pattern, line: open.line, is_late: line != open.line });
    }

    fn pattern_number(&mut self, mut between: Vec<u16>) -> usize {
        between.sort_unstable();
        let pattern: Pattern =
            between.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect();
        let next = self.patterns.len();
        let number = *self.numbers.entry(pattern.clone()).or_insert(next);
        if number == next {
            self.patterns.push(pattern);
        }
        number
    }
}
