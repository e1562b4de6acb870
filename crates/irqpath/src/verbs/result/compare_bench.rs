// SPDX-License-Identifier: GPL-2.0-or-later
//! The same series of two results of `bench` side by side, with ratios; for `irqpath compare`.
//!
//! Series are the same if their labels are: a label says the mechanism and what differs within
//! its result, so two runs of one command have the same labels.

use irqpath_model::bench::{BenchQuantiles, BenchSeries};
use serde::Serialize;

use crate::output::page::Page;

/// The numbers of a series in one result.
#[derive(Debug, Serialize)]
pub struct Numbers<'a> {
    #[serde(flatten)]
    quantiles: &'a BenchQuantiles,
    max_irq_ns: u64,
    nr_irq: Option<u64>,
}

/// A series that both results have.
#[derive(Debug, Serialize)]
pub struct SeriesPair<'a> {
    label: &'a str,
    a: Numbers<'a>,
    b: Numbers<'a>,
}

/// Two results, series by series.
#[derive(Debug, Serialize)]
pub struct BenchComparison<'a> {
    both: Vec<SeriesPair<'a>>,
    only_a: Vec<&'a str>,
    only_b: Vec<&'a str>,
}

/// Takes one number out of a row.
type Get = fn(&Numbers<'_>) -> u64;

const ROWS: [(&str, Get); 5] = [
    ("Q05", |n| n.quantiles.q05_ns),
    ("Q50", |n| n.quantiles.q50_ns),
    ("Q95", |n| n.quantiles.q95_ns),
    ("max", |n| n.quantiles.max_ns),
    ("max irq", |n| n.max_irq_ns),
];

/// Find what is in both.
pub fn compare<'a>(a: &'a [BenchSeries], b: &'a [BenchSeries]) -> BenchComparison<'a> {
    let same = |s: &BenchSeries, all: &'a [BenchSeries]| all.iter().find(|o| o.label == s.label);
    let pair = |s: &'a BenchSeries| {
        same(s, b).map(|other| SeriesPair { label: &s.label, a: numbers(s), b: numbers(other) })
    };
    let lone = |here: &'a [BenchSeries], there| {
        here.iter().filter(|s| same(s, there).is_none()).map(|s| s.label.as_str()).collect()
    };
    BenchComparison {
        both: a.iter().filter_map(pair).collect(),
        only_a: lone(a, b),
        only_b: lone(b, a),
    }
}

fn numbers(s: &BenchSeries) -> Numbers<'_> {
    Numbers { quantiles: &s.quantiles, max_irq_ns: s.max_irq_ns, nr_irq: s.nr_irq }
}

fn us(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e3)
}

fn ratio(a: u64, b: u64) -> String {
    if a == 0 { "-".to_owned() } else { format!("{:.2}", b as f64 / a as f64) }
}

impl BenchComparison<'_> {
    /// True if neither result has benchmarks.
    pub fn is_empty(&self) -> bool {
        self.both.is_empty() && self.only_a.is_empty() && self.only_b.is_empty()
    }

    /// One line per series and quantile.
    pub fn table(&self) -> Page {
        let mut text = Page::of(format_args!(
            "{:<40} {:>8} {:>12} {:>12} {:>7}",
            "MECHANISM", "", "A us", "B us", "B/A"
        ));
        for pair in &self.both {
            let mut name = pair.label;
            for (row, get) in ROWS {
                let (a, b) = (get(&pair.a), get(&pair.b));
                let (a_us, b_us, ratio) = (us(a), us(b), ratio(a, b));
                text.line(format_args!("{name:<40} {row:>8} {a_us:>12} {b_us:>12} {ratio:>7}"));
                name = "";
            }
        }
        for (name, labels) in [("A", &self.only_a), ("B", &self.only_b)] {
            for label in labels {
                text.line(format_args!("only in {name}: {label}"));
            }
        }
        if self.both.is_empty() {
            text.line("No series is in both results.");
        }
        text
    }
}
