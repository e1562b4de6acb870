// SPDX-License-Identifier: GPL-2.0-or-later
//! HDR histograms of nanoseconds: they merge without loss and count what they cannot hold.
//!
//! In memory only the occupied buckets are kept: a measurement has thousands of histograms, most
//! of a few times each, and a full array takes 10 KiB. The HDR library defines the buckets, the
//! quantiles and the stored form.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Quantiles;

/// Longest time a histogram can hold, ns (about 68 s). Longer ones count as overflow.
pub const MAX_TRACKABLE_NS: u64 = 1 << 36;

/// Bytes before the counts of the V2 encoding.
const HEADER_LEN: usize = 40;
/// First bytes of the V2 encoding, not compressed.
const V2_COOKIE: u32 = 0x1c84_9303 | 0x10;

/// A stored histogram could not be read.
#[derive(Debug, thiserror::Error)]
#[error("not an HDR histogram (V2, base64): {0}")]
pub struct HistogramError(String);

/// The library's form of a histogram.
type Hdr = hdrhistogram::Histogram<u64>;

/// An empty one, to ask for the bounds of buckets.
static BOUNDS: LazyLock<Hdr> = LazyLock::new(empty_hdr);

fn empty_hdr() -> Hdr {
    let mut hdr = Hdr::new(2).expect("2 significant digits are in range");
    hdr.auto(true);
    hdr
}

/// Times in ns with two significant digits, plus exact minimum, maximum, sum and overflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Lowest ns and count of each occupied bucket, ascending.
    buckets: Vec<(u64, u64)>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    nr_overflow: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Vec::new(), min_ns: u64::MAX, max_ns: 0, sum_ns: 0, nr_overflow: 0 }
    }
}

impl Histogram {
    /// Counts a time of `ns`; beyond the range, it counts as overflow.
    pub fn record_ns(&mut self, ns: u64) {
        self.record_n(ns, 1);
        self.widen_to(ns, ns, ns);
    }

    /// Record a bucket of another histogram: `n` times of about `ns`. The exact minimum,
    /// maximum and sum come separately, by [`Histogram::widen_to`].
    pub fn record_n(&mut self, ns: u64, n: u64) {
        if ns >= MAX_TRACKABLE_NS {
            self.add_overflow(n);
        } else {
            self.count_bucket(BOUNDS.lowest_equivalent(ns), n);
        }
    }

    /// Count `n` times in the bucket that begins at `low`.
    fn count_bucket(&mut self, low: u64, n: u64) {
        match self.buckets.binary_search_by_key(&low, |bucket| bucket.0) {
            Ok(at) => self.buckets[at].1 = self.buckets[at].1.saturating_add(n),
            Err(at) if n > 0 => self.buckets.insert(at, (low, n)),
            Err(_) => {}
        }
    }

    /// The library's form, made for one use.
    fn to_hdr(&self) -> Hdr {
        let mut hdr = empty_hdr();
        // The highest first: the array gets its size at once.
        for &(low, n) in self.buckets.iter().rev() {
            hdr.record_n(low, n).expect("auto-resizing histograms always fit");
        }
        hdr
    }

    /// Take over exact extremes and sum that belong to buckets recorded with `record_n`.
    pub fn widen_to(&mut self, min_ns: u64, max_ns: u64, sum_ns: u64) {
        self.min_ns = self.min_ns.min(min_ns);
        self.max_ns = self.max_ns.max(max_ns);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Count `n` times that were too long to hold.
    pub fn add_overflow(&mut self, n: u64) {
        self.nr_overflow = self.nr_overflow.saturating_add(n);
    }

    /// Adds the counts and the extremes of another histogram.
    pub fn merge_with(&mut self, other: &Self) {
        for &(low, n) in &other.buckets {
            self.count_bucket(low, n);
        }
        self.widen_to(other.min_ns, other.max_ns, other.sum_ns);
        self.add_overflow(other.nr_overflow);
    }

    /// Number of recorded times, overflow included.
    pub fn len(&self) -> u64 {
        let counted = self.buckets.iter().map(|bucket| bucket.1);
        counted.fold(self.nr_overflow, u64::saturating_add)
    }

    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.nr_overflow == 0
    }

