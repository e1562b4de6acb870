// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares two sides number by number.

use irqpath_analysis::difference::{
    Difference, ERROR_RATE, RunValue, compare_quantile, compare_runs,
};

use super::collect::{Entry, Run, Value};
use super::{Basis, Comparison, FORMAT, Number, Row, Verdict};

/// Compares the runs of two sides; what they have in common is found by name.
pub fn compare_results(a: &[Run], b: &[Run]) -> Comparison {
    let basis = if a.iter().chain(b).all(|run| run.is_exact) {
        Basis::Exact
    } else if a.len() == 1 && b.len() == 1 {
        Basis::Samples
    } else {
        Basis::Runs
    };
    let (pairs, only_a, only_b) = pair_entries(a, b);
    let nr_judged = pairs.iter().map(|(a, _)| nr_intervals(a[0])).sum::<u64>();
    let error_rate = ERROR_RATE / nr_judged.max(1) as f64;
    let rows = pairs.iter().map(|(a, b)| compare_entries(a, b, basis, error_rate)).collect();
    let confidence = 1.0 - ERROR_RATE;
    Comparison { schema_version: FORMAT, basis, confidence, nr_judged, rows, only_a, only_b }
}

fn nr_intervals(entry: &Entry) -> u64 {
    entry.values.iter().filter(|value| value.quantile.is_some()).count() as u64
}

/// The entries of one name in the runs of each side.
type Pair<'a> = (Vec<&'a Entry>, Vec<&'a Entry>);

fn pair_entries<'a>(a: &'a [Run], b: &'a [Run]) -> (Vec<Pair<'a>>, Vec<String>, Vec<String>) {
    // A single test is compared whatever its CPU: the other one may be shielded.
    let find = |run: &'a Run, entry: &Entry| {
        let single = || run.single_test(&entry.key).filter(|_| a[0].entries.len() == 1);
        run.find(&entry.key).or_else(single)
    };
    let all = |side: &'a [Run], entry: &Entry| -> Vec<&'a Entry> {
        side.iter().filter_map(|run| find(run, entry)).collect()
    };
    let (mut pairs, mut only_a) = (Vec::new(), Vec::new());
    for entry in list_entries(a) {
        let pair = (all(a, entry), all(b, entry));
        if pair.1.is_empty() {
            only_a.push(entry.name.clone());
        } else {
            pairs.push(pair);
        }
    }
    let is_paired = |entry: &&Entry| {
        pairs.iter().any(|(_, b)| b.iter().any(|other| std::ptr::eq(*other, *entry)))
    };
    let only_b = list_entries(b).into_iter().filter(|entry| !is_paired(entry));
    let only_b = only_b.map(|entry| entry.name.clone()).collect();
    (pairs, only_a, only_b)
}

/// Every entry that a side has, each once.
fn list_entries(side: &[Run]) -> Vec<&Entry> {
    let mut all: Vec<&Entry> = Vec::new();
    for (i, run) in side.iter().enumerate() {
        let is_new = |entry: &&Entry| side[..i].iter().all(|run| run.find(&entry.key).is_none());
        all.extend(run.entries.iter().filter(is_new));
    }
    all
}

fn compare_entries(a: &[&Entry], b: &[&Entry], basis: Basis, error_rate: f64) -> Row {
    let numbers = a[0].values.iter().zip(&b[0].values).enumerate();
    let numbers = numbers.map(|(i, (first, _))| {
        let [a_ns, b_ns] = [a, b].map(|side| mean_ns(side, i));
        let verdict = match basis {
            Basis::Exact => judge_exact(a, b, i),
            _ if a.iter().chain(b).any(|entry| entry.base_ns != a[0].base_ns) => Verdict::NotJudged,
            Basis::Samples => judge_samples(a[0], b[0], first, error_rate),
            Basis::Runs => judge_runs(a, b, i, error_rate),
        };
        Number { name: first.name, a_ns, b_ns, verdict }
    });
    let count = |side: &[&Entry]| side.iter().map(|entry| entry.n).sum();
    let mut name = a[0].name.clone();
    if name != b[0].name && matches!(a[0].key, super::collect::Key::Test(..)) {
        name = format!("{name}; {}", b[0].name);
    }
    Row {
        name,
        a_n: count(a),
        b_n: count(b),
        a_runs: a.len() as u64,
        b_runs: b.len() as u64,
        is_same: match (basis, a, b) {
            (Basis::Exact, [a], [b]) if !a.sample.is_empty() => Some(a.sample == b.sample),
            _ => None,
        },
        numbers: numbers.collect(),
    }
}

fn mean_ns(side: &[&Entry], i: usize) -> u64 {
    let sum: u128 = side.iter().map(|entry| u128::from(entry.values[i].ns)).sum();
    (sum / side.len() as u128) as u64
}

/// Nothing varies: every difference between any two runs is one between the sides.
fn judge_exact(a: &[&Entry], b: &[&Entry], i: usize) -> Verdict {
    let range = |side: &[&Entry]| {
        let values = side.iter().map(|entry| entry.values[i].ns.cast_signed());
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let ((a_low, a_high), (b_low, b_high)) = (range(a), range(b));
    if (a_low, a_high, b_low) == (a_high, b_low, b_high) {
        return Verdict::Equal;
    }
    within(b_low - a_high, b_high - a_low)
}

fn judge_samples(a: &Entry, b: &Entry, value: &Value, error_rate: f64) -> Verdict {
    match value.quantile {
        Some(q) => to_verdict(compare_quantile(&a.sample, &b.sample, q, error_rate)),
        None => Verdict::NotJudged,
    }
}

fn judge_runs(a: &[&Entry], b: &[&Entry], i: usize, error_rate: f64) -> Verdict {
    let values = |side: &[&Entry]| -> Vec<RunValue> {
        side.iter().filter_map(|entry| entry.values[i].of_run).collect()
    };
    if a[0].values[i].quantile.is_none() {
        return Verdict::NotJudged;
    }
    to_verdict(compare_runs(&values(a), &values(b), error_rate))
}

fn to_verdict(difference: Difference) -> Verdict {
    match difference {
        Difference::TooFew { needed } => Verdict::TooFew { needed },
        Difference::Within { low_ns, high_ns } => within(low_ns, high_ns),
    }
}

const fn within(low_ns: i64, high_ns: i64) -> Verdict {
    if low_ns > 0 {
        Verdict::Longer { low_ns, high_ns }
    } else if high_ns < 0 {
        Verdict::Shorter { low_ns, high_ns }
    } else {
        Verdict::NotShown { low_ns, high_ns }
    }
}
