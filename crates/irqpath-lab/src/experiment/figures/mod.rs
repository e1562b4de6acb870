// SPDX-License-Identifier: GPL-2.0-or-later
//! From the files that a guest left to figures: one series at a time.
//!
//! A series leaves `NAME/` (a copy of intsight's directory), `NAME.csv` (stamps of a guest
//! program), `NAME.values` or `NAME.trace.json` (what irqpath found), or several of these; or
//! `NAME.left_out`, the reason why this kernel cannot do it. Metrics are named after series, interval
//! and statistic: `softirq.q50`, `waiter.user.q50`, `truth.joined`.

mod attribute;
mod count;
mod intervals;
mod truth;

pub use attribute::Attributed;
pub(super) use attribute::attribute_paths;
pub(super) use count::compute_counted_metrics;

use std::collections::BTreeMap;
use std::path::Path;

use irqpath_analysis::bench::{self, Options};
use irqpath_model::bench::{BOTTOM_HALF, BenchCapture, BenchSeries, Latencies, TOP_HALF};
use irqpath_report::json::{self, Document};
use irqpath_source::intsight::{Room, read_raw};
use irqpath_system::Host;

use super::definition::{Definition, Mode, Series};
use crate::own;
use crate::vm::InstructionTime;

/// What one series of one variant came to.
#[derive(Debug, Clone, Default)]
pub struct SeriesResult {
    pub name: String,
    /// intsight's runs by each clock that was recorded.
    pub bench: Vec<BenchSeries>,
    /// Lengths of each interval, in the definition's order.
    pub intervals: Vec<(String, Latencies)>,
    /// One length per repetition, in order, ns: of intsight's runs, or of each interval.
    pub samples: Vec<(String, Vec<u64>)>,
    /// Every metric, without the series' name.
    pub metrics: BTreeMap<String, f64>,
    /// Why it was not measured: then there is nothing else.
    pub left_out: Option<String>,
}

impl SeriesResult {
    /// Lengths of the path whose instructions are attributed: intsight's runs, or the last
    /// interval.
    pub fn lengths(&self) -> &[u64] {
        self.samples.last().map_or(&[], |(_, lengths)| lengths)
    }
}

/// Reads the results of a series of a variant with its speed; the error says which file has what.
pub fn read_series(
    definition: &Definition,
    of: (&str, InstructionTime),
    series: &Series,
    results: &Path,
) -> Result<SeriesResult, String> {
    let mut result = SeriesResult { name: series.name.clone(), ..SeriesResult::default() };
    let at = |suffix: &str| results.join(format!("{}{suffix}", series.name));
    if let Ok(why) = own::read_text(at(".left_out")) {
        result.left_out = Some(why.trim().to_owned());
        return Ok(result);
    }
    if at("").join("csv_results").is_dir() {
        let (bench, lengths) = analyse_runs(definition, of, &at(""))?;
        result.bench = bench;
        result.samples.push((BOTTOM_HALF.to_owned(), lengths));
        if let Some(first) = result.bench.first() {
            result.metrics.extend(bench_metrics(first));
        }
    }
    if let Ok(csv) = own::read_text(at(".csv")) {
        for interval in &definition.intervals {
            let lengths = intervals::read_lengths(&csv, interval)
                .map_err(|what| format!("{}.csv {what}", series.name))?;
            let latencies: Latencies = lengths.iter().copied().collect();
            result.metrics.extend(latency_metrics(&format!("{}.", interval.name), &latencies));
            result.intervals.push((interval.name.clone(), latencies));
            result.samples.push((interval.name.clone(), lengths));
        }
    }
    if let Ok(text) = own::read_text(at(".values")) {
        let values = intervals::read_values(&text)
            .map_err(|what| format!("{}.values {what}", series.name))?;
        result.metrics.extend(values);
    }
    if let Ok(trace) = own::read(at(".trace.json")) {
        let found = read_trace(series, &trace, &at(".csv"), &result.metrics);
        result.metrics.extend(found.map_err(|what| format!("{}: {what}", series.name))?);
    }
    if result.metrics.is_empty() {
        return Err(format!("the job left nothing for the series {}", series.name));
    }
    Ok(result)
}

