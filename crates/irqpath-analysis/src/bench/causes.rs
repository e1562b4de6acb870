// SPDX-License-Identifier: GPL-2.0-or-later
//! What delayed runs met between their halves that undelayed ones did not.
//!
//! The *base path* is what undelayed runs meet: of each tracepoint the median count over the
//! runs up to the median latency. A run's cause is what it met beyond that. What every run
//! meets explains no delay, and a tracepoint that is met less often than usual does not either.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use irqpath_model::bench::{
    BOTTOM_HALF, BenchCapture, BenchCause, BenchTail, ClockRate, Latencies, TOP_HALF,
};

use super::events::{combined, is_interrupt, is_nothing};
use super::pairing::{PairedRun, Pairing};

/// What one pattern means.
#[derive(Debug, Clone, Default)]
struct Meaning {
    is_irq: bool,
    /// Indices of names met beyond the base path, and of interrupts.
    beyond: Vec<u16>,
}

/// The causes of a capture.
pub struct Causes<'a> {
    names: &'a [String],
    base: BTreeMap<u16, u32>,
    /// By pattern.
    meanings: Vec<Meaning>,
    sees_work: bool,
    sees_interrupts: bool,
}

impl<'a> Causes<'a> {
    /// Find the base path, and what each pattern is beyond it.
    pub fn new(capture: &'a BenchCapture, pairing: &Pairing) -> Self {
        let names = capture.runs.names();
        let hooked = || names.iter().chain(&capture.config.tracepoints).map(String::as_str);
        let mut this = Self {
            names,
            base: base(names, pairing),
            meanings: Vec::new(),
            sees_work: hooked().any(|n| !is_nothing(n) && !is_interrupt(n) && n != BOTTOM_HALF),
            sees_interrupts: hooked().any(|n| is_interrupt(n) && n != TOP_HALF),
        };
        let own = capture.config.mechanism.own_interrupts();
        this.meanings = pairing.patterns.iter().map(|p| this.meaning(p, own)).collect();
        this
    }

    fn name(&self, index: u16) -> &'a str {
        &self.names[usize::from(index)]
    }

    fn meaning(&self, pattern: &[(u16, u32)], own: &[&str]) -> Meaning {
        let mut meaning = Meaning::default();
        for &(index, count) in pattern {
            let name = self.name(index);
            let usual = self.base.get(&index).copied().unwrap_or(0);
            let is_irq = is_interrupt(name) && (count > usual || !own.contains(&name));
            meaning.is_irq |= is_irq;
            if is_irq || (count > usual && !is_nothing(name)) {
                meaning.beyond.push(index);
            }
        }
        meaning
    }

    /// True if a tracepoint was hooked that shows more than interrupts.
    pub fn sees_work(&self) -> bool {
        self.sees_work
    }

    /// True if a tracepoint was hooked that shows interrupts.
    pub fn sees_interrupts(&self) -> bool {
        self.sees_interrupts
    }

    /// True if an interrupt came between the halves of a run.
    pub fn is_interrupted(&self, run: &PairedRun) -> bool {
        run.is_late || self.meanings[run.pattern].is_irq
    }

    /// The base path: each tracepoint as often as undelayed runs meet it.
    pub fn base_path(&self) -> Vec<String> {
        let repeated = |(&index, &count): (&u16, &u32)| {
            std::iter::repeat_n(self.name(index).to_owned(), count as usize)
        };
        self.base.iter().flat_map(repeated).collect()
    }

    /// All runs by their cause, the most frequent first; none if only interrupts were hooked.
    pub fn groups(&self, pairing: &Pairing, rate: ClockRate, q95_ns: u64) -> Vec<BenchCause> {
        let mut groups: HashMap<(BTreeSet<&str>, bool), Latencies> = HashMap::new();
        let runs = pairing.runs.iter().filter(|_| self.sees_work);
        for run in runs {
            let beyond = &self.meanings[run.pattern].beyond;
            let key = beyond.iter().map(|&index| self.name(index)).collect();
            let group = groups.entry((key, self.is_interrupted(run))).or_default();
            group.record(rate.ns(run.ticks));
        }
        let cause =
            |((tracepoints, is_irq), latencies): ((BTreeSet<&str>, bool), Latencies)| BenchCause {
                label: combined(tracepoints.iter().copied()),
                tracepoints: tracepoints.into_iter().map(str::to_owned).collect(),
                is_irq,
                quantiles: latencies.quantiles(),
                nr_over_q95: latencies.nr_over(q95_ns),
                latencies,
            };
        let mut causes: Vec<BenchCause> = groups.into_iter().map(cause).collect();
        causes.sort_by(|a, b| {
            let key = |c: &BenchCause| (std::cmp::Reverse(c.quantiles.n), c.tracepoints.clone());
            key(a).cmp(&key(b))
        });
        causes
    }
}

/// How many runs over Q95 have a cause.
pub fn tail(groups: &[BenchCause]) -> BenchTail {
    let over = |named: bool| {
        let counted = groups.iter().filter(|g| !named || !g.tracepoints.is_empty());
        counted.map(|g| g.nr_over_q95).sum()
    };
    BenchTail { nr_over_q95: over(false), nr_explained: over(true) }
}

fn base(names: &[String], pairing: &Pairing) -> BTreeMap<u16, u32> {
    let mut ticks: Vec<u64> = pairing.runs.iter().map(|r| r.ticks).collect();
    ticks.sort_unstable();
    let Some(&median) = ticks.get(ticks.len().saturating_sub(1) / 2) else {
        return BTreeMap::new();
    };
    // Runs by pattern, so that only patterns are looked at for each name.
    let mut nr_of_pattern = vec![0usize; pairing.patterns.len()];
    for run in pairing.runs.iter().filter(|r| r.ticks <= median) {
        nr_of_pattern[run.pattern] += 1;
    }
    let nr_undelayed: usize = nr_of_pattern.iter().sum();
    let mut counts: BTreeMap<u16, Vec<(u32, usize)>> = BTreeMap::new();
    for (pattern, &nr) in pairing.patterns.iter().zip(&nr_of_pattern) {
        for &(index, count) in pattern {
            counts.entry(index).or_default().push((count, nr));
        }
    }
    let usual = |(index, mut counts): (u16, Vec<(u32, usize)>)| {
        // The largest count that at least half of the undelayed runs reach.
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let mut reached = 0;
        let usual = counts.into_iter().find_map(|(count, nr)| {
            reached += nr;
            (reached * 2 > nr_undelayed).then_some(count)
        });
        usual.map(|count| (index, count))
    };
    counts
        .into_iter()
        .filter(|(index, _)| !is_nothing(&names[usize::from(*index)]))
        .filter_map(usual)
        .collect()
}
