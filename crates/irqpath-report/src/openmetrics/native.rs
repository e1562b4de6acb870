// SPDX-License-Identifier: GPL-2.0-or-later
//! Native histograms: exponential buckets of which only the occupied ones are sent, so that a
//! histogram is one series, whatever it holds.
//!
//! Bucket `i` holds times above `2^((i-1)/8)` s up to `2^(i/8)` s (schema 3 of Prometheus; OTLP's
//! scale 3 has the same bounds). A bucket of ours is a third as wide and counts where its upper end
//! lies: always in the same place, because a count that fell would be a restart to Prometheus.

use std::collections::BTreeMap;
use std::time::SystemTime;

use irqpath_model::{Histogram, MAX_TRACKABLE_NS};
use prometheus_client::encoding::{NativeHistogram, NativeHistogramBuckets};

/// Buckets for each power of two: 2 to the power of this.
pub const SCHEMA: i32 = 3;
/// Only what took no time at all is in the bucket of zeros.
pub const ZERO_THRESHOLD: f64 = 1e-12;

/// A histogram as the exposition has it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Native {
    zero_count: u64,
    /// Gap since the bucket before (of the first, its number), and how many follow one another.
    spans: Vec<(i32, u32)>,
    /// Each count less the one before.
    deltas: Vec<i64>,
}

/// The bucket of a time, ns above 0.
fn bucket_of(ns: u64) -> i32 {
    let seconds = ns as f64 / 1e9;
    (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32
}

/// The count of zeros, and that of each bucket by its number; what the histogram could not hold has the
/// bucket after all others.
pub fn count_buckets(histogram: &Histogram) -> (u64, BTreeMap<i32, u64>) {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    let (mut zero_count, mut counted) = (0, 0);
    for (_, high, n) in histogram.iter_buckets() {
        counted += n;
        match high {
            0 => zero_count += n,
            ns => *counts.entry(bucket_of(ns)).or_default() += n,
        }
    }
    let overflow = histogram.len().saturating_sub(counted);
    if overflow > 0 {
        *counts.entry(bucket_of(MAX_TRACKABLE_NS) + 1).or_default() += overflow;
    }
    (zero_count, counts)
}

impl Native {
    /// With the buckets of a histogram.
    pub fn from_histogram(histogram: &Histogram) -> Self {
        let (zero_count, counts) = count_buckets(histogram);
        let mut native = Self { zero_count, ..Self::default() };
        native.append_buckets(&counts);
        native
    }

    fn append_buckets(&mut self, counts: &BTreeMap<i32, u64>) {
        let (mut next, mut before) = (0, 0);
        for (&bucket, &n) in counts {
            match self.spans.last_mut() {
                Some((_, length)) if bucket == next => *length += 1,
                _ => self.spans.push((bucket - next, 1)),
            }
            let n = i64::try_from(n).unwrap_or(i64::MAX);
            self.deltas.push(n - before);
            (next, before) = (bucket + 1, n);
        }
    }

    /// In the encoder's words; `since` is when counting began.
    pub fn encoded(&self, since: Option<SystemTime>) -> NativeHistogram<'_> {
        NativeHistogram {
            schema: SCHEMA,
            zero_threshold: ZERO_THRESHOLD,
            zero_count: self.zero_count,
            negative: NativeHistogramBuckets { spans: &[], deltas: &[] },
            positive: NativeHistogramBuckets { spans: &self.spans, deltas: &self.deltas },
            created: since,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upper_s(bucket: i32) -> f64 {
        (f64::from(bucket) / f64::from(1 << SCHEMA)).exp2()
    }

    #[test]
    fn a_time_is_in_the_bucket_whose_bounds_enclose_it() {
        for ns in [1, 100, 999, 1_000_000, 123_456_789, 68_000_000_000] {
            let (bucket, seconds) = (bucket_of(ns), ns as f64 / 1e9);
            assert!(seconds <= upper_s(bucket) * 1.000_000_1, "{ns}");
            assert!(seconds > upper_s(bucket - 1) * 0.999_999_9, "{ns}");
        }
    }

    #[test]
    fn spans_and_deltas_give_the_counts_back() {
        let mut histogram = Histogram::default();
        for (ns, n) in [(0, 2), (1_000, 5), (1_050, 1), (1_200_000, 3), (90_000_000_000, 1)] {
            (0..n).for_each(|_| histogram.record_ns(ns));
        }
        let native = Native::from_histogram(&histogram);
        let (mut next, mut count, mut all) = (0, 0, 0);
        let mut deltas = native.deltas.iter();
        let mut last = 0;
        for &(gap, length) in &native.spans {
            next += gap;
            for _ in 0..length {
                count += deltas.next().unwrap();
                assert!(count > 0, "an empty bucket is not sent");
                all += count;
                last = next;
                next += 1;
            }
        }
        assert!(deltas.next().is_none());
        assert_eq!(u64::try_from(all).unwrap() + native.zero_count, histogram.len());
        assert_eq!(native.zero_count, 2);
        assert_eq!(last, bucket_of(MAX_TRACKABLE_NS) + 1, "too long for the histogram");
    }

    /// Count of each bucket by its number.
    fn counts(native: &Native) -> BTreeMap<i32, i64> {
        let (mut next, mut count, mut deltas) = (0, 0, native.deltas.iter());
        let mut all = BTreeMap::new();
        for &(gap, length) in &native.spans {
            next += gap;
            for _ in 0..length {
                count += deltas.next().unwrap();
                all.insert(next, count);
                next += 1;
            }
        }
        all
    }

    #[test]
    fn no_bucket_ever_falls() {
        let mut histogram = Histogram::default();
        let mut before = BTreeMap::new();
        let mut ns: u64 = 90;
        while ns < 200_000_000_000 {
            histogram.record_ns(ns);
            let now = counts(&Native::from_histogram(&histogram));
            for (bucket, count) in &before {
                assert!(now.get(bucket) >= Some(count), "bucket {bucket} at {ns} ns");
            }
            before = now;
            ns += ns / 50 + 1;
        }
    }

    #[test]
    fn an_empty_histogram_has_no_buckets() {
        assert_eq!(Native::from_histogram(&Histogram::default()), Native::default());
    }
}
