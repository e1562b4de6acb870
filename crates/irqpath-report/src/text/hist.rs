// SPDX-License-Identifier: GPL-2.0-or-later
//! A histogram per path: buckets of equal size as rtla's, or doubling ones.
//!
//! The stored histogram has buckets of its own, at most 1 % wide; each is counted where its
//! middle lies, minimum and maximum where they are, and no row claims to be finer. Runs of empty rows become one line.
//! Where nobody chose a size, bounds double from Q95 on: a tail with a few values in each row would
//! be longer than the body. A path that was seen once has no distribution, but a row in a table.

use std::collections::BTreeMap;
use std::io::{self, Write};

use irqpath_model::{Bucket, Histogram, PathSummary, Summary};

use super::style::{
    align_left, align_right, cut_to, draw_bar, escape_line, format_us, group_digits, text_width,
    to_percent,
};
use super::table::{Column, Table};
use super::{TextOptions, write_heading};
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
    /// Buckets of a size that suits the path, then doubling ones.
    Auto {
        /// Rows, from that of the minimum on, before what is longer becomes one last row.
        max_rows: Option<usize>,
    },
    /// Buckets of equal size.
    Linear {
        /// Size of a bucket, ns.
        bucket_ns: u64,
        /// Rows, from 0 on, before what is longer becomes one last row; rtla's default is 256.
        max_rows: usize,
    },
    /// Bounds that double from row to row: 0.25, 0.5, 1, 2, 4 us.
    Log2,
}

impl Default for Scale {
    fn default() -> Self {
        Self::Auto { max_rows: None }
    }
}

/// From (inclusive) to (exclusive, `None` without bound), ns.
type Bounds = (u64, Option<u64>);

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
    if summary.traced().paths.is_empty() {
        write_heading(out, options, "HISTOGRAMS", "")?;
        return writeln!(out, "no path was completed in this time");
    }
    let targets = Targets::from_paths(&summary.traced().paths);
    let shown = summary.traced().paths.iter().take(options.max_details);
    let (once, often): (Vec<_>, Vec<_>) = shown.partition(|path| path.total.n == 1);
    often
        .into_iter()
        .try_for_each(|p| write_path(out, p, &targets.target_name(p), scale, options))?;
    if once.is_empty() { Ok(()) } else { seen_once(out, &once, &targets, options) }
}

fn seen_once(
    out: &mut impl Write,
    paths: &[&PathSummary],
    targets: &Targets<'_>,
    options: &TextOptions,
) -> io::Result<()> {
    write_heading(out, options, "SEEN ONCE", &format!("{}, us", group_digits(paths.len() as u64)))?;
    let mut table = Table::new(&[
        Column::text("origin", 12).rather_than_cut(15),
        Column::text("via", 5).rather_than_cut(12),
        Column::text("target", 8).rather_than_cut(18),
        Column::number("took"),
        Column::number("to run").or_drop(1),
    ]);
    for path in paths {
        let [took, to_run] = [path.total.max_ns, path.slowest_ns].map(format_us);
        let name = targets.target_name(path);
        table.add_row(vec![path.origin_name.clone(), path.via.clone(), name, took, to_run]);
    }
    table.write(out, options.style(), options.width)
}

fn write_path(
    out: &mut impl Write,
    path: &PathSummary,
    target: &str,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    let q = &path.total;
    let title = format!("{} \u{2192} {}", escape_line(&path.origin_name), escape_line(target));
    let [min, mean, q99, max] = [q.min_ns, q.mean_ns, q.q99_ns, q.max_ns].map(format_us);
    let about = format!("via {}, us", escape_line(&path.via));
    write_heading(out, options, &cut_to(&title, options.width), &about)?;
    let rows = histogram_rows(&path.histogram, scale);
    write_rows(out, &rows, q.n, options)?;
    writeln!(out, "n {}, min {min}, avg {mean}, q99 {q99}, max {max}", q.n)
}

/// One histogram without its heading.
pub(super) fn write_histogram(
    out: &mut impl Write,
    h: &Histogram,
    scale: Scale,
    options: &TextOptions,
) -> io::Result<()> {
    write_rows(out, &histogram_rows(h, scale), h.len(), options)
}

/// Exact counts between given bounds; empty ones are left out.
pub(super) fn write_buckets(
    out: &mut impl Write,
    buckets: &[Bucket],
    n: u64,
    options: &TextOptions,
) -> io::Result<()> {
    let row = |b: &Bucket| Row { low: b.low_ns, high: b.high_ns, n: b.n };
    let rows: Vec<Row> = buckets.iter().filter(|b| b.n > 0).map(row).collect();
    write_rows(out, &rows, n, options)
}

