// SPDX-License-Identifier: GPL-2.0-or-later
//! A histogram per path: buckets of equal size as rtla's, or doubling ones.
//!
//! The stored histogram has buckets of its own, at most 1 % wide; each is counted where its
//! middle lies. Runs of empty rows become one line. Where nobody chose a size, bounds double from Q95
//! on: a tail with a few values in each row would be longer than the body.

use std::collections::BTreeMap;
use std::io::{self, Write};

use irqpath_model::{Bucket, Histogram, PathSummary, Summary};

use super::style::{bar, clean, cut, left, percent, right, us, width};
use super::{TextOptions, heading};
use crate::target::Targets;

/// Rows that the automatic bucket size aims at.
const TARGET_ROWS: u64 = 25;
/// Share of a distribution that is shown in rows of one size.
const BODY: f64 = 0.95;
/// First bound of the doubling buckets, ns.
const LOG2_FIRST_NS: u64 = 250;

/// How times fall into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Buckets of equal size.
    Linear {
        /// Size of a bucket, ns; `None` chooses one per path (1-2-5 steps).
        bucket_ns: Option<u64>,
        /// Rows before what is longer becomes one last row; rtla's default is 256.
        max_rows: usize,
    },
    /// Bounds that double from row to row: 0.25, 0.5, 1, 2, 4 us.
    Log2,
}

impl Default for Scale {
    fn default() -> Self {
        Self::Linear { bucket_ns: None, max_rows: 256 }
    }
}

/// One row: from (inclusive) to (exclusive, `None` without bound), ns, and how many.
struct Row {
    low: u64,
    high: Option<u64>,
    n: u64,
}

pub(super) fn write(
    out: &mut impl Write,
    summary: &Summary,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    if summary.paths.is_empty() {
        heading(out, options, "HISTOGRAMS", "")?;
        return writeln!(out, "no path was completed in this time");
    }
    let targets = Targets::of(&summary.paths);
    let shown = summary.paths.iter().take(options.max_details);
    shown.into_iter().try_for_each(|p| path(out, p, &targets.name(p), scale, options))
}

fn path(
    out: &mut impl Write,
    path: &PathSummary,
    target: &str,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    let q = &path.total;
    let title = format!("{} \u{2192} {}", clean(&path.origin_name), clean(target));
    let [min, mean, q99, max] = [q.min_ns, q.mean_ns, q.q99_ns, q.max_ns].map(us);
    let about = format!("via {}, us", clean(&path.via));
    heading(out, options, &cut(&title, options.width), &about)?;
    let rows = rows(&path.histogram, scale);
    body(out, &rows, q.n, options)?;
    writeln!(out, "n {}, min {min}, avg {mean}, q99 {q99}, max {max}", q.n)
}

/// One histogram without its heading.
pub(super) fn histogram(
    out: &mut impl Write,
    h: &Histogram,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    body(out, &rows(h, scale), h.len(), options)
}

/// Exact counts between given bounds; empty ones are left out.
pub(super) fn buckets(
    out: &mut impl Write,
    buckets: &[Bucket],
    n: u64,
    options: &TextOptions,
) -> io::Result<()> {
    let row = |b: &Bucket| Row { low: b.low_ns, high: b.high_ns, n: b.n };
    let rows: Vec<Row> = buckets.iter().filter(|b| b.n > 0).map(row).collect();
    body(out, &rows, n, options)
}

fn rows(h: &Histogram, scale: Scale) -> Vec<Row> {
    let bounds: Box<dyn Fn(u64) -> (u64, Option<u64>)> = match scale {
        Scale::Log2 => Box::new(log2_bounds),
        Scale::Linear { bucket_ns, max_rows } => {
            let size = bucket_ns.unwrap_or_else(|| bucket_size(h)).max(1);
            let last = size.saturating_mul(max_rows as u64);
            let tail = match bucket_ns {
                Some(_) => u64::MAX,
                None => (h.quantile_ns(BODY) / size).saturating_add(1).saturating_mul(size),
            };
            Box::new(move |ns| {
                if ns >= tail {
                    return doubling(ns, tail);
                }
                if ns >= last {
                    return (last, None);
                }
                let low = ns / size * size;
                (low, Some(low + size))
            })
        }
    };
    let mut counts: BTreeMap<(u64, Option<u64>), u64> = BTreeMap::new();
    let mut held = 0;
    for (low, high, n) in h.iter_buckets() {
        *counts.entry(bounds(low + (high - low) / 2)).or_default() += n;
        held += n;
    }
    let overflow = h.len().saturating_sub(held);
    let mut rows: Vec<Row> =
        counts.into_iter().map(|((low, high), n)| Row { low, high, n }).collect();
    if overflow > 0 {
        rows.push(Row { low: irqpath_model::MAX_TRACKABLE_NS, high: None, n: overflow });
    }
    rows
}

/// Bounds that double from `first` on.
fn doubling(ns: u64, first: u64) -> (u64, Option<u64>) {
    let mut high = first.saturating_mul(2);
    while high <= ns {
        high = high.saturating_mul(2);
    }
    (high / 2, Some(high))
}

fn log2_bounds(ns: u64) -> (u64, Option<u64>) {
    let mut high = LOG2_FIRST_NS;
    while high <= ns {
        high = high.saturating_mul(2);
    }
    (if high == LOG2_FIRST_NS { 0 } else { high / 2 }, Some(high))
}

/// A 1-2-5 step with which [`BODY`] of the distribution takes about [`TARGET_ROWS`] rows.
fn bucket_size(h: &Histogram) -> u64 {
    let span = h.quantile_ns(BODY).saturating_sub(h.quantile_ns(0.0));
    (2..12)
        .flat_map(|e| [1, 2, 5].map(|m| m * 10_u64.pow(e)))
        .find(|size| span / size <= TARGET_ROWS)
        .unwrap_or(u64::MAX)
}

fn body(out: &mut impl Write, rows: &[Row], n: u64, options: &TextOptions) -> io::Result<()> {
    let style = options.style();
    let label = |row: &Row| match row.high {
        Some(high) => (bound(row.low), bound(high)),
        None => (bound(row.low), "...".to_owned()),
    };
    let labels: Vec<_> = rows.iter().map(label).collect();
    let low_width = labels.iter().map(|(l, _)| width(l)).max().unwrap_or(0);
    let high_width = labels.iter().map(|(_, h)| width(h)).max().unwrap_or(0);
    let count_width = rows.iter().map(|r| width(&r.n.to_string())).max().unwrap_or(0);
    let most = rows.iter().map(|r| r.n).max().unwrap_or(0);
    let used = low_width + high_width + count_width + 16;
    let columns = options.width.saturating_sub(used).clamp(10, 60);
    let mut end = None;
    for (row, (low, high)) in rows.iter().zip(&labels) {
        if end.is_some_and(|end| end < row.low) {
            writeln!(out, "{}", style.dim(&right(":", low_width)))?;
        }
        end = row.high;
        writeln!(
            out,
            "{} - {}  {} {}  {}",
            right(low, low_width),
            left(high, high_width),
            right(&row.n.to_string(), count_width),
            right(&format!("{:.2}%", percent(row.n, n)), 7),
            style.bar(&bar(row.n, most, columns))
        )?;
    }
    Ok(())
}

/// A bound in us without needless decimals.
fn bound(ns: u64) -> String {
    let text = format!("{:.3}", ns as f64 / 1e3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
