// SPDX-License-Identifier: GPL-2.0-or-later
//! Which stages were slow in a run that met nothing unusual.
//!
//! The checkpoints between the halves cut a run into stages. Code without a checkpoint of its own
//! may take one way or another (load averages that are due, a timer that must be programmed):
//! then a stage takes longer than it does in undelayed runs that met the same checkpoints in the
//! same order. A run is laid to the fewest stages that have at least half of its delay, unless these
//! are more than three: then it was slow all over, and stays unexplained.

use std::collections::HashMap;

use irqpath_model::bench::{BOTTOM_HALF, BenchCapture, Clock, Run, TOP_HALF};

use super::pairing::{PairedRun, Pairing};

/// More slow stages than that explain nothing.
const MAX_STAGES: usize = 3;

/// What a run met between its halves, in order.
type Sequence = Vec<u16>;

/// The checkpoints before and after each slow stage, in order.
pub type SlowStages = Vec<(u16, u16)>;

/// The usual length of every stage, by what was met.
#[derive(Debug, Default)]
pub struct Stages {
    usual: HashMap<Sequence, Vec<u64>>,
    /// The sequence that most undelayed runs have.
    base: Sequence,
    /// By line of the capture.
    slow: HashMap<usize, SlowStages>,
}

/// A run cut into its stages.
struct Cut<'a> {
    names: &'a [u16],
    /// One more than names: from the top half to the bottom half.
    lengths: Vec<u64>,
}

impl Stages {
    /// Find the usual lengths in undelayed runs, and the slow stages of the others.
    pub fn new(
        capture: &BenchCapture,
        pairing: &Pairing,
        clock: Clock,
        is_undelayed: impl Fn(&PairedRun) -> bool,
    ) -> Self {
        let mut this = Self::default();
        let (Some(top), Some(bottom), Some(lines)) = (
            capture.runs.name_index(TOP_HALF),
            capture.runs.name_index(BOTTOM_HALF),
            capture.runs.by_clock(clock),
        ) else {
            return this;
        };
        let lines: Vec<Run<'_>> = lines.collect();
        let runs = |wanted: bool| {
            let on_time = pairing.runs.iter().filter(|r| !r.is_late);
            let runs = on_time.filter(|r| is_undelayed(r) == wanted);
            let cuts = runs.filter_map(|r| Some((r.line, cut_stages(lines[r.line], top, bottom)?)));
            cuts.collect::<Vec<_>>()
        };
        let mut lengths: HashMap<&[u16], Vec<Vec<u64>>> = HashMap::new();
        for (_, cut) in runs(true) {
            lengths.entry(cut.names).or_default().push(cut.lengths);
        }
        let most = lengths.iter().max_by_key(|(names, all)| (all.len(), std::cmp::Reverse(*names)));
        this.base = most.map(|(names, _)| names.to_vec()).unwrap_or_default();
        this.usual =
            lengths.into_iter().map(|(n, all)| (n.to_vec(), column_medians(&all))).collect();
        for (line, cut) in runs(false) {
            if let Some(stages) = this.slow_stages(&cut, top, bottom) {
                this.slow.insert(line, stages);
            }
        }
        this
    }

    /// The checkpoints of most undelayed runs, in order.
    pub fn base(&self) -> &[u16] {
        &self.base
    }

    /// The slow stages of a run, if a few were slow.
    pub fn slow_stages_of(&self, run: &PairedRun) -> &[(u16, u16)] {
        let stages = self.slow.get(&run.line).filter(|_| !run.is_late);
        stages.map_or(&[], Vec::as_slice)
    }

    /// The fewest stages that have half of the delay, neighbours joined; none if these are many.
    fn slow_stages(&self, cut: &Cut<'_>, top: u16, bottom: u16) -> Option<SlowStages> {
        let usual = self.usual.get(cut.names)?;
        let excess = |(length, usual): (&u64, &u64)| i128::from(*length) - i128::from(*usual);
        let mut all: Vec<(i128, usize)> =
            cut.lengths.iter().zip(usual).map(excess).zip(0..).collect();
        let total: i128 = all.iter().map(|(excess, _)| excess).sum();
        if total <= 0 {
            return None;
        }
        all.sort_by_key(|&(excess, at)| (std::cmp::Reverse(excess), at));
        let mut sum = 0;
        let nr = 1 + all.iter().take(MAX_STAGES).position(|(excess, _)| {
            sum += excess;
            sum * 2 >= total
        })?;
        let mut slow: Vec<usize> = all[..nr].iter().map(|(_, at)| *at).collect();
        slow.sort_unstable();
        // Stage n is from checkpoint n to n + 1; the halves are the first and the last.
        let name = |at: usize| match at {
            0 => top,
            at => cut.names.get(at - 1).copied().unwrap_or(bottom),
        };
        let joined = slow.chunk_by(|a, b| a + 1 == *b);
        Some(joined.map(|run| (name(run[0]), name(run[run.len() - 1] + 1))).collect())
    }
}

fn cut_stages(run: Run<'_>, top: u16, bottom: u16) -> Option<Cut<'_>> {
    let first = run.names.iter().position(|&name| name == top)?;
    let last = first + run.names[first..].iter().position(|&name| name == bottom)?;
    let stamps = &run.ticks[first..=last];
    Some(Cut {
        names: &run.names[first + 1..last],
        lengths: stamps.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect(),
    })
}

/// The median of each column: nearest rank.
fn column_medians(rows: &[Vec<u64>]) -> Vec<u64> {
    let nr_columns = rows.first().map_or(0, Vec::len);
    let median = |column: usize| {
        let mut all: Vec<u64> = rows.iter().map(|row| row[column]).collect();
        all.sort_unstable();
        all[(all.len() - 1) / 2]
    };
    (0..nr_columns).map(median).collect()
}