fn histogram_rows(h: &Histogram, scale: Scale) -> Vec<Row> {
    // By a bucket of the stored histogram, from (inclusive) to (exclusive), and a value in it.
    let bounds: Box<dyn Fn(u64, u64, u64) -> Bounds> = match scale {
        Scale::Log2 => Box::new(|_, _, ns| log2_bounds(ns)),
        Scale::Linear { bucket_ns, max_rows } => fixed_buckets(bucket_ns.max(1), max_rows),
        Scale::Auto { max_rows } => auto_buckets(h, max_rows),
    };
    let (min, max) = (h.quantile_ns(0.0), h.max_ns());
    let mut counts: BTreeMap<Bounds, u64> = BTreeMap::new();
    let mut held = 0;
    for (low, high, n) in h.iter_buckets() {
        let mut count = |ns, n| *counts.entry(bounds(low, high + 1, ns)).or_default() += n;
        let mut rest = n;
        for known in [min, max] {
            if rest > 0 && (low..=high).contains(&known) {
                count(known, 1);
                rest -= 1;
            }
        }
        if rest > 0 {
            count((low + (high - low) / 2).max(min).min(max), rest);
        }
        held += n;
    }
    let overflow = h.len().saturating_sub(held);
    let mut rows: Vec<Row> = Vec::new();
    for ((low, high), n) in counts {
        let end = rows.last().and_then(|row| row.high).unwrap_or(0);
        rows.push(Row { low: low.max(end), high, n });
    }
    if overflow > 0 {
        rows.push(Row { low: irqpath_model::MAX_TRACKABLE_NS, high: None, n: overflow });
    }
    rows
}

/// Rows of the size that was asked for; where the stored buckets are wider, rows of theirs.
fn fixed_buckets(size: u64, max_rows: usize) -> Box<dyn Fn(u64, u64, u64) -> Bounds> {
    let last = size.saturating_mul(max_rows as u64);
    let round = move |ns: u64| ns.saturating_add(size / 2) / size * size;
    Box::new(move |low, end, ns| match ns {
        _ if ns >= last => (last, None),
        _ if end - low > size => (round(low), Some(round(end).min(last))),
        _ => equal_bounds(ns, size),
    })
}

/// Rows of one size for the body, doubling ones for the tail.
fn auto_buckets(h: &Histogram, max_rows: Option<usize>) -> Box<dyn Fn(u64, u64, u64) -> Bounds> {
    let size = bucket_size(h);
    let first = equal_bounds(h.quantile_ns(0.0), size).0;
    let rows = max_rows.map_or(u64::MAX, |rows| rows as u64);
    let last = first.saturating_add(size.saturating_mul(rows));
    let tail = equal_bounds(h.quantile_ns(BODY), size).0.saturating_add(size);
    Box::new(move |_, _, ns| match ns {
        _ if ns >= last => (last, None),
        _ if ns >= tail => doubling_bounds(ns, tail),
        _ => equal_bounds(ns, size),
    })
}

/// The row of size `size` that `ns` falls into.
fn equal_bounds(ns: u64, size: u64) -> Bounds {
    let low = ns / size * size;
    (low, Some(low.saturating_add(size)))
}

/// Bounds that double from `first` on.
fn doubling_bounds(ns: u64, first: u64) -> Bounds {
    let mut high = first.saturating_mul(2);
    while high <= ns {
        high = high.saturating_mul(2);
    }
    (high / 2, Some(high))
}

fn log2_bounds(ns: u64) -> Bounds {
    let mut high = LOG2_FIRST_NS;
    while high <= ns {
        high = high.saturating_mul(2);
    }
    (if high == LOG2_FIRST_NS { 0 } else { high / 2 }, Some(high))
}

/// A 1-2-5 step with which [`BODY`] of the distribution takes about [`TARGET_ROWS`] rows, and none
/// of them is narrower than the widest stored bucket there.
fn bucket_size(h: &Histogram) -> u64 {
    let end = h.quantile_ns(BODY);
    let span = end.saturating_sub(h.quantile_ns(0.0));
    let buckets = h.iter_buckets().take_while(|(low, _, _)| *low <= end);
    let widest = buckets.map(|(low, high, _)| high + 1 - low).max().unwrap_or(0);
    (2..12)
        .flat_map(|e| [1, 2, 5].map(|m| m * 10_u64.pow(e)))
        .find(|size| span / size <= TARGET_ROWS && widest <= *size)
        .unwrap_or(u64::MAX)
}

