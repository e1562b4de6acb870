// SPDX-License-Identifier: GPL-2.0-or-later
//! What delayed runs met between their halves that undelayed ones did not.
//!
//! *Undelayed* are the runs without an interrupt, up to their median latency. The *base path* is
//! what they meet: of each tracepoint the median count over them. A run's cause is what it met beyond that. What every run
//! meets explains no delay, and a tracepoint that is met less often than usual does not either.
//! A slow run that met nothing beyond the base path is laid to its slow stages (`stages`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use irqpath_model::bench::{
    BOTTOM_HALF, BenchCapture, BenchCause, BenchTail, ClockRate, Latencies, TOP_HALF,
};

use super::events::{combine_words, event_label, is_interrupt, is_nothing};
use super::pairing::{PairedRun, Pairing};
use super::stages::Stages;

/// What one pattern means.
#[derive(Debug, Clone, Default)]
struct Meaning {
    is_irq: bool,
    /// Indices of names met beyond the base path, and of interrupts.
    beyond: Vec<u16>,
}

/// Runs of one group.
#[derive(Debug, Default)]
struct Group<'a> {
    tracepoints: BTreeSet<&'a str>,
    latencies: Latencies,
}

/// The causes of a capture.
pub struct Causes<'a> {
    names: &'a [String],
    /// Longest undelayed run, ticks.
    median: u64,
    base: BTreeMap<u16, u32>,
    /// Indexed like [`Pairing::patterns`].
    meanings: Vec<Meaning>,
    sees_work: bool,
    sees_interrupts: bool,
}

/// What tells one group of runs from another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Key<'a> {
    words: BTreeSet<&'a str>,
    slow_stages: Vec<(&'a str, &'a str)>,
    is_irq: bool,
}

impl<'a> Causes<'a> {
    /// Find the base path, and what each pattern is beyond it.
    pub fn new(capture: &'a BenchCapture, pairing: &Pairing) -> Self {
        let names = capture.runs.names();
        let own = capture.config.mechanism.own_interrupts();
        let quiet = quiet_patterns(names, pairing, own);
        let median = quiet_median(pairing, &quiet);
        let hooked = || names.iter().chain(&capture.config.tracepoints).map(String::as_str);
        let mut this = Self {
            names,
            median,
            base: base_counts(names, pairing, &quiet, median),
            meanings: Vec::new(),
            sees_work: hooked().any(|n| !is_nothing(n) && !is_interrupt(n) && n != BOTTOM_HALF),
            sees_interrupts: hooked().any(|n| is_interrupt(n) && n != TOP_HALF),
        };
        this.meanings = pairing.patterns.iter().map(|p| this.pattern_meaning(p, own)).collect();
        this
    }

    fn checkpoint_name(&self, index: u16) -> &'a str {
        &self.names[usize::from(index)]
    }

    fn pattern_meaning(&self, pattern: &[(u16, u32)], own: &[&str]) -> Meaning {
        let mut meaning = Meaning::default();
        for &(index, count) in pattern {
            let name = self.checkpoint_name(index);
            let usual = self.base.get(&index).copied().unwrap_or(0);
            let is_irq = is_interrupt(name) && (count > usual || !own.contains(&name));
            meaning.is_irq |= is_irq;
            if is_irq || (count > usual && !is_nothing(name)) {
                meaning.beyond.push(index);
            }
        }
        meaning
    }

    /// True for a run that is not delayed.
    pub fn is_undelayed(&self, run: &PairedRun) -> bool {
        run.ticks <= self.median && !self.is_interrupted(run)
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

    /// What most undelayed runs meet, in order.
    pub fn base_path(&self, stages: &Stages) -> Vec<String> {
        let names = stages.base().iter().map(|&index| self.checkpoint_name(index));
        names.filter(|name| !is_nothing(name)).map(str::to_owned).collect()
    }

    /// All runs by their cause, the most frequent first; none if only interrupts were hooked.
    pub fn group_runs(
        &self,
        pairing: &Pairing,
        stages: &Stages,
        rate: ClockRate,
        q95_ns: u64,
    ) -> Vec<BenchCause> {
        let mut groups: HashMap<Key<'_>, Group<'_>> = HashMap::new();
        for run in pairing.runs.iter().filter(|_| self.sees_work) {
            let ns = rate.ns(run.ticks);
            let group = groups.entry(self.cause_key(run, stages, ns > q95_ns)).or_default();
            group.latencies.record_ns(ns);
            group.tracepoints.extend(self.tracepoints_beyond(run));
        }
        let mut causes: Vec<BenchCause> =
            groups.into_iter().map(|(key, group)| make_cause(key, group, q95_ns)).collect();
        causes.sort_by(|a, b| {
            let order =
                |c: &BenchCause| (std::cmp::Reverse(c.quantiles.n), c.label.clone(), c.is_irq);
            order(a).cmp(&order(b))
        });
        causes
    }

    /// Tracepoints that a run met beyond the base path, and interrupts.
    fn tracepoints_beyond(&self, run: &PairedRun) -> impl Iterator<Item = &'a str> + '_ {
        self.meanings[run.pattern].beyond.iter().map(|&index| self.checkpoint_name(index))
    }

    fn cause_key(&self, run: &PairedRun, stages: &Stages, is_slow: bool) -> Key<'a> {
        let words: BTreeSet<&str> = self.tracepoints_beyond(run).map(event_label).collect();
        let slow = if is_slow && words.is_empty() { stages.slow_stages_of(run) } else { &[] };
        let slow_stages = slow
            .iter()
            .map(|&(from, to)| (self.checkpoint_name(from), self.checkpoint_name(to)))
            .collect();
        Key { words, slow_stages, is_irq: self.is_interrupted(run) }
    }
}

