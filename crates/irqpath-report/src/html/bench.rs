// SPDX-License-Identifier: GPL-2.0-or-later
//! What the page of benchmarks shows, in the form in which its script reads it.
//!
//! Neighbour: `assets/bench/*.js` reads this by field name. Quantiles and counts come from the
//! summary; the values are for drawing only and may be thinned out.

use std::collections::BTreeMap;

use irqpath_model::bench::{
    BenchCause, BenchOverflow, BenchQuantiles, BenchSeries, BenchTail, Clock, ClockResolution,
    Latencies, Mechanism, Wait,
};
use irqpath_model::{Meta, Summary};
use serde::Serialize;

use super::data::{Machine, machine_facts};
use super::verdict::{Level, Note, count_word, us_text, whole_percent};
use crate::causes;
use crate::text::{EXACT, known_by};

/// More values than that are gathered: no screen is wide enough to tell them apart.
const MAX_VALUES: usize = 4_000;

/// Everything the page shows.
#[derive(Serialize)]
pub struct Page<'a> {
    verdict: String,
    notes: Vec<Note>,
    is_exact: bool,
    series: Vec<SeriesRow<'a>>,
    machine: Machine<'a>,
    virtual_note: Option<String>,
}

#[derive(Serialize)]
struct SeriesRow<'a> {
    label: &'a str,
    set: &'a str,
    mechanism: Mechanism,
    load: Option<u32>,
    rate: String,
    wait: Wait,
    trigger: &'a str,
    cpu: Option<u16>,
    clock: Clock,
    clock_hz: u64,
    clock_known_by: &'static str,
    resolution: ClockResolution,
    checkpoint_cost_ns: Option<u64>,
    nr_runs: u64,
    nr_irq: Option<u64>,
    nr_oob: u64,
    nr_late: u64,
    nr_incomplete: u64,
    nr_backwards: u64,
    overflow: Option<BenchOverflow>,
    bound_ns: u64,
    q: BenchQuantiles,
    max_irq_ns: u64,
    values: Values,
    irq_values: Values,
    base_path: &'a [String],
    causes: Vec<CauseRow<'a>>,
    tail: Option<BenchTail>,
    interrupts: &'a BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct CauseRow<'a> {
    label: &'a str,
    tracepoints: &'a [String],
    slow_stages: &'a [[String; 2]],
    is_irq: bool,
    q: BenchQuantiles,
    nr_over_q95: u64,
    values: Values,
}

/// `ns, count, ns, count`, ascending.
type Values = Vec<u64>;

impl<'a> Page<'a> {
    /// The data of a page about a benchmark.
    pub fn new(meta: &'a Meta, summary: &'a Summary) -> Self {
        Self {
            verdict: bench_verdict(summary.bench()),
            notes: bench_notes(meta, summary.bench()),
            is_exact: meta.is_exact,
            series: summary.bench().iter().map(series_row).collect(),
            machine: machine_facts(meta),
            virtual_note: causes::virtual_note(meta).filter(|_| !meta.is_exact),
        }
    }
}

fn series_row(s: &BenchSeries) -> SeriesRow<'_> {
    SeriesRow {
        label: &s.label,
        set: &s.set,
        mechanism: s.config.mechanism,
        load: s.config.nr_load,
        rate: s.config.rate_label(),
        wait: s.config.wait,
        trigger: &s.config.trigger,
        cpu: s.config.cpu,
        clock: s.clock,
        clock_hz: s.rate.hz,
        clock_known_by: known_by(s.rate.source),
        resolution: s.resolution,
        checkpoint_cost_ns: s.checkpoint_cost_ns,
        nr_runs: s.nr_runs,
        nr_irq: s.nr_irq,
        nr_oob: s.nr_oob,
        nr_late: s.nr_late,
        nr_incomplete: s.nr_incomplete,
        nr_backwards: s.nr_backwards,
        overflow: s.overflow,
        bound_ns: s.bound_ns,
        q: s.quantiles,
        max_irq_ns: s.max_irq_ns,
        values: value_counts(&s.latencies),
        irq_values: value_counts(&s.irq_latencies),
        base_path: &s.base_path,
        causes: s.causes.iter().map(cause_row).collect(),
        tail: s.tail,
        interrupts: &s.interrupts,
    }
}