fn write_rows(out: &mut impl Write, rows: &[Row], n: u64, options: &TextOptions) -> io::Result<()> {
    let style = options.style();
    let label = |row: &Row| match row.high {
        Some(high) => (format_bound(row.low), format_bound(high)),
        None => (format_bound(row.low), "...".to_owned()),
    };
    let labels: Vec<_> = rows.iter().map(label).collect();
    let low_width = labels.iter().map(|(l, _)| text_width(l)).max().unwrap_or(0);
    let high_width = labels.iter().map(|(_, h)| text_width(h)).max().unwrap_or(0);
    let count_width = rows.iter().map(|r| text_width(&r.n.to_string())).max().unwrap_or(0);
    let most = rows.iter().map(|r| r.n).max().unwrap_or(0);
    let used = low_width + high_width + count_width + 16;
    let columns = options.width.saturating_sub(used).clamp(10, 60);
    let mut end = None;
    for (row, (low, high)) in rows.iter().zip(&labels) {
        if end.is_some_and(|end| end < row.low) {
            writeln!(out, "{}", style.dim(&align_right(":", low_width)))?;
        }
        end = row.high;
        writeln!(
            out,
            "{} - {}  {} {}  {}",
            align_right(low, low_width),
            align_left(high, high_width),
            align_right(&row.n.to_string(), count_width),
            align_right(&format!("{:.2}%", to_percent(row.n, n)), 7),
            style.bar(&draw_bar(row.n, most, columns))
        )?;
    }
    Ok(())
}

/// A bound in us without needless decimals.
fn format_bound(ns: u64) -> String {
    let text = format!("{:.3}", ns as f64 / 1e3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut h = Histogram::default();
        values.into_iter().for_each(|ns| h.record_ns(ns));
        h
    }

    /// `low-high n` of each row, us.
    fn shown(h: &Histogram, scale: Scale) -> Vec<String> {
        let row = |row: &Row| {
            let high = row.high.map_or("...".to_owned(), format_bound);
            format!("{}-{high} {}", format_bound(row.low), row.n)
        };
        histogram_rows(h, scale).iter().map(row).collect()
    }

    #[test]
    fn rows_hold_what_they_say_and_are_no_finer_than_the_data() {
        let auto = Scale::default();
        let few = Scale::Auto { max_rows: Some(2) };
        let each_us = Scale::Linear { bucket_ns: 1_000, max_rows: 1_000 };
        let around_70 = of((0..1_000).map(|nr| 68_000 + nr * 4));
        let tail = of((0..190).map(|nr| 5_000 + nr * 10).chain([30_000; 5]));
        for (h, scale, want) in [
            (of([4_181_000]), auto, &["4180-4200 1"][..]),
            (of([77_100]), auto, &["77-78 1"]),
            (of([23_850, 23_990, 24_000]), auto, &["23.8-24 2", "24-24.2 1"]),
            (around_70, auto, &["68-69 280", "69-70 256", "70-71 256", "71-72 208"]),
            (of([500]), auto, &["0.5-0.6 1"]),
            (tail.clone(), few, &["5-5.1 9", "5.1-5.2 13", "5.2-... 173"]),
            (of([2_500, 2_600, 900_500]), each_us, &["2-3 2", "897-901 1"]),
            (of([2_500, 1_000_000]), each_us, &["2-3 1", "1000-... 1"]),
        ] {
            assert_eq!(shown(&h, scale), want, "{scale:?}");
        }
        assert_eq!(shown(&tail, auto).last().map(String::as_str), Some("27.6-55.2 5"));
    }

    #[test]
    fn rows_do_not_overlap_at_any_size() {
        let h = of((1..2_000).map(|nr| nr * nr * 3));
        for bucket_ns in [1, 7, 300, 1_000, 1_500, 20_000] {
            let rows = histogram_rows(&h, Scale::Linear { bucket_ns, max_rows: 100_000 });
            for pair in rows.windows(2) {
                assert!(pair[0].high.is_some_and(|high| high <= pair[1].low), "{bucket_ns}");
            }
            assert!(rows.iter().all(|row| row.high.is_none_or(|high| high > row.low)));
            assert_eq!(rows.iter().map(|row| row.n).sum::<u64>(), h.len());
        }
    }
}
