// SPDX-License-Identifier: GPL-2.0-or-later
//! The same tests of two results of `respond` or `jitter` side by side, with ratios; for
//! `irqpath compare`.
//!
//! Tests are the same if what was measured is: source and CPU, loops of a CPU, interruptions of a
//! CPU. A single test of each result is compared whatever its CPU: the other one may be shielded.

use std::fmt::Write as _;

use irqpath_model::{Quantiles, Summary};
use serde::Serialize;

use crate::output::page::Page;

/// A row of numbers with its name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Row {
    what: What,
    cpu: u16,
    quantiles: Quantiles,
    /// Interrupts missed a test, or loops' jitter, ns.
    extra: u64,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum What {
    Response(irqpath_model::ResponseSource),
    Loops,
    Interruptions,
}

impl What {
    fn title(self) -> String {
        match self {
            Self::Response(source) => format!("response to {source}"),
            Self::Loops => "loops beyond the ideal".to_owned(),
            Self::Interruptions => "interruptions".to_owned(),
        }
    }
}

/// The same test in both results.
#[derive(Debug, Serialize)]
struct Pair {
    a: Row,
    b: Row,
}

/// Two results, test by test.
#[derive(Debug, Serialize)]
pub struct Comparison {
    both: Vec<Pair>,
    only_a: Vec<String>,
    only_b: Vec<String>,
}

/// Takes one number out of a row.
type Get = fn(&Quantiles) -> u64;

const ROWS: [(&str, Get); 6] = [
    ("avg", |q| q.mean_ns),
    ("Q50", |q| q.q50_ns),
    ("Q95", |q| q.q95_ns),
    ("Q99", |q| q.q99_ns),
    ("Q99.9", |q| q.q999_ns),
    ("max", |q| q.max_ns),
];

fn rows(summary: &Summary) -> Vec<Row> {
    let responses = summary.response().iter().map(|r| Row {
        what: What::Response(r.source),
        cpu: r.cpu,
        quantiles: r.quantiles,
        extra: r.nr_missed,
    });
    let jitter = summary.jitter().iter().flat_map(|j| {
        let row = |what, quantiles, extra| Row { what, cpu: j.cpu, quantiles, extra };
        let loops = j.loops.as_ref().map(|l| row(What::Loops, l.excess, l.jitter_ns));
        let interruptions = j.interruptions.as_ref();
        loops.into_iter().chain(interruptions.map(|i| row(What::Interruptions, i.quantiles, 0)))
    });
    responses.chain(jitter).collect()
}

/// Find what is in both.
pub fn compare(a: &Summary, b: &Summary) -> Comparison {
    let (a, mut b) = (rows(a), rows(b));
    let is_single = a.len() == 1 && b.len() == 1;
    let (mut both, mut only_a) = (Vec::new(), Vec::new());
    for row in a {
        let is_same = |o: &Row| o.what == row.what && (is_single || o.cpu == row.cpu);
        match b.iter().position(is_same) {
            Some(at) => both.push(Pair { a: row, b: b.remove(at) }),
            None => only_a.push(name(&row)),
        }
    }
    Comparison { both, only_a, only_b: b.iter().map(name).collect() }
}

fn name(row: &Row) -> String {
    format!("{} on CPU {}", row.what.title(), row.cpu)
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

fn ratio(a: u64, b: u64) -> String {
    if a == 0 { "-".to_owned() } else { format!("{:.2}", b as f64 / a as f64) }
}

impl Comparison {
    /// True if neither result has such tests.
    pub fn is_empty(&self) -> bool {
        self.both.is_empty() && self.only_a.is_empty() && self.only_b.is_empty()
    }

    /// One line per test and number.
    pub fn table(&self) -> Page {
        let mut text = Page::of(format_args!(
            "{:<36} {:>8} {:>12} {:>12} {:>7}",
            "TEST", "", "A us", "B us", "B/A"
        ));
        for Pair { a, b } in &self.both {
            let mut title = name(a);
            if a.cpu != b.cpu {
                let _ = write!(title, " and {}", b.cpu);
            }
            let (n_a, n_b) = (a.quantiles.n, b.quantiles.n);
            text.line(format_args!(
                "{title:<36} {:>8} {n_a:>12} {n_b:>12} {:>7}",
                "count",
                ratio(n_a, n_b)
            ));
            for (row, get) in ROWS {
                let (a, b) = (get(&a.quantiles), get(&b.quantiles));
                let (a_us, b_us) = (us(a), us(b));
                text.line(format_args!(
                    "{:36} {row:>8} {a_us:>12} {b_us:>12} {:>7}",
                    "",
                    ratio(a, b)
                ));
            }
        }
        for (name, tests) in [("A", &self.only_a), ("B", &self.only_b)] {
            for test in tests {
                text.line(format_args!("only in {name}: {test}"));
            }
        }
        if self.both.is_empty() {
            text.line("No test is in both results.");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_analysis::jitter::loops;
    use irqpath_model::{IdealSource, Jitter, Measured};

    fn summary(cpus: &[(u16, u64)]) -> Summary {
        let of = |&(cpu, max_ns): &(u16, u64)| Jitter {
            cpu,
            tid: 1,
            sched: "f:80".to_owned(),
            loops: loops(&[1_000_000, max_ns], 5, (1_000_000, IdealSource::Given)),
            interruptions: None,
        };
        Summary::of(Measured::Jitter { jitter: cpus.iter().map(of).collect() })
    }

    #[test]
    fn tests_of_the_same_cpu_are_compared() {
        let (a, b) =
            (summary(&[(1, 1_200_000), (2, 1_100_000)]), summary(&[(2, 1_050_000), (3, 9)]));
        let found = compare(&a, &b);
        let text = found.table();
        for part in ["loops beyond the ideal on CPU 2", "100.0", "50.0", "0.50"] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.contains("only in A: loops beyond the ideal on CPU 1"), "{text}");
        assert!(text.contains("only in B: loops beyond the ideal on CPU 3"), "{text}");
        assert!(!found.is_empty() && compare(&Summary::default(), &Summary::default()).is_empty());
    }

    #[test]
    fn a_single_test_is_compared_with_a_single_test() {
        let found = compare(&summary(&[(1, 2_000_000)]), &summary(&[(3, 1_500_000)]));
        assert!(found.table().contains("on CPU 1 and 3"), "{}", found.table());
    }
}
