// SPDX-License-Identifier: GPL-2.0-or-later
//! What one benchmark left behind: its parameters, and the checkpoints of every run.
//!
//! Kept in columns: fifty thousand runs of ten checkpoints and five clocks are 20 MB here, and
//! would be ten times that as a list per run.

use std::collections::{BTreeMap, HashMap};

use super::{BenchConfig, Clock, ClockRate};
use crate::InterruptCounts;

/// Name of the checkpoint in the interrupt handler.
pub const TOP_HALF: &str = "top_half";
/// Name of the checkpoint in the deferred function.
pub const BOTTOM_HALF: &str = "bottom_half";

/// Checkpoints that found no room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct BenchOverflow {
    /// Runs with more checkpoints than the capacity.
    pub nr_runs: u64,
    /// Checkpoints that were not stored.
    pub nr_checkpoints: u64,
}

/// Everything that one benchmark left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchCapture {
    /// The parameters that the module ran with.
    pub config: BenchConfig,
    /// The checkpoints of every run, with their stamps.
    pub runs: Runs,
    /// Rates that whoever made the capture knew.
    pub rates: BTreeMap<Clock, ClockRate>,
    /// What found no room; `None` if the module did not say.
    pub overflow: Option<BenchOverflow>,
    /// Ticks of the finest clock that one checkpoint takes, if the module said so.
    pub checkpoint_cost_ticks: Option<u64>,
    /// Interrupt counts before the benchmark, if they were kept.
    pub before: Option<InterruptCounts>,
    /// The same after it.
    pub after: Option<InterruptCounts>,
}

/// Columns that do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunsError {
    /// A clock with more or fewer stamps than there are checkpoints.
    #[error("clock {clock} has {stamps} stamps for {checkpoints} checkpoints")]
    Length {
        /// The clock whose stamps do not fit.
        clock: Clock,
        /// How many stamps the clock has.
        stamps: usize,
        /// The checkpoints of every run, with their stamps.
        checkpoints: usize,
    },
    /// More different checkpoint names than any kernel has tracepoints.
    #[error("more than 65536 different checkpoint names")]
    Names,
}

/// The checkpoints of all runs of a benchmark, in the order in which they were met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    names: Vec<String>,
    numbers: HashMap<String, u16>,
    /// Per checkpoint, an index into `names`.
    name_of: Vec<u16>,
    /// Per run, where its checkpoints end.
    ends: Vec<usize>,
    stamps: BTreeMap<Clock, Vec<u64>>,
}

impl Runs {
    /// Add a run by the names of its checkpoints; all runs come before the first clock.
    pub fn push<'a>(
        &mut self,
        checkpoints: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), RunsError> {
        for name in checkpoints {
            let number = self.name_number(name)?;
            self.name_of.push(number);
        }
        self.ends.push(self.name_of.len());
        Ok(())
    }

    fn name_number(&mut self, name: &str) -> Result<u16, RunsError> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        let number = u16::try_from(self.names.len()).map_err(|_| RunsError::Names)?;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    /// Add a clock: one stamp, in its ticks, for every checkpoint.
    pub fn set_clock(&mut self, clock: Clock, ticks: Vec<u64>) -> Result<(), RunsError> {
        if ticks.len() != self.name_of.len() {
            let (stamps, checkpoints) = (ticks.len(), self.name_of.len());
            return Err(RunsError::Length { clock, stamps, checkpoints });
        }
        self.stamps.insert(clock, ticks);
        Ok(())
    }

    /// Number of runs, complete or not.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of checkpoints of a run; 0 beyond the last run.
    pub fn nr_checkpoints(&self, run: usize) -> usize {
        self.stamp_range(run).len()
    }

    /// The clocks, the finest first.
    pub fn clocks(&self) -> impl Iterator<Item = Clock> + '_ {
        self.stamps.keys().copied()
    }

    /// Every checkpoint name that occurs; [`Run`] refers to them by index.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The index of a name.
    pub fn name_index(&self, name: &str) -> Option<u16> {
        self.numbers.get(name).copied()
    }

    fn stamp_range(&self, run: usize) -> std::ops::Range<usize> {
        let Some(&end) = self.ends.get(run) else { return 0..0 };
        let start = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..end
    }

    /// All runs by one clock, in order; none if that clock was not recorded.
    pub fn by_clock(&self, clock: Clock) -> Option<impl Iterator<Item = Run<'_>> + '_> {
        let ticks = self.stamps.get(&clock)?;
        Some((0..self.len()).map(move |run| {
            let range = self.stamp_range(run);
            Run { names: &self.name_of[range.clone()], ticks: &ticks[range] }
        }))
    }
}

/// One run by one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a> {
    /// Per checkpoint, the index of its name.
    pub names: &'a [u16],
    /// Per checkpoint, its stamp in ticks.
    pub ticks: &'a [u64],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_as_they_were_pushed() {
        let mut runs = Runs::default();
        runs.push([TOP_HALF, BOTTOM_HALF]).unwrap();
        runs.push([]).unwrap();
        runs.push([TOP_HALF, "softirq_entry", BOTTOM_HALF]).unwrap();
        assert_eq!(
            runs.set_clock(Clock::Tsc, vec![1, 2]),
            Err(RunsError::Length { clock: Clock::Tsc, stamps: 2, checkpoints: 5 })
        );
        runs.set_clock(Clock::Tsc, vec![1, 2, 3, 4, 5]).unwrap();
        assert!(runs.by_clock(Clock::Ktime).is_none());
        let back: Vec<(Vec<&str>, &[u64])> = runs
            .by_clock(Clock::Tsc)
            .unwrap()
            .map(|r| {
                let names = r.names.iter().map(|&n| runs.names()[usize::from(n)].as_str());
                (names.collect(), r.ticks)
            })
            .collect();
        assert_eq!(back[0], (vec![TOP_HALF, BOTTOM_HALF], &[1, 2][..]));
        assert_eq!(back[1], (vec![], &[][..]));
        assert_eq!(back[2], (vec![TOP_HALF, "softirq_entry", BOTTOM_HALF], &[3, 4, 5][..]));
        assert_eq!((runs.len(), runs.nr_checkpoints(2), runs.nr_checkpoints(3)), (3, 3, 0));
    }
}
