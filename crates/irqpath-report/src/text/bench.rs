// SPDX-License-Identifier: GPL-2.0-or-later
//! What `bench` prints: latencies per series, what delayed runs, the clocks, and the accounting.
//!
//! The rows are those of the tables in which the field reports bottom halves: minimum, quantiles
//! and maximum over the runs without an interrupt between their halves, then `max irq` over all
//! of them. In exact mode the same numbers stand in instructions too.

use std::io::{self, Write};

use irqpath_model::bench::{BenchCause, BenchQuantiles, BenchSeries, RateSource};
use irqpath_model::{Meta, Summary};

use super::style::{escape_line, format_us2, group_digits, to_percent, wrap_text};
use super::table::{Column, Table};
use super::{TextOptions, write_header, write_heading};
use crate::causes;

/// Combinations of causes shown for a series; the rest is counted in a line.
const MAX_CAUSES: usize = 8;

/// Everything that `bench` prints.
pub fn write_bench(
    mut out: impl Write,
    meta: &Meta,
    summary: &Summary,
    options: &TextOptions,
) -> io::Result<()> {
    if meta.kernel.release.is_empty() {
        let source = format!("raw directories {}", meta.source);
        writeln!(out, "{}{}", options.style().bold("irqpath: "), escape_line(&source))?;
    } else {
        write_header(&mut out, meta, options)?;
    }
    let all = summary.bench();
    let about = describe_conditions(all);
    write_latencies(&mut out, all, options, &format!("us; {about}"), format_us3)?;
    if meta.is_exact {
        let about = "the same numbers: 1 instruction is 1 ns here";
        write_latencies(&mut out, all, options, &format!("instructions; {about}"), group_digits)?;
    }
    for series in all.iter().filter(|s| has_causes(s)) {
        causes_of(&mut out, series, options)?;
    }
    write_clocks(&mut out, all, options)?;
    write_accounting(&mut out, meta, all, options)
}

/// False for a series in which nothing happened, such as two checkpoints back to back.
fn has_causes(series: &BenchSeries) -> bool {
    series.causes.len() > 1 || series.tail.is_some_and(|t| t.nr_over_q95 > 0)
}

/// A latency in us, with as many digits as tell something.
fn format_us3(ns: u64) -> String {
    if ns < 1_000 { format!("{:.3}", ns as f64 / 1e3) } else { format_us2(ns) }
}

