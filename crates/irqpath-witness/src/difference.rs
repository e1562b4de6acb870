// SPDX-License-Identifier: GPL-2.0-or-later
//! How irqpath and the record differ, by kind.

use std::collections::BTreeMap;
use std::fmt;

use irqpath_model::{PathRecord, Via};

/// Kinds of differences, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// No interrupt woke this task then.
    NoSuchWakeup,
    /// irqpath names another interrupt than the one that caused the wakeup.
    WrongOrigin,
    /// The wakeup was joined with a later switch: the real one was not traced.
    UnseenSwitchIn,
    /// The wakeup was joined with another switch.
    WrongSwitchIn,
    /// A cause ran on a CPU that the path did not wait for.
    WrongCpu,
    /// Stolen time has another name.
    Steal,
    /// A task is said to have run while nothing was traced, and after it.
    UnseenCause,
    /// More is said to be unknown than is.
    Unexplained,
    /// A cause has more time than it took, for another reason.
    Cause,
    /// A cause has some more time, its neighbour less: the clock was read at two moments.
    Boundary,
    /// The whole path is longer or shorter.
    Duration,
    /// One stamp is at another time.
    Time,
    /// One stamp is at another time, between the readings of the recorders before and after irqpath:
    /// the CPU did something else, or stood still, in between.
    Enclosed,
    /// irqpath stamped other points than the chain passed.
    Points,
    /// It went through something else.
    Via,
    /// The path ended differently: exited, woken again, or not seen.
    End,
    /// The record cannot tell, as something was not traced.
    Unsure,
}

impl Kind {
    /// True where two things were joined that do not belong together.
    pub fn is_false_join(self) -> bool {
        self <= Self::WrongSwitchIn
    }

    /// True where nothing wrong is claimed: the clock was read at another moment, irqpath says that
    /// it does not know, or the record cannot tell.
    pub fn is_harmless(self) -> bool {
        use Kind::{Boundary, Duration, Enclosed, Time, Unexplained, Unsure};
        matches!(self, Boundary | Duration | Enclosed | Time | Unexplained | Unsure)
    }
}

/// A path, and in what irqpath's account of it differs from the record.
#[derive(Debug, Clone)]
pub struct Difference {
    pub kind: Kind,
    /// By how much, where that can be said.
    pub ns: u64,
    /// The path, and what the record has.
    pub text: String,
}

impl Difference {
    pub(crate) fn new(kind: Kind, record: &PathRecord, ns: u64, text: &str) -> Self {
        let path = format!(
            "{:?} {} -> {}:{} {:?} {} ns from {}: {text}",
            record.origin,
            record.via.describe(),
            record.target.comm,
            record.target.tid,
            record.end,
            record.total_ns(),
            record.first().map_or(0, |stamp| stamp.ns),
        );
        Self { kind, ns, text: path }
    }
}

/// All differences of many paths.
#[derive(Debug, Default)]
pub struct Differences {
    /// Paths that were compared.
    pub nr_paths: u64,
    /// Paths that lay outside of the record.
    pub nr_outside: u64,
    /// Paths that were compared, by [`Via::describe`]: what carried them.
    pub by_via: BTreeMap<String, u64>,
    /// By kind, in the order in which they were found.
    pub by_kind: BTreeMap<Kind, Vec<Difference>>,
}

impl Differences {
    /// Add what [`crate::Judge::judge_path`] said of one path, which went this way.
    pub fn add_found(&mut self, via: Via, found: Option<Vec<Difference>>) {
        let Some(found) = found else {
            self.nr_outside += 1;
            return;
        };
        self.nr_paths += 1;
        *self.by_via.entry(via.describe()).or_default() += 1;
        for difference in found {
            self.by_kind.entry(difference.kind).or_default().push(difference);
        }
    }

    /// How many there are of a kind.
    pub fn nr_of(&self, kind: Kind) -> u64 {
        self.by_kind.get(&kind).map_or(0, |of| of.len() as u64)
    }

    /// Paths that join what does not belong together.
    pub fn nr_false_joins(&self) -> u64 {
        self.by_kind
            .iter()
            .filter(|(kind, _)| kind.is_false_join())
            .map(|(_, of)| of.len() as u64)
            .sum()
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} paths compared, {} outside of the record", self.nr_paths, self.nr_outside)?;
        for (via, nr) in &self.by_via {
            writeln!(f, "  {nr} via {via}")?;
        }
        for (kind, of) in &self.by_kind {
            let mut largest: Vec<&Difference> = of.iter().collect();
            largest.sort_by_key(|difference| std::cmp::Reverse(difference.ns));
            writeln!(f, "{kind:?}: {}", of.len())?;
            let shown = if kind.is_harmless() { 5 } else { largest.len() };
            for difference in largest.iter().take(shown) {
                writeln!(f, "  {:>9} ns  {}", difference.ns, difference.text)?;
            }
        }
        Ok(())
    }
}
