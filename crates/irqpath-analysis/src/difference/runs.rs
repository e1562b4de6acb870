// SPDX-License-Identifier: GPL-2.0-or-later
//! The difference of a quantile between two sets of runs.
//!
//! Two runs of one thing differ by more than their samples can show: placement in memory, boot,
//! temperature. With several runs a side each run is one value, and Student's t with the degrees
//! of freedom of B. L. Welch (The Generalization of Student's Problem, 1947) gives the interval.
//! What a bucket hides of a value is added to the variance.

use super::Difference;
use super::student::critical_t;

/// A quantile of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// The middle of its bin, ns.
    pub ns: f64,
    /// The width of its bin, ns.
    pub width_ns: f64,
}

/// Mean, variance and number of values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub mean: f64,
    /// Of the values about their mean; of a single one what its bin hides.
    pub variance: f64,
    pub n: f64,
}

pub(super) fn moments_of(values: &[RunValue]) -> Moments {
    let n = values.len() as f64;
    let mean = values.iter().map(|value| value.ns).sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value.ns - mean).powi(2)).sum();
    let hidden = values.iter().map(|value| value.width_ns.powi(2) / 12.0).sum::<f64>() / n;
    let seen = if values.len() > 1 { squares / (n - 1.0) } else { 0.0 };
    Moments { mean, variance: seen + hidden, n }
}

/// The difference of the means, B minus A, wrong with the probability `error_rate`. One side may
/// have a single run: it is taken to vary as the runs of the other side do.
pub fn compare_runs(a: &[RunValue], b: &[RunValue], error_rate: f64) -> Difference {
    if a.is_empty() || b.is_empty() || a.len() + b.len() < 3 {
        return Difference::TooFew { needed: 2 };
    }
    let (mut a, mut b) = (moments_of(a), moments_of(b));
    if a.n < 2.0 {
        a.variance = a.variance.max(b.variance);
    } else if b.n < 2.0 {
        b.variance = b.variance.max(a.variance);
    }
    let (va, vb) = (a.variance / a.n, b.variance / b.n);
    let part = |v: f64, n: f64| if n < 2.0 { 0.0 } else { v * v / (n - 1.0) };
    let known = part(va, a.n) + part(vb, b.n);
    let seen = (if a.n < 2.0 { 0.0 } else { va }) + (if b.n < 2.0 { 0.0 } else { vb });
    let df = if known > 0.0 { (seen * seen / known).max(1.0) } else { 1.0 };
    let reach = critical_t(error_rate, df) * (va + vb).sqrt();
    let difference = b.mean - a.mean;
    Difference::Within {
        low_ns: (difference - reach).floor() as i64,
        high_ns: (difference + reach).ceil() as i64,
    }
}