fn cause_row(cause: &BenchCause) -> CauseRow<'_> {
    CauseRow {
        label: &cause.label,
        tracepoints: &cause.tracepoints,
        slow_stages: &cause.slow_stages,
        is_irq: cause.is_irq,
        q: cause.quantiles,
        nr_over_q95: cause.nr_over_q95,
        values: value_counts(&cause.latencies),
    }
}

/// As many as can be told apart: neighbours are counted at the lowest of them.
fn value_counts(latencies: &Latencies) -> Values {
    let all: Vec<(u64, u64)> = latencies.iter().collect();
    let group = all.len().div_ceil(MAX_VALUES).max(1);
    let counted = |chunk: &[(u64, u64)]| [chunk[0].0, chunk.iter().map(|(_, n)| n).sum()];
    all.chunks(group).flat_map(counted).collect()
}

/// The medians' range and the longest run, in one sentence.
fn bench_verdict(all: &[BenchSeries]) -> String {
    let measured = || all.iter().filter(|s| s.config.mechanism != Mechanism::None);
    let with_median = || measured().filter(|s| s.quantiles.n > 0);
    let fastest = with_median().min_by_key(|s| s.quantiles.q50_ns);
    let slowest = with_median().max_by_key(|s| s.quantiles.q50_ns);
    let longest = all.iter().max_by_key(|s| s.max_irq_ns);
    let (Some(longest), runs) = (longest, all.iter().map(|s| s.nr_runs).sum()) else {
        return "No benchmark was run".to_owned();
    };
    let worst = format!("longest run {} ({})", us_text(longest.max_irq_ns), longest.label);
    match (fastest, slowest) {
        (Some(fast), Some(slow)) if fast.label != slow.label => format!(
            "Median from {} ({}) to {} ({}), {worst}, of {} runs",
            us_text(fast.quantiles.q50_ns),
            fast.label,
            us_text(slow.quantiles.q50_ns),
            slow.label,
            count_word(runs)
        ),
        (Some(only), _) => format!(
            "{}: median {}, {worst}, of {} runs",
            only.label,
            us_text(only.quantiles.q50_ns),
            count_word(runs)
        ),
        _ => format!("{worst}, of {} runs", count_word(runs)),
    }
}

/// What a reader must know besides the verdict.
fn bench_notes(meta: &Meta, all: &[BenchSeries]) -> Vec<Note> {
    let sum = |of: fn(&BenchSeries) -> u64| all.iter().map(of).sum::<u64>();
    let mut notes = Vec::new();
    let mut say = |level, text: String| notes.push(Note { level, text });
    if meta.is_exact {
        say(Level::Info, EXACT.to_owned());
    }
    let lost = sum(|s| s.overflow.map_or(0, |o| o.nr_checkpoints));
    match (lost, sum(|s| u64::from(s.overflow.is_none()))) {
        (0, 0) => say(Level::Info, "Every checkpoint was stored.".to_owned()),
        (0, _) => say(Level::Info, "Whether every checkpoint was stored is not known.".to_owned()),
        _ => say(Level::Warning, format!("{} checkpoints found no room.", count_word(lost))),
    }
    let unusable = sum(|s| s.nr_incomplete + s.nr_backwards);
    if unusable > 0 {
        let text = "runs without one of their halves, or backwards, are in no number.";
        say(Level::Warning, format!("{} {text}", count_word(unusable)));
    }
    if all.iter().any(|s| s.nr_irq.is_none()) {
        let text = "Interrupts between the halves were not looked for in all series (irq ?).";
        say(Level::Warning, text.to_owned());
    }
    let tails = || all.iter().filter_map(|s| s.tail);
    let over: u64 = tails().map(|t| t.nr_over_q95).sum();
    if over > 0 {
        let share = |of: fn(BenchTail) -> u64| whole_percent(tails().map(of).sum(), over);
        let (met, slow) = (share(|t| t.nr_explained), share(|t| t.nr_slow_stages));
        let over = count_word(over);
        say(
            Level::Info,
            format!(
                "Of the {over} runs over Q95, {met} % met something that others do not, and {slow} % \
                 were slow in a few stages."
            ),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_thinned_out_without_losing_a_run() {
        let all: Latencies = (0..10_000).collect();
        let values = value_counts(&all);
        assert!(values.len() / 2 <= MAX_VALUES);
        assert_eq!(values.chunks(2).map(|pair| pair[1]).sum::<u64>(), 10_000);
        assert_eq!(values[..4], [0, 3, 3, 3]);
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        assert_eq!(bench_verdict(&[]), "No benchmark was run");
    }
}
