// SPDX-License-Identifier: GPL-2.0-or-later
//! Response times counted: exactly between fixed bounds, and in an HDR histogram.
//!
//! The bounds of [`TABLE_NS`] are those of the tables below the figures in which shielded CPUs
//! were first reported, so that a result can be laid beside them.

use irqpath_model::{Bucket, Histogram};

/// Bounds of the documents' tables, ns: 0.01 ms to 100 ms, and 1 s for what the documents never saw.
pub const TABLE_NS: [u64; 24] = [
    10_000,
    20_000,
    30_000,
    50_000,
    100_000,
    200_000,
    300_000,
    400_000,
    500_000,
    600_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    30_000_000,
    40_000_000,
    50_000_000,
    60_000_000,
    70_000_000,
    80_000_000,
    90_000_000,
    100_000_000,
    1_000_000_000,
];

/// Bounds that double from 1 us to about 1 s, ns.
pub fn doubling_ns() -> Vec<u64> {
    (0..21).map(|power| 1_000 << power).collect()
}

/// Exact counts between ascending bounds.
#[derive(Debug, Clone)]
pub struct Buckets {
    bounds: Vec<u64>,
    counts: Vec<u64>,
}

impl Buckets {
    /// No counts; a time equal to a bound belongs above it.
    pub fn new(bounds: impl Into<Vec<u64>>) -> Self {
        let bounds = bounds.into();
        debug_assert!(bounds.is_sorted());
        Self { counts: vec![0; bounds.len() + 1], bounds }
    }

    /// Counts a time of `ns` in its bucket.
    pub fn record(&mut self, ns: u64) {
        self.counts[self.bounds.partition_point(|&bound| bound <= ns)] += 1;
    }

    /// The buckets from the shortest time to the longest that occurred.
    pub fn buckets(&self) -> Vec<Bucket> {
        let used = self.counts.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
        let low = |at: usize| at.checked_sub(1).map_or(0, |below| self.bounds[below]);
        (0..used)
            .map(|at| Bucket {
                low_ns: low(at),
                high_ns: self.bounds.get(at).copied(),
                n: self.counts[at],
            })
            .collect()
    }
}

/// Everything that is counted about response times.
#[derive(Debug, Clone)]
pub struct ResponseCounter {
    /// All of them, for quantiles.
    pub histogram: Histogram,
    /// Buckets of the printed table, with the bounds [`TABLE_NS`].
    pub table: Buckets,
    /// Buckets that double in width, with the bounds [`doubling_ns`].
    pub doubling: Buckets,
}

impl Default for ResponseCounter {
    fn default() -> Self {
        Self {
            histogram: Histogram::default(),
            table: Buckets::new(TABLE_NS),
            doubling: Buckets::new(doubling_ns()),
        }
    }
}

impl ResponseCounter {
    /// Count one response, ns.
    pub fn record(&mut self, ns: u64) {
        self.histogram.record_ns(ns);
        self.table.record(ns);
        self.doubling.record(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_above() {
        let mut buckets = Buckets::new([10, 20]);
        for ns in [0, 9, 10, 19, 20, u64::MAX] {
            buckets.record(ns);
        }
        let rows: Vec<_> =
            buckets.buckets().into_iter().map(|b| (b.low_ns, b.high_ns, b.n)).collect();
        assert_eq!(rows, [(0, Some(10), 2), (10, Some(20), 2), (20, None, 2)]);
    }

    #[test]
    fn buckets_end_with_the_longest_time() {
        assert!(Buckets::new(TABLE_NS).buckets().is_empty());
        let mut counter = ResponseCounter::default();
        for ns in [11_000, 12_000, 27_000] {
            counter.record(ns);
        }
        // The document's third table: 11 us at least, 27 us at most.
        let rows: Vec<_> = counter.table.buckets().into_iter().map(|b| (b.high_ns, b.n)).collect();
        assert_eq!(rows, [(Some(10_000), 0), (Some(20_000), 2), (Some(30_000), 1)]);
        let last = *counter.doubling.buckets().last().unwrap();
        assert_eq!((last.low_ns, last.high_ns, last.n), (16_000, Some(32_000), 1));
    }

    proptest! {
        #[test]
        fn every_time_is_in_its_bucket(
            all in prop::collection::vec(0u64..3_000_000_000, 1..200),
        ) {
            let mut counter = ResponseCounter::default();
            for &ns in &all {
                counter.record(ns);
            }
            for buckets in [counter.table.buckets(), counter.doubling.buckets()] {
                for b in &buckets {
                    let inside = |ns: u64| ns >= b.low_ns && b.high_ns.is_none_or(|high| ns < high);
                    prop_assert_eq!(all.iter().filter(|&&ns| inside(ns)).count() as u64, b.n);
                }
                prop_assert_eq!(buckets.iter().map(|b| b.n).sum::<u64>(), all.len() as u64);
            }
        }
    }
}
