// SPDX-License-Identifier: GPL-2.0-or-later
//! What was measured, as counts of times between bounds.

use irqpath_model::Histogram;
use irqpath_model::bench::Latencies;

/// Times from `low_ns` to `high_ns`: which of these each of them was is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Lowest time that counts here.
    pub low_ns: u64,
    /// Highest time that counts here.
    pub high_ns: u64,
    /// Times up to and including this bin.
    pub up_to: u64,
}

/// The times of one run, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sample {
    bins: Vec<Bin>,
}

impl Sample {
    fn from_counts(counts: impl Iterator<Item = (u64, u64, u64)>) -> Self {
        let mut up_to = 0_u64;
        let bins = counts.filter(|(_, _, n)| *n > 0).map(|(low_ns, high_ns, n)| {
            up_to = up_to.saturating_add(n);
            Bin { low_ns, high_ns, up_to }
        });
        Self { bins: bins.collect() }
    }

    /// How many times were measured.
    pub fn len(&self) -> u64 {
        self.bins.last().map_or(0, |bin| bin.up_to)
    }

    /// True if none was.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// The bins, ascending.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// The bin of the time at a rank, counted from 1.
    pub fn bin_at(&self, rank: u64) -> Option<&Bin> {
        self.bins.get(self.bins.partition_point(|bin| bin.up_to < rank))
    }

    /// The bin of a quantile, by the nearest rank.
    pub fn quantile(&self, q: f64) -> Option<&Bin> {
        self.bin_at(((self.len() as f64 * q).ceil() as u64).clamp(1, self.len().max(1)))
    }
}

impl From<&Histogram> for Sample {
    fn from(histogram: &Histogram) -> Self {
        let q = histogram.quantiles();
        // The exact extremes are known: no time of the outer buckets was beyond them.
        let buckets = histogram.iter_buckets().map(|(low, high, n)| {
            let low = low.max(q.min_ns);
            (low, high.min(q.max_ns).max(low), n)
        });
        let longest = irqpath_model::MAX_TRACKABLE_NS;
        let beyond = (longest, q.max_ns.max(longest), q.nr_overflow);
        Self::from_counts(buckets.chain(std::iter::once(beyond)))
    }
}

impl From<&Latencies> for Sample {
    fn from(latencies: &Latencies) -> Self {
        Self::from_counts(latencies.iter().map(|(ns, n)| (ns, ns, n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_nearest_rank() {
        let latencies: Latencies = (1..=20).collect();
        let sample = Sample::from(&latencies);
        for (q, ns) in [(0.05, 1), (0.5, 10), (0.95, 19), (1.0, 20), (0.0, 1)] {
            assert_eq!(sample.quantile(q).map(|bin| bin.low_ns), Some(ns), "{q}");
        }
        assert!(Sample::default().quantile(0.5).is_none());
    }

    #[test]
    fn what_is_too_long_for_a_bucket_lies_beyond_the_last_one() {
        let mut histogram = Histogram::default();
        for ns in [10, 1_000, irqpath_model::MAX_TRACKABLE_NS + 7] {
            histogram.record_ns(ns);
        }
        let sample = Sample::from(&histogram);
        assert_eq!(sample.len(), 3);
        assert_eq!(sample.bins()[2].high_ns, irqpath_model::MAX_TRACKABLE_NS + 7);
        assert_eq!((sample.bins()[0].low_ns, sample.bins()[0].high_ns), (10, 10));
    }
}