/// What `irqpath trace` found while the series ran.
fn read_trace(
    series: &Series,
    trace: &[u8],
    csv: &Path,
    values: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, f64>, String> {
    let Document { meta, summary, .. } = json::read_document(trace).map_err(|e| e.to_string())?;
    let mut metrics = truth::measure_coverage(&meta, &summary);
    let csv = own::read_text(csv).unwrap_or_default();
    if truth::is_truth(&csv) {
        let kind = series.parameters.get("KIND").map(ToString::to_string).unwrap_or_default();
        metrics.extend(truth::compute_metrics(&kind, &csv, values, &summary)?);
    }
    Ok(metrics)
}

/// intsight's runs by each clock, and their lengths by the first one.
fn analyse_runs(
    definition: &Definition,
    (variant, instruction): (&str, InstructionTime),
    raw: &Path,
) -> Result<(Vec<BenchSeries>, Vec<u64>), String> {
    let mut capture = read_raw(raw, &[], Room::OTHERS).map_err(|error| error.to_string())?;
    let counts = |name: &str| Host::new(raw.join(name)).interrupt_counts().ok();
    capture.before = counts("before");
    capture.after = counts("after");
    let is_exact = definition.mode == Mode::Exact && instruction.is_one();
    let options = Options { is_exact, set: variant.to_owned() };
    let clocks: Vec<_> = capture.runs.clocks().collect();
    let analyse =
        |clock| bench::analyse_series(&capture, clock, &options).map_err(|e| e.to_string());
    let series = clocks.into_iter().map(analyse).collect::<Result<_, _>>()?;
    Ok((series, capture_lengths(&capture)))
}

/// Ticks from the top half to the bottom half of every run, by the first clock.
fn capture_lengths(capture: &BenchCapture) -> Vec<u64> {
    let runs = &capture.runs;
    let names = runs.name_index(TOP_HALF).zip(runs.name_index(BOTTOM_HALF));
    let Some(((top, bottom), clock)) = names.zip(runs.clocks().next()) else { return Vec::new() };
    let runs = runs.by_clock(clock).into_iter().flatten();
    runs.filter_map(|run| {
        let at = |name| run.names.iter().position(|other| *other == name);
        Some(run.ticks[at(bottom)?].saturating_sub(run.ticks[at(top)?]))
    })
    .collect()
}

fn bench_metrics(series: &BenchSeries) -> Vec<(String, f64)> {
    let q = series.quantiles;
    let all = series.latencies.len() + series.irq_latencies.len();
    let mut named = vec![
        ("n", q.n as f64),
        ("min", q.min_ns as f64),
        ("q05", q.q05_ns as f64),
        ("q50", q.q50_ns as f64),
        ("q95", q.q95_ns as f64),
        ("max", q.max_ns as f64),
        ("max_irq", series.max_irq_ns as f64),
        ("oob", series.nr_oob as f64),
        ("slow", slow_percent(series)),
        ("runs", all as f64),
        ("distinct", series.resolution.nr_distinct as f64),
        ("step", series.resolution.step_ticks as f64),
    ];
    let percent = |n: u64| n as f64 * 100.0 / all.max(1) as f64;
    named.extend(series.nr_irq.map(|n| ("irq", n as f64)));
    named.extend(series.nr_irq.map(|n| ("irq_percent", percent(n))));
    named.extend(series.checkpoint_cost_ns.map(|ns| ("checkpoint", ns as f64)));
    named.extend(series.overflow.map(|lost| ("overflow", lost.nr_runs as f64)));
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Share of runs that took longer than 1.1 medians, percent.
fn slow_percent(series: &BenchSeries) -> f64 {
    let limit_ns = series.quantiles.q50_ns + series.quantiles.q50_ns / 10;
    series.latencies.nr_over(limit_ns) as f64 * 100.0 / series.latencies.len().max(1) as f64
}

fn latency_metrics(prefix: &str, latencies: &Latencies) -> Vec<(String, f64)> {
    let q = latencies.quantiles();
    [
        ("n", q.n),
        ("min", q.min_ns),
        ("q05", q.q05_ns),
        ("q50", q.q50_ns),
        ("q95", q.q95_ns),
        ("q99", latencies.quantile_ns(990)),
        ("max", q.max_ns),
    ]
    .map(|(name, value)| (format!("{prefix}{name}"), value as f64))
    .into()
}