/// What all series have in common; what differs is in their labels.
fn describe_conditions(all: &[BenchSeries]) -> String {
    let common = |part: fn(&BenchSeries) -> String| {
        let mut values = all.iter().map(part);
        let first = values.next()?;
        values.all(|v| v == first).then_some(first).filter(|v| !v.is_empty())
    };
    let parts = [
        common(|s| s.config.rate_label()),
        common(|s| format!("{} wait", s.config.wait)),
        common(|s| s.config.nr_load.map_or_else(String::new, |n| format!("load {n}"))),
        common(|s| match s.config.trigger.as_str() {
            "" => String::new(),
            trigger => format!("trigger {trigger}"),
        }),
        common(|s| format!("clock {}", s.clock)),
        common(|s| s.config.cpu.map_or_else(String::new, |cpu| format!("CPU {cpu}"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn quantile_row(q: &BenchQuantiles, format: fn(u64) -> String) -> [String; 5] {
    [q.min_ns, q.q05_ns, q.q50_ns, q.q95_ns, q.max_ns].map(|ns| match q.n {
        0 => "-".to_owned(),
        _ => format(ns),
    })
}

fn write_latencies(
    out: &mut impl Write,
    all: &[BenchSeries],
    options: &TextOptions,
    about: &str,
    format: fn(u64) -> String,
) -> io::Result<()> {
    let style = options.style();
    write_heading(out, options, "TOP HALF TO BOTTOM HALF", about)?;
    let mut table = Table::new(&[
        Column::text("mechanism", 12),
        Column::number("min"),
        Column::number("Q05").or_drop(1),
        Column::number("Q50"),
        Column::number("Q95"),
        Column::number("max"),
        Column::number("max irq"),
        Column::number("n"),
        Column::number("irq").or_drop(2),
        Column::number("oob").or_drop(3),
    ]);
    for s in all {
        let mut cells = vec![s.label.clone()];
        cells.extend(quantile_row(&s.quantiles, format));
        let complete = s.latencies.len() + s.irq_latencies.len();
        cells.extend([
            if complete == 0 { "-".to_owned() } else { format(s.max_irq_ns) },
            group_digits(complete),
            s.nr_irq.map_or_else(|| "?".to_owned(), group_digits),
            group_digits(s.nr_oob),
        ]);
        table.add_row(cells);
    }
    table.write(out, style, options.width)
}

fn causes_of(out: &mut impl Write, series: &BenchSeries, options: &TextOptions) -> io::Result<()> {
    let style = options.style();
    let base = match series.base_path.as_slice() {
        [] => "undelayed runs meet nothing".to_owned(),
        path => format!("undelayed runs meet: {}", path.join(" ")),
    };
    write_heading(out, options, &format!("CAUSES {}", escape_line(&series.label)), "us")?;
    writeln!(out, "{}", wrap_text(&escape_line(&base), options.width))?;
    let mut table = Table::new(&[
        Column::text("beyond that", 12).rather_than_cut(30),
        Column::number("n"),
        Column::number("%"),
        Column::number("Q05").or_drop(1),
        Column::number("Q50"),
        Column::number("Q95"),
        Column::number("max"),
        Column::number("over Q95"),
    ]);
    let nr_all: u64 = series.causes.iter().map(|c| c.quantiles.n).sum();
    for cause in series.causes.iter().take(MAX_CAUSES) {
        table.add_row(cause_row(cause, nr_all));
    }
    table.write(out, style, options.width)?;
    if let Some(rest) = series.causes.get(MAX_CAUSES..).filter(|rest| !rest.is_empty()) {
        let nr: u64 = rest.iter().map(|c| c.quantiles.n).sum();
        let over: u64 = rest.iter().map(|c| c.nr_over_q95).sum();
        let (kinds, nr, over) =
            (group_digits(rest.len() as u64), group_digits(nr), group_digits(over));
        writeln!(out, "{kinds} more combinations: {nr} runs, {over} over Q95")?;
    }
    let Some(tail) = series.tail else { return Ok(()) };
    let line = format!(
        "over Q95: {}, met something: {}, slow in a few stages: {}, unexplained: {} ({:.1} %)",
        group_digits(tail.nr_over_q95),
        group_digits(tail.nr_explained),
        group_digits(tail.nr_slow_stages),
        group_digits(tail.nr_unexplained()),
        to_percent(tail.nr_unexplained(), tail.nr_over_q95)
    );
    writeln!(out, "{line}")
}

fn cause_row(cause: &BenchCause, nr_all: u64) -> Vec<String> {
    let label = match cause.label.as_str() {
        "" => "nothing".to_owned(),
        label => label.to_owned(),
    };
    let [_, q05, q50, q95, max] = quantile_row(&cause.quantiles, format_us3);
    let n = cause.quantiles.n;
    let share = format!("{:.1}", to_percent(n, nr_all));
    vec![label, group_digits(n), share, q05, q50, q95, max, group_digits(cause.nr_over_q95)]
}

/// One row per clock, by the series with most runs.
fn write_clocks(
    out: &mut impl Write,
    all: &[BenchSeries],
    options: &TextOptions,
) -> io::Result<()> {
    let mut best: Vec<&BenchSeries> = Vec::new();
    for series in all {
        match best.iter_mut().find(|b| b.clock == series.clock && b.set == series.set) {
            Some(b) if b.resolution.nr_distinct >= series.resolution.nr_distinct => {}
            Some(b) => *b = series,
            None => best.push(series),
        }
    }
    let style = options.style();
    write_heading(out, options, "CLOCKS", "")?;
    let mut table = Table::new(&[
        Column::text("clock", 8),
        Column::number("MHz"),
        Column::text("known by", 8),
        Column::number("step, ns"),
        Column::number("distinct"),
        Column::number("checkpoint, ns"),
        Column::text("seen in", 8),
    ]);
    for s in best {
        table.add_row(vec![
            s.clock.to_string(),
            format!("{:.3}", s.rate.hz as f64 / 1e6),
            known_by(s.rate.source).to_owned(),
            format!("{:.1}", s.resolution.step_ticks as f64 * 1e9 / s.rate.hz as f64),
            group_digits(s.resolution.nr_distinct),
            s.checkpoint_cost_ns.map_or_else(|| "-".to_owned(), group_digits),
            s.label.clone(),
        ]);
    }
    table.write(out, style, options.width)
}

/// How a rate is known.
pub(crate) const fn known_by(source: RateSource) -> &'static str {
    match source {
        RateSource::Nanoseconds => "counts ns",
        RateSource::Exact => "exact mode",
        RateSource::Given => "given",
        RateSource::WholeSpan => "ktime, whole span",
        RateSource::WithinRuns => "ktime, within runs",
    }
}

fn write_accounting(
    out: &mut impl Write,
    meta: &Meta,
    all: &[BenchSeries],
    options: &TextOptions,
) -> io::Result<()> {
    write_heading(out, options, "ACCOUNTING", "")?;
    let sum = |of: fn(&BenchSeries) -> u64| group_digits(all.iter().map(of).sum());
    writeln!(
        out,
        "runs: {}, incomplete: {}, backwards: {}, after the next one began: {}",
        sum(|s| s.nr_runs),
        sum(|s| s.nr_incomplete),
        sum(|s| s.nr_backwards),
        sum(|s| s.nr_late)
    )?;
    let over = sum(|s| s.overflow.map_or(0, |o| o.nr_runs));
    let checkpoints = sum(|s| s.overflow.map_or(0, |o| o.nr_checkpoints));
    writeln!(out, "runs with too many checkpoints: {over}, not stored: {checkpoints}")?;
    let mut notes = NOTES.map(str::to_owned).to_vec();
    if all.iter().any(|s| s.nr_irq.is_none()) {
        notes.push(NO_HOOKS.to_owned());
    }
    if meta.is_exact {
        notes.push(EXACT.to_owned());
    }
    notes.extend(causes::virtual_note(meta).filter(|_| !meta.is_exact));
    notes.extend(meta.observer_effects.iter().map(|effect| format!("observer: {effect}")));
    notes
        .iter()
        .try_for_each(|note| writeln!(out, "{}", wrap_text(&escape_line(note), options.width)))
}

const NOTES: [&str; 2] = [
    "irq: runs with an interrupt between their halves, in max irq only. oob: runs without one \
     that took more than 1.5 times Q95, rounded up.",
    "Quantiles are nearest rank: the smallest latency that so many of the runs do not exceed.",
];

const NO_HOOKS: &str = "irq ?: no tracepoint was hooked that would have shown interrupts; the \
     quantiles are over all runs.";

/// What exact mode means for every number.
pub(crate) const EXACT: &str = "Exact mode: instructions, not cycles. There are no caches and no \
     TLBs, and a CR3 or MSR write counts as one.";