    /// Exact maximum, ns; 0 if empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Exact minimum, ns; 0 if empty.
    pub fn min_ns(&self) -> u64 {
        if self.is_empty() { 0 } else { self.min_ns }
    }

    /// Exact sum, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The value at quantile `q` (0..=1), ns, within the exact extremes; 0 if empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        if self.is_empty() { 0 } else { self.quantile_of(&self.to_hdr(), q) }
    }

    fn quantile_of(&self, hdr: &Hdr, q: f64) -> u64 {
        hdr.value_at_quantile(q).clamp(self.min_ns, self.max_ns)
    }

    /// The row of numbers that every table shows.
    pub fn quantiles(&self) -> Quantiles {
        if self.is_empty() {
            return Quantiles::default();
        }
        let hdr = self.to_hdr();
        let quantile_ns = |q| self.quantile_of(&hdr, q);
        Quantiles {
            n: self.len(),
            min_ns: self.min_ns,
            mean_ns: self.sum_ns / self.len(),
            q05_ns: quantile_ns(0.05),
            q50_ns: quantile_ns(0.50),
            q95_ns: quantile_ns(0.95),
            q99_ns: quantile_ns(0.99),
            q999_ns: quantile_ns(0.999),
            max_ns: self.max_ns,
            nr_overflow: self.nr_overflow,
        }
    }

    /// Occupied buckets as `(lowest ns, highest ns, count)`, ascending.
    pub fn iter_buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let high = |low| BOUNDS.highest_equivalent(low);
        self.buckets.iter().map(move |&(low, n)| (low, high(low), n))
    }
}

/// The stored form: the HDR V2 encoding that other HdrHistogram tools read, and the exact rest.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Stored {
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
            .serialize(&self.to_hdr(), &mut bytes)
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
        check_header(&bytes)?;
        let hdr: Hdr = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HistogramError(format!("{e:?}")))?;
        let mut histogram = Self {
            buckets: Vec::new(),
            min_ns: stored.min_ns,
            max_ns: stored.max_ns,
            sum_ns: stored.sum_ns,
            nr_overflow: stored.nr_overflow,
        };
        for bucket in hdr.iter_recorded() {
            histogram.record_n(bucket.value_iterated_to(), bucket.count_at_value());
        }
        histogram.buckets.shrink_to_fit();
        if histogram.is_empty() {
            return Ok(Self::default());
        }
        if stored.max_ns < stored.min_ns {
            return Err(HistogramError("max below min".to_owned()));
        }
        Ok(histogram)
    }
}