fn make_cause(key: Key<'_>, group: Group<'_>, q95_ns: u64) -> BenchCause {
    let Group { tracepoints, latencies } = group;
    let stages: Vec<_> =
        key.slow_stages.iter().map(|(from, to)| format!("{from} to {to}")).collect();
    let label = match stages.as_slice() {
        [] => combine_words(key.words),
        stages => format!("slow {}", stages.join(", ")),
    };
    let owned = |(from, to): (&str, &str)| [from.to_owned(), to.to_owned()];
    BenchCause {
        label,
        tracepoints: tracepoints.into_iter().map(str::to_owned).collect(),
        slow_stages: key.slow_stages.into_iter().map(owned).collect(),
        is_irq: key.is_irq,
        quantiles: latencies.quantiles(),
        nr_over_q95: latencies.nr_over(q95_ns),
        latencies,
    }
}

/// How many runs over Q95 have a cause.
pub fn explain_tail(groups: &[BenchCause]) -> BenchTail {
    let over = |wanted: fn(&BenchCause) -> bool| {
        groups.iter().filter(|g| wanted(g)).map(|g| g.nr_over_q95).sum()
    };
    BenchTail {
        nr_over_q95: over(|_| true),
        nr_explained: over(|g| !g.tracepoints.is_empty()),
        nr_slow_stages: over(|g| !g.slow_stages.is_empty()),
    }
}

/// By pattern: no interrupt but those of the mechanism.
fn quiet_patterns(names: &[String], pairing: &Pairing, own: &[&str]) -> Vec<bool> {
    let disturbs = |&(index, _): &(u16, u32)| {
        let name = names[usize::from(index)].as_str();
        is_interrupt(name) && !own.contains(&name)
    };
    pairing.patterns.iter().map(|pattern| !pattern.iter().any(disturbs)).collect()
}

/// The median of the quiet runs, or of all if none is quiet.
fn quiet_median(pairing: &Pairing, quiet: &[bool]) -> u64 {
    let ticks = |wanted: &dyn Fn(&PairedRun) -> bool| {
        let mut ticks: Vec<u64> =
            pairing.runs.iter().filter(|r| wanted(r)).map(|r| r.ticks).collect();
        ticks.sort_unstable();
        ticks.get(ticks.len().saturating_sub(1) / 2).copied()
    };
    ticks(&|run| quiet[run.pattern]).or_else(|| ticks(&|_| true)).unwrap_or(0)
}

fn base_counts(
    names: &[String],
    pairing: &Pairing,
    quiet: &[bool],
    median: u64,
) -> BTreeMap<u16, u32> {
    // Runs by pattern, so that only patterns are looked at for each name.
    let mut nr_of_pattern = vec![0usize; pairing.patterns.len()];
    let is_any_quiet = quiet.contains(&true);
    let undelayed =
        pairing.runs.iter().filter(|r| r.ticks <= median && (quiet[r.pattern] || !is_any_quiet));
    for run in undelayed {
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
