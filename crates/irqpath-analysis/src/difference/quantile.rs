// SPDX-License-Identifier: GPL-2.0-or-later
//! The difference of a quantile between two runs.
//!
//! Of `n` independent times, the number below the true quantile `q` is binomial, whatever the
//! distribution is. So the true quantile lies between the k-th and the next time with the
//! probability of k in that binomial (W. J. Conover, Practical Nonparametric Statistics, 1971).
//! The difference of two such quantiles follows by convolution. Of a histogram only the bin of a
//! time is known: the interval takes the bound that makes it wider.
//!
//! A percentile bootstrap would need random numbers, and is too narrow in the tail, as no draw lies
//! beyond the longest time of the sample. Here that is a probability of its own: where it exceeds
//! what an end of the interval leaves out, the samples are too few.

use super::{Bin, Difference, Sample};

/// Standard deviations of the binomial beyond which nothing is added up; 9 leave out 1e-18.
const REACH: f64 = 9.0;
/// More samples count as this many, which makes the interval wider.
const MAX_SAMPLES: u64 = 1 << 24;

/// The difference of quantile `q`, B minus A, wrong with the probability `error_rate`.
pub fn compare_quantile(a: &Sample, b: &Sample, q: f64, error_rate: f64) -> Difference {
    let tail = error_rate / 2.0;
    let needed = count_needed(q, tail);
    if a.len() < needed || b.len() < needed {
        return Difference::TooFew { needed };
    }
    let (a, b) = (Located::new(a, q), Located::new(b, q));
    let low_ns = quantile_of_difference(&b.lowest, &a.highest, tail);
    let high_ns = quantile_of_difference(&b.highest, &a.lowest, 1.0 - tail);
    match (low_ns, high_ns) {
        (Some(low_ns), Some(high_ns)) => Difference::Within { low_ns, high_ns },
        _ => Difference::TooFew { needed },
    }
}

/// Samples without which all of them lie on one side of the quantile too often. Two sides share
/// what an end of the interval leaves out.
fn count_needed(q: f64, tail: f64) -> u64 {
    let rarer = q.max(1.0 - q);
    ((tail / 2.0).ln() / rarer.ln()).ceil().max(2.0) as u64
}

/// Where the true quantile is: times and the probability of each, ascending.
struct Located {
    /// If every time was the lowest of its bin, and the quantile the time below it.
    lowest: Vec<(i64, f64)>,
    /// If every time was the highest of its bin, and the quantile the time above it.
    highest: Vec<(i64, f64)>,
}

impl Located {
    fn new(sample: &Sample, q: f64) -> Self {
        let n = sample.len().min(MAX_SAMPLES);
        let binomial = Binomial::new(n, q);
        let scale =
            |up_to: u64| (u128::from(up_to) * u128::from(n) / u128::from(sample.len())) as u64;
        let (mut lowest, mut highest) = (Vec::new(), Vec::new());
        // Nothing below the quantile: it may be as short as a time can be.
        let below_all = binomial.up_to(0);
        lowest.push((0, below_all));
        let mut before = 0;
        for &Bin { low_ns, high_ns, up_to } in binomial.relevant(sample, &scale) {
            let up_to = scale(up_to);
            // The k-th time is in this bin for k from `before` + 1 to `up_to`.
            push_mass(&mut lowest, low_ns, binomial.between(before + 1, up_to));
            let first = before;
            push_mass(&mut highest, high_ns, binomial.between(first, up_to.saturating_sub(1)));
            before = up_to;
        }
        // All below the quantile: it may be as long as it likes.
        highest.push((i64::MAX, binomial.between(n, n)));
        Self { lowest, highest }
    }
}

fn push_mass(list: &mut Vec<(i64, f64)>, ns: u64, mass: f64) {
    if mass > 0.0 {
        list.push((i64::try_from(ns).unwrap_or(i64::MAX - 1), mass));
    }
}

/// How many of `n` times are below a quantile: the probabilities that matter, added up.
struct Binomial {
    first: u64,
    /// Of `first + i` and fewer.
    cumulated: Vec<f64>,
}

impl Binomial {
    fn new(n: u64, q: f64) -> Self {
        let (mean, deviation) = (n as f64 * q, (n as f64 * q * (1.0 - q)).sqrt());
        let first = (mean - REACH * deviation - REACH).max(0.0) as u64;
        let last = ((mean + REACH * deviation + REACH) as u64).min(n);
        let mode = (((n + 1) as f64 * q) as u64).clamp(first, last);
        let mut masses = vec![0.0_f64; usize::try_from(last - first).unwrap_or(0) + 1];
        let odds = q / (1.0 - q);
        let at = (mode - first) as usize;
        masses[at] = 1.0;
        for i in at + 1..masses.len() {
            let k = first + i as u64;
            masses[i] = masses[i - 1] * odds * (n - k + 1) as f64 / k as f64;
        }
        for i in (0..at).rev() {
            let k = first + i as u64;
            masses[i] = masses[i + 1] / odds * (k + 1) as f64 / (n - k) as f64;
        }
        let total: f64 = masses.iter().sum();
        let mut sum = 0.0;
        for mass in &mut masses {
            sum += *mass / total;
            *mass = sum;
        }
        Self { first, cumulated: masses }
    }

