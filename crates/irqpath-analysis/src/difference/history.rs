// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a history of runs changes its level.
//!
//! The place is that of E-divisive (D. S. Matteson and N. A. James, A Nonparametric Approach for
//! Multiple Change Point Analysis of Multivariate Data, 2014): the split with the largest energy
//! distance between what is before and after it, and then again in both parts. As in Apache Otava,
//! Student's t decides whether the split counts, which needs no random permutations. The split
//! was chosen as the largest of many, so its probability is multiplied by their number.

use super::RunValue;
use super::runs::moments_of;
use super::student::two_sided_p;

/// Most runs of a history: the work grows with the square.
pub const MAX_HISTORY: usize = 1000;
/// Runs on each side of a change; a single one could be an outlier.
const LEAST_RUNS: usize = 2;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first run after it.
    pub at: usize,
    /// Mean of the runs since the change before, ns.
    pub before_ns: f64,
    /// Mean of the runs until the next change, ns.
    pub after_ns: f64,
    /// Probability that runs of one level show such a change anywhere.
    pub p: f64,
}

/// The changes of a history, in its order; each is wrong with at most `error_rate`.
pub fn find_changes(history: &[RunValue], error_rate: f64) -> Vec<Change> {
    let mut found = Vec::new();
    let mut open = vec![(0, history.len().min(MAX_HISTORY))];
    while let Some((from, to)) = open.pop() {
        let Some((at, p)) = find_change(&history[from..to]) else { continue };
        if p <= error_rate {
            found.push((from + at, p));
            open.extend([(from, from + at), (from + at, to)]);
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let ends: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let mean = |from: usize, to: usize| moments_of(&history[from..to]).mean;
    let change = |(i, (at, p)): (usize, &(usize, f64))| Change {
        at: *at,
        before_ns: mean(if i == 0 { 0 } else { ends[i - 1] }, *at),
        after_ns: mean(*at, ends.get(i + 1).copied().unwrap_or(history.len().min(MAX_HISTORY))),
        p: *p,
    };
    found.iter().enumerate().map(change).collect()
}

/// The split of a part with the largest energy distance, and its probability.
fn find_change(part: &[RunValue]) -> Option<(usize, f64)> {
    let nr_splits = (part.len() + 1).checked_sub(2 * LEAST_RUNS).filter(|n| *n > 0)?;
    let at = split_by_energy(part);
    let (a, b) = (moments_of(&part[..at]), moments_of(&part[at..]));
    let df = a.n + b.n - 2.0;
    let pooled = ((a.n - 1.0) * a.variance + (b.n - 1.0) * b.variance) / df;
    let t = (b.mean - a.mean).abs() / (pooled * (1.0 / a.n + 1.0 / b.n)).sqrt();
    // Equal values to the last digit: no change, or nothing but a change.
    let p = if t.is_nan() { 1.0 } else { two_sided_p(t, df) };
    Some((at, (p * nr_splits as f64).min(1.0)))
}

/// The split with the largest energy distance, scaled by the sizes of the parts.
fn split_by_energy(part: &[RunValue]) -> usize {
    let n = part.len();
    let gap = |i: usize, j: usize| (part[i].ns - part[j].ns).abs();
    // Sums of the distances within the first part, within the second, and between them.
    let mut within_first = 0.0;
    let mut within_second: f64 = (0..n).map(|i| (0..i).map(|j| gap(i, j)).sum::<f64>()).sum();
    let mut between = 0.0;
    let mut best = (LEAST_RUNS, f64::NEG_INFINITY);
    for at in 1..n {
        let moved = at - 1;
        let to_first: f64 = (0..moved).map(|i| gap(i, moved)).sum();
        let to_second: f64 = (at..n).map(|j| gap(moved, j)).sum();
        within_first += to_first;
        within_second -= to_second;
        between += to_second - to_first;
        if at < LEAST_RUNS || n - at < LEAST_RUNS {
            continue;
        }
        let (first, second) = (at as f64, (n - at) as f64);
        let pairs = |m: f64| m * (m - 1.0) / 2.0;
        let energy = 2.0 * between / (first * second)
            - within_first / pairs(first)
            - within_second / pairs(second);
        let scaled = energy * first * second / (first + second);
        if scaled > best.1 {
            best = (at, scaled);
        }
    }
    best.0
}
