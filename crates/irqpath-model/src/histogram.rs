// SPDX-License-Identifier: GPL-2.0-or-later
//! HDR histograms of nanoseconds: they merge without loss and count what they cannot hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Quantiles;

/// Longest time a histogram can hold, ns (about 68 s). Longer ones count as overflow.
pub const MAX_TRACKABLE_NS: u64 = 1 << 36;

/// A stored histogram could not be read.
#[derive(Debug, thiserror::Error)]
#[error("not an HDR histogram (V2, base64): {0}")]
pub struct HistogramError(String);

/// Times in ns with two significant digits, plus exact minimum, maximum, sum and overflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u32>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    nr_overflow: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let mut buckets =
            hdrhistogram::Histogram::new(2).expect("2 significant digits are in range");
        buckets.auto(true);
        Self { buckets, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, nr_overflow: 0 }
    }
}

impl Histogram {
    /// Record one time.
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
        self.widen(ns, ns, ns);
    }

    /// Record a bucket of another histogram: `n` times of about `ns`. The exact minimum,
    /// maximum and sum come separately, by [`Histogram::widen`].
    pub fn record_n(&mut self, ns: u64, n: u32) {
        if ns >= MAX_TRACKABLE_NS {
            self.nr_overflow += u64::from(n);
        } else {
            self.buckets.record_n(ns, n).expect("auto-resizing histograms always fit");
        }
    }

    /// Take over exact extremes and sum that belong to buckets recorded with `record_n`.
    pub fn widen(&mut self, min_ns: u64, max_ns: u64, sum_ns: u64) {
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Count `n` times that were too long to hold.
    pub fn add_overflow(&mut self, n: u64) {
        self.nr_overflow += n;
    }

    /// Add another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("auto-resizing histograms always fit");
        self.widen(other.min_ns, other.max_ns, other.sum_ns);
        self.nr_overflow += other.nr_overflow;
    }

    /// Number of recorded times, overflow included.
    pub fn len(&self) -> u64 {
        self.buckets.len() + self.nr_overflow
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Exact maximum, ns; 0 if empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The value at quantile `q` (0..=1), ns, within the exact extremes; 0 if empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.buckets.value_at_quantile(q).clamp(self.min_ns, self.max_ns)
    }

    /// The row of numbers that every table shows.
    pub fn quantiles(&self) -> Quantiles {
        if self.is_empty() {
            return Quantiles::default();
        }
        Quantiles {
            n: self.len(),
            min_ns: self.min_ns,
            mean_ns: self.sum_ns / self.len(),
            q05_ns: self.quantile_ns(0.05),
            q50_ns: self.quantile_ns(0.50),
            q95_ns: self.quantile_ns(0.95),
            q99_ns: self.quantile_ns(0.99),
            q999_ns: self.quantile_ns(0.999),
            max_ns: self.max_ns,
            nr_overflow: self.nr_overflow,
        }
    }

    /// Occupied buckets as `(lowest ns, highest ns, count)`, ascending.
    pub fn iter_buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.buckets.iter_recorded().map(|b| {
            let value = b.value_iterated_to();
            let low = self.buckets.lowest_equivalent(value);
            (low, self.buckets.highest_equivalent(value), u64::from(b.count_at_value()))
        })
    }
}

/// The stored form: the HDR V2 encoding that other HdrHistogram tools read, and the exact rest.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Stored {
    /// HdrHistogram V2, base64.
    hdr_v2_base64: String,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    nr_overflow: u64,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new()
            .serialize(&self.buckets, &mut bytes)
            .map_err(|e| serde::ser::Error::custom(format!("{e:?}")))?;
        Stored {
            hdr_v2_base64: STANDARD.encode(bytes),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            sum_ns: self.sum_ns,
            nr_overflow: self.nr_overflow,
        }
        .serialize(serializer)
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = HistogramError;
    fn try_from(stored: Stored) -> Result<Self, HistogramError> {
        let bytes =
            STANDARD.decode(&stored.hdr_v2_base64).map_err(|e| HistogramError(e.to_string()))?;
        let mut buckets: hdrhistogram::Histogram<u32> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HistogramError(format!("{e:?}")))?;
        buckets.auto(true);
        if stored.max_ns < stored.min_ns && !buckets.is_empty() {
            return Err(HistogramError("max below min".to_owned()));
        }
        Ok(Self {
            buckets,
            min_ns: stored.min_ns,
            max_ns: stored.max_ns,
            sum_ns: stored.sum_ns,
            nr_overflow: stored.nr_overflow,
        })
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Stored::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Stored::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_equals_recording_together(
            a in prop::collection::vec(0u64..MAX_TRACKABLE_NS * 2, 0..200),
            b in prop::collection::vec(0u64..MAX_TRACKABLE_NS * 2, 0..200),
        ) {
            let (mut one, mut two, mut both) =
                (Histogram::default(), Histogram::default(), Histogram::default());
            for &ns in &a { one.record(ns); both.record(ns); }
            for &ns in &b { two.record(ns); both.record(ns); }
            one.merge(&two);
            prop_assert_eq!(one.quantiles(), both.quantiles());
            prop_assert_eq!(one.len(), (a.len() + b.len()) as u64);
        }

        #[test]
        fn a_stored_histogram_reads_back_equal(
            a in prop::collection::vec(0u64..MAX_TRACKABLE_NS * 2, 0..200),
        ) {
            let mut h = Histogram::default();
            for &ns in &a { h.record(ns); }
            let text = serde_json::to_string(&h).unwrap();
            let back: Histogram = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(h.quantiles(), back.quantiles());
        }

        #[test]
        fn damaged_text_is_an_error_not_a_panic(garbage in "[A-Za-z0-9+/=]{0,80}") {
            let text = format!(
                r#"{{"hdr_v2_base64":"{garbage}","min_ns":1,"max_ns":2,"sum_ns":3,"nr_overflow":0}}"#
            );
            let _ = serde_json::from_str::<Histogram>(&text);
        }
    }

    #[test]
    fn overflow_is_counted_and_the_maximum_stays_exact() {
        let mut h = Histogram::default();
        h.record(1_000);
        h.record(MAX_TRACKABLE_NS + 5);
        let q = h.quantiles();
        assert_eq!((q.n, q.nr_overflow, q.max_ns), (2, 1, MAX_TRACKABLE_NS + 5));
    }

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut h = Histogram::default();
        (1..=100_000).for_each(|ns| h.record(ns));
        for (q, want) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.999, 99_900.0)] {
            let got = h.quantile_ns(q) as f64;
            assert!((got - want).abs() / want < 0.01, "q{q}: {got}");
        }
    }
}