    /// The probability of `k` and fewer.
    fn up_to(&self, k: u64) -> f64 {
        let Some(at) = k.checked_sub(self.first) else { return 0.0 };
        let at = usize::try_from(at).unwrap_or(usize::MAX).min(self.cumulated.len() - 1);
        self.cumulated[at]
    }

    /// The probability of `first` to `last`, both included.
    fn between(&self, first: u64, last: u64) -> f64 {
        if last < first {
            return 0.0;
        }
        let below = first.checked_sub(1).map_or(0.0, |k| self.up_to(k));
        (self.up_to(last) - below).max(0.0)
    }

    /// The bins that have a probability, and one before them.
    fn relevant<'a>(
        &self,
        sample: &'a Sample,
        scale: &dyn Fn(u64) -> u64,
    ) -> impl Iterator<Item = &'a Bin> + use<'a> {
        let last = self.first + self.cumulated.len() as u64;
        let bins = sample.bins();
        let end = bins.partition_point(|bin| scale(bin.up_to) <= last);
        bins[..(end + 1).min(bins.len())].iter()
    }
}

/// The difference below which X minus Y lies with this probability; `None` if it has no bound.
fn quantile_of_difference(x: &[(i64, f64)], y: &[(i64, f64)], probability: f64) -> Option<i64> {
    let longest = |list: &[(i64, f64)]| {
        let finite = list.iter().map(|(ns, _)| *ns).filter(|ns| *ns < i64::MAX);
        finite.max().unwrap_or(0)
    };
    let (mut low, mut high) = (-longest(y) - 1, longest(x));
    if probability_up_to(x, y, high) < probability || probability_up_to(x, y, low) >= probability {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if probability_up_to(x, y, middle) >= probability {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}

/// The probability that X minus Y is at most `d`.
fn probability_up_to(x: &[(i64, f64)], y: &[(i64, f64)], d: i64) -> f64 {
    let (mut at, mut below, mut total) = (0, 0.0, 0.0);
    for &(ns, mass) in y {
        // Whatever X is, it is less than a Y without bound.
        let limit = ns.saturating_add(d);
        while at < x.len() && (x[at].0 <= limit && x[at].0 < i64::MAX || ns == i64::MAX) {
            below += x[at].1;
            at += 1;
        }
        total += mass * below;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::bench::Latencies;

    fn sample(times: impl IntoIterator<Item = u64>) -> Sample {
        Sample::from(&times.into_iter().collect::<Latencies>())
    }

    #[test]
    fn binomials_are_those_of_the_book() {
        let binomial = Binomial::new(20, 0.5);
        for (k, want) in [(5, 0.020_695), (10, 0.588_099), (14, 0.979_305), (20, 1.0)] {
            assert!((binomial.up_to(k) - want).abs() < 1e-6, "{k}: {}", binomial.up_to(k));
        }
        let large = Binomial::new(1_000_000_000, 0.99);
        assert!((large.up_to(990_000_000) - 0.5).abs() < 1e-4);
    }

    #[test]
    fn the_tail_wants_samples() {
        for (q, needed) in [(0.5, 7), (0.95, 86), (0.99, 437), (0.999, 4380)] {
            assert_eq!(count_needed(q, 0.025), needed, "{q}");
            let few = sample(1..needed);
            let found = compare_quantile(&few, &few, q, 0.05);
            assert_eq!(found, Difference::TooFew { needed }, "{q}");
            let enough = sample(1..=needed);
            let found = compare_quantile(&enough, &enough, q, 0.05);
            assert!(matches!(found, Difference::Within { .. }), "{q}");
        }
        let none = compare_quantile(&Sample::default(), &sample(1..9000), 0.5, 0.05);
        assert_eq!(none, Difference::TooFew { needed: 7 });
    }

    #[test]
    fn a_shift_is_found_with_its_sign_and_equal_samples_hold_zero() {
        let (a, b) = (sample(10_000..11_000), sample(10_200..11_200));
        let Difference::Within { low_ns, high_ns } = compare_quantile(&a, &b, 0.5, 0.05) else {
            panic!("1000 samples are enough");
        };
        assert!(low_ns > 100 && high_ns < 300 && low_ns < 200 && high_ns > 200);
        let back = compare_quantile(&b, &a, 0.5, 0.05);
        let Difference::Within { low_ns: low, high_ns: high } = back else { panic!("{back:?}") };
        assert!((low + high_ns).abs() <= 1 && (high + low_ns).abs() <= 1, "{low} {high}");
        assert!(!compare_quantile(&a, &a, 0.5, 0.05).is_shown());
    }

    #[test]
    fn what_differs_within_a_bucket_is_not_shown() {
        let mut histogram = irqpath_model::Histogram::default();
        histogram.record_n(1_000_000, 100_000);
        histogram.widen_to(1_000_000, 1_004_000, 0);
        let mut other = irqpath_model::Histogram::default();
        other.record_n(1_003_000, 100_000);
        other.widen_to(1_000_500, 1_004_500, 0);
        let (a, b) = (Sample::from(&histogram), Sample::from(&other));
        assert!(!compare_quantile(&a, &b, 0.5, 0.05).is_shown());
    }
}
