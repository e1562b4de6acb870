// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath compare A B`: the same paths of two results side by side, with ratios. Benchmarks are
//! compared by `compare_bench`, tests of response and determinism by `compare_timing`.

use std::process::ExitCode;

use irqpath_model::{PathKey, PathSummary, Quantiles, Summary};
use serde::Serialize;

use super::args::Compare;
use super::compare_bench as bench;
use super::{compare_timing as timing, directory};
use crate::output::console;
use crate::output::page::Page;

/// Schema version of the JSON output.
const FORMAT: u32 = 1;

/// Takes one number out of the row.
type Get = fn(&Quantiles) -> u64;

/// The quantiles compared, and how to get them.
const QUANTILES: [(&str, Get); 4] =
    [("Q50", |q| q.q50_ns), ("Q95", |q| q.q95_ns), ("Q99", |q| q.q99_ns), ("MAX", |q| q.max_ns)];

/// A path that both results have.
#[derive(Debug, Serialize)]
struct Pair<'a> {
    key: &'a PathKey,
    origin_name: &'a str,
    via: &'a str,
    a: &'a Quantiles,
    b: &'a Quantiles,
}

/// Two results, path by path and series by series.
#[derive(Debug, Serialize)]
struct Comparison<'a> {
    schema_version: u32,
    both: Vec<Pair<'a>>,
    only_a: Vec<&'a PathKey>,
    only_b: Vec<&'a PathKey>,
    bench: bench::BenchComparison<'a>,
    tests: timing::Comparison,
}

pub fn run(arguments: &Compare) -> anyhow::Result<ExitCode> {
    let a = directory::read(&arguments.a, directory::MAX_OF_TWO)?;
    let b = directory::read(&arguments.b, directory::MAX_OF_TWO)?;
    let comparison = compare(&a.summary, &b.summary);
    if arguments.json {
        console::json(&comparison, false)?;
    } else {
        let names = [(&arguments.a, &a), (&arguments.b, &b)].map(|(path, s)| {
            let kernel = &s.meta.kernel;
            let on = kernel.policies_suffix();
            format!("{} ({}, {}{on})", path.display(), s.meta.host, kernel.release)
        });
        let (benchmarks, tests) = (&comparison.bench, &comparison.tests);
        let table = match (benchmarks.is_empty(), tests.is_empty()) {
            (_, false) => tests.table(),
            (false, _) => benchmarks.table(),
            _ => table(&comparison),
        };
        let mut page = Page::default();
        page.line(format_args!("A: {}", names[0]));
        page.line(format_args!("B: {}", names[1]));
        page.blank();
        page.append(&table);
        console::print(&page)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare<'a>(a: &'a Summary, b: &'a Summary) -> Comparison<'a> {
    let find = |summary: &'a Summary, key: &PathKey| {
        summary.traced().paths.iter().find(|p| is_same(&p.key, key))
    };
    let pair = |p: &'a PathSummary| {
        find(b, &p.key).map(|q| Pair {
            key: &p.key,
            origin_name: &p.origin_name,
            via: &p.via,
            a: &p.total,
            b: &q.total,
        })
    };
    let lone = |here: &'a Summary, there| {
        here.traced()
            .paths
            .iter()
            .map(|p| &p.key)
            .filter(move |k| find(there, k).is_none())
            .collect()
    };
    Comparison {
        schema_version: FORMAT,
        both: a.traced().paths.iter().filter_map(pair).collect(),
        only_a: lone(a, b),
        only_b: lone(b, a),
        bench: bench::compare(a.bench(), b.bench()),
        tests: timing::compare(a, b),
    }
}

/// The same path, also where one of the results is of a version that did not tell priorities.
fn is_same(a: &PathKey, b: &PathKey) -> bool {
    a.covers(b) || b.covers(a)
}

/// The target's name, with its priority where it is no common one.
fn target(key: &PathKey) -> String {
    match key.sched {
        Some(sched) if !sched.is_default() => format!("{} {sched}", key.comm),
        _ => key.comm.to_string(),
    }
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

fn ratio(a: u64, b: u64) -> String {
    if a == 0 { "-".to_owned() } else { format!("{:.2}", b as f64 / a as f64) }
}

/// One line per path and quantile, so that it fits a terminal.
fn table(comparison: &Comparison<'_>) -> Page {
    let mut text = Page::of(format_args!(
        "{:<24} {:<18} {:<16} {:>10} {:>12} {:>12} {:>7}",
        "INTERRUPT", "VIA", "TARGET", "", "A us", "B us", "B/A"
    ));
    for pair in &comparison.both {
        text.line(format_args!(
            "{:<24} {:<18} {:<16} {:>10} {:>12} {:>12} {:>7}",
            pair.origin_name,
            pair.via,
            target(pair.key),
            "count",
            pair.a.n,
            pair.b.n,
            ratio(pair.a.n, pair.b.n)
        ));
        for (name, get) in QUANTILES {
            let (a, b) = (get(pair.a), get(pair.b));
            text.line(format_args!(
                "{:60} {name:>10} {:>12} {:>12} {:>7}",
                "",
                us(a),
                us(b),
                ratio(a, b)
            ));
        }
    }
    for (name, keys) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        for key in keys {
            text.line(format_args!(
                "only in {name}: {} via {} to {}",
                key.origin.label(),
                key.via.describe(),
                target(key)
            ));
        }
    }
    if comparison.both.is_empty() {
        text.line("No path is in both results.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Histogram, Measured, Names, Origin, PathStats, Paths, Via};

    fn summary(paths: &[(u32, u64)]) -> Summary {
        let path = |&(irq, ns): &(u32, u64)| {
            let key = PathKey {
                origin: Origin::Irq(irq),
                via: Via::empty(),
                comm: "t".into(),
                sched: None,
                folded: false,
            };
            let mut total = Histogram::default();
            total.record(ns);
            PathSummary::new(PathStats { total, ..PathStats::new(key) }, &Names::default())
        };
        let paths = paths.iter().map(path).collect();
        Summary::of(Measured::Paths(Paths { paths, ..Paths::default() }))
    }

    #[test]
    fn ratios_of_common_paths_and_a_list_of_the_rest() {
        let (a, b) = (summary(&[(1, 10_000), (2, 5_000)]), summary(&[(1, 25_000), (3, 1_000)]));
        let comparison = compare(&a, &b);
        assert_eq!(comparison.both.len(), 1);
        let text = table(&comparison);
        for part in ["10.0", "25.0", "2.50", "only in A: 2", "only in B: 3"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn nothing_in_common_is_said() {
        let (a, b) = (summary(&[]), summary(&[(3, 0)]));
        assert!(table(&compare(&a, &b)).contains("No path is in both"));
        assert_eq!(ratio(0, 5), "-");
    }
}
