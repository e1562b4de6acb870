// SPDX-License-Identifier: GPL-2.0-or-later
//! Latencies counted by their exact value: nothing is rounded, so quantiles are exact and the
//! distinct values show the resolution of the clock.
//!
//! Fifty thousand runs have at most fifty thousand values, and mostly a few hundred.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How often each latency occurred, by ns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Latencies(BTreeMap<u64, u64>);

/// The row of numbers of a benchmark; all zero if `n` is. Nearest rank: `q95_ns` is the smallest
/// latency that at least 95 % of the runs do not exceed, so every number was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)] // quantiles in ns
pub struct BenchQuantiles {
    /// Number of runs that the quantiles are taken from.
    pub n: u64,
    pub min_ns: u64,
    pub q05_ns: u64,
    pub q50_ns: u64,
    pub q95_ns: u64,
    pub max_ns: u64,
}

impl Latencies {
    /// Counts a latency of `ns`.
    pub fn record_ns(&mut self, ns: u64) {
        *self.0.entry(ns).or_default() += 1;
    }

    /// Count all of another.
    pub fn merge_with(&mut self, other: &Self) {
        for (ns, n) in &other.0 {
            *self.0.entry(*ns).or_default() += n;
        }
    }

    /// How many were counted.
    pub fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// True if none was.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `(ns, count)`, ascending, each ns once.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(ns, n)| (*ns, *n))
    }

    /// How many are longer than `ns`.
    pub fn nr_over(&self, ns: u64) -> u64 {
        use std::ops::Bound::{Excluded, Unbounded};
        self.0.range((Excluded(ns), Unbounded)).map(|(_, n)| n).sum()
    }

    /// The longest, ns; 0 if there is none.
    pub fn max_ns(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(ns, _)| *ns)
    }

    /// Nearest rank: the value at rank `ceil(per_mille * n / 1000)`, counted from 1; 0 if empty.
    pub fn quantile_ns(&self, per_mille: u64) -> u64 {
        let n = self.len();
        let rank = (u128::from(n) * u128::from(per_mille.min(1000))).div_ceil(1000).max(1);
        let mut seen = 0u128;
        for (ns, count) in self.iter() {
            seen += u128::from(count);
            if seen >= rank {
                return ns;
            }
        }
        0
    }

    /// The row of numbers.
    pub fn quantiles(&self) -> BenchQuantiles {
        BenchQuantiles {
            n: self.len(),
            min_ns: self.0.first_key_value().map_or(0, |(ns, _)| *ns),
            q05_ns: self.quantile_ns(50),
            q50_ns: self.quantile_ns(500),
            q95_ns: self.quantile_ns(950),
            max_ns: self.max_ns(),
        }
    }
}

impl FromIterator<u64> for Latencies {
    fn from_iter<I: IntoIterator<Item = u64>>(latencies: I) -> Self {
        let mut all = Self::default();
        latencies.into_iter().for_each(|ns| all.record_ns(ns));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_rank_by_hand() {
        let twenty: Latencies = (1..=20).collect();
        let q = twenty.quantiles();
        let row = [q.n, q.min_ns, q.q05_ns, q.q50_ns, q.q95_ns, q.max_ns];
        assert_eq!(row, [20, 1, 1, 10, 19, 20]);
        let one: Latencies = [7].into_iter().collect();
        assert_eq!(one.quantiles().q05_ns, 7);
        assert_eq!(Latencies::default().quantiles(), BenchQuantiles::default());
    }

    proptest! {
        #[test]
        fn quantiles_agree_with_the_sorted_list(
            mut all in prop::collection::vec(0u64..5_000, 1..400), per_mille in 0u64..=1000,
        ) {
            let latencies: Latencies = all.iter().copied().collect();
            all.sort_unstable();
            let got = latencies.quantile_ns(per_mille);
            let not_above = all.iter().filter(|&&ns| ns <= got).count() as u64;
            let below = all.iter().filter(|&&ns| ns < got).count() as u64;
            let n = all.len() as u64;
            prop_assert!(all.contains(&got));
            prop_assert!(not_above * 1000 >= n * per_mille);
            prop_assert!(below * 1000 < n * per_mille || below == 0);
            prop_assert_eq!(latencies.nr_over(got), n - not_above);
        }

        #[test]
        fn merging_equals_recording_together(
            a in prop::collection::vec(0u64..99, 0..50), b in prop::collection::vec(0u64..99, 0..50),
        ) {
            let mut one: Latencies = a.iter().copied().collect();
            one.merge_with(&b.iter().copied().collect());
            prop_assert_eq!(one, a.into_iter().chain(b).collect::<Latencies>());
        }

        #[test]
        fn stored_latencies_read_back_equal(a in prop::collection::vec(any::<u64>(), 0..50)) {
            let all: Latencies = a.into_iter().collect();
            let text = serde_json::to_string(&all).unwrap();
            prop_assert_eq!(serde_json::from_str::<Latencies>(&text).unwrap(), all);
        }
    }
}