/// Check what the decoder allocates by: it believes the claims about length, range and precision.
fn check_header(bytes: &[u8]) -> Result<(), HistogramError> {
    let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let long = |at: usize| Some(u64::from(number(at)?) << 32 | u64::from(number(at + 4)?));
    let counts = bytes.len().checked_sub(HEADER_LEN).and_then(|len| u32::try_from(len).ok());
    let claims = [
        ("cookie", number(0) == Some(V2_COOKIE)),
        ("length", counts.is_some() && number(4) == counts),
        ("precision", number(12) == Some(2)),
        ("lowest value", long(16) == Some(1)),
        ("highest value", long(24).is_some_and(|high| high < MAX_TRACKABLE_NS * 2)),
    ];
    match claims.into_iter().find(|(_, is_ours)| !is_ours) {
        Some((what, _)) => Err(HistogramError(format!("another {what} than irqpath writes"))),
        None => Ok(()),
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
            for &ns in &a { one.record_ns(ns); both.record_ns(ns); }
            for &ns in &b { two.record_ns(ns); both.record_ns(ns); }
            one.merge_with(&two);
            prop_assert_eq!(one.quantiles(), both.quantiles());
            prop_assert_eq!(one.len(), (a.len() + b.len()) as u64);
        }

        #[test]
        fn a_stored_histogram_reads_back_equal(
            a in prop::collection::vec(0u64..MAX_TRACKABLE_NS * 2, 0..200),
        ) {
            let mut h = Histogram::default();
            for &ns in &a { h.record_ns(ns); }
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

    fn stored(histogram: &Histogram) -> serde_json::Value {
        serde_json::to_value(histogram).unwrap()
    }

    /// The stored form with bytes of its encoding replaced.
    fn with(at: usize, bytes: &[u8]) -> serde_json::Value {
        let mut histogram = Histogram::default();
        histogram.record_ns(1_000);
        let mut value = stored(&histogram);
        let mut hdr = STANDARD.decode(value["hdr_v2_base64"].as_str().unwrap()).unwrap();
        hdr[at..at + bytes.len()].copy_from_slice(bytes);
        value["hdr_v2_base64"] = STANDARD.encode(hdr).into();
        value
    }

    #[test]
    fn claims_of_an_encoding_are_not_believed() {
        serde_json::from_value::<Histogram>(with(0, &[])).unwrap();
        for (at, bytes, what) in [
            (0, &[0x1c, 0x84, 0x93, 0x14][..], "cookie"),
            (4, &[0x40, 0, 0, 0], "length"),
            (12, &[0, 0, 0, 5], "precision"),
            (16, &[0, 0, 0, 0, 0, 0, 0, 2], "lowest"),
            (24, &[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0], "highest"),
        ] {
            let error = serde_json::from_value::<Histogram>(with(at, bytes)).unwrap_err();
            assert!(error.to_string().contains(what), "{what}: {error}");
        }
    }

    #[test]
    fn extremes_that_contradict_each_other_are_an_error_and_never_a_panic() {
        for (histogram, nr_overflow) in [(Histogram::default(), 3), (Histogram::default(), 0)] {
            let mut value = stored(&histogram);
            (value["min_ns"], value["max_ns"]) = (5.into(), 4.into());
            value["nr_overflow"] = nr_overflow.into();
            match serde_json::from_value::<Histogram>(value) {
                Ok(read) => assert_eq!((read.quantiles(), nr_overflow), (Quantiles::default(), 0)),
                Err(error) => assert!(error.to_string().contains("max below min"), "{error}"),
            }
        }
        let mut value = with(0, &[]);
        value["nr_overflow"] = u64::MAX.into();
        let mut read: Histogram = serde_json::from_value(value).unwrap();
        read.merge_with(&read.clone());
        assert_eq!(read.quantiles().n, u64::MAX);
    }

    #[test]
    fn overflow_is_counted_and_the_maximum_stays_exact() {
        let mut h = Histogram::default();
        h.record_ns(1_000);
        h.record_ns(MAX_TRACKABLE_NS + 5);
        let q = h.quantiles();
        assert_eq!((q.n, q.nr_overflow, q.max_ns), (2, 1, MAX_TRACKABLE_NS + 5));
    }

    #[test]
    fn a_bucket_holds_more_than_32_bits_and_so_does_its_stored_form() {
        let n = u64::from(u32::MAX);
        let mut h = Histogram::default();
        h.record_n(1_000, n);
        h.record_n(1_000, 3);
        h.widen_to(1_000, 1_000, 1_000 * (n + 3));
        let back: Histogram = serde_json::from_value(stored(&h)).unwrap();
        assert_eq!(h.iter_buckets().map(|(_, _, n)| n).collect::<Vec<_>>(), [n + 3]);
        assert_eq!((h.len(), &back), (n + 3, &h));
    }

    #[test]
    fn a_histogram_of_few_times_takes_little_memory() {
        let mut h = Histogram::default();
        for ns in [10, 20, 20, 500_000_000] {
            h.record_ns(ns);
        }
        assert!(h.buckets.capacity() <= 4, "{}", h.buckets.capacity());
        let counts: Vec<_> = h.iter_buckets().map(|(_, _, n)| n).collect();
        assert_eq!(counts, [1, 2, 1]);
    }

    #[test]
    fn quantiles_are_within_one_percent() {
        let mut h = Histogram::default();
        (1..=100_000).for_each(|ns| h.record_ns(ns));
        for (q, want) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.999, 99_900.0)] {
            let got = h.quantile_ns(q) as f64;
            assert!((got - want).abs() / want < 0.01, "q{q}: {got}");
        }
    }
}
