// SPDX-License-Identifier: GPL-2.0-or-later
//! Families of histograms, with the classic buckets that add up over hosts, native ones, or both.

use std::borrow::Cow;
use std::fmt;
use std::time::SystemTime;

use irqpath_model::Histogram;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::families::{Labels, merge_rows, to_seconds};
use super::native::Native;

/// Which buckets are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// The 29 bounds that every histogram shares.
    pub classic: bool,
    /// Exponential ones; only the protocol buffers have them.
    pub native: bool,
}

/// Upper bounds of the classic buckets, ns; one more without bound follows.
fn bounds_ns() -> impl Iterator<Item = u64> {
    (2..10).flat_map(|e| [1, 2, 5].map(|m| m * 10_u64.pow(e))).chain([10_000_000_000])
}

/// How many classic buckets there are.
pub fn nr_bounds() -> usize {
    bounds_ns().count() + 1
}

/// The classic bucket that a time lies in.
pub fn bound_of(ns: u64) -> usize {
    bounds_ns().take_while(|bound| *bound < ns).count()
}

/// Counts per bound, and the rest without bound. A histogram's own bucket counts where its upper end
/// lies: always in the same place, or a count would fall when a new maximum comes.
fn bound_counts(h: &Histogram) -> Vec<(f64, u64)> {
    let mut out: Vec<(u64, u64)> = bounds_ns().map(|b| (b, 0)).collect();
    let mut counted = 0;
    for (_, high, n) in h.iter_buckets() {
        let at = out.partition_point(|&(bound, _)| bound < high);
        if let Some(bucket) = out.get_mut(at) {
            bucket.1 += n;
            counted += n;
        }
    }
    let mut out: Vec<_> = out.into_iter().map(|(b, n)| (to_seconds(b), n)).collect();
    out.push((f64::INFINITY, h.len().saturating_sub(counted)));
    out
}

/// Labels, a histogram, and when that was empty.
pub type Row<'a> = (Labels, &'a Histogram, Option<SystemTime>);

/// The same of several rows together.
pub type Merged<'a> = (Labels, (Cow<'a, Histogram>, Option<SystemTime>));

/// One row per set of labels.
pub fn merge_histograms<'a>(rows: impl Iterator<Item = Row<'a>>) -> Vec<Merged<'a>> {
    let rows = rows.map(|(labels, h, since)| (labels, (Cow::Borrowed(h), since)));
    merge_rows(rows, |a, b| {
        a.0.to_mut().merge_with(&b.0);
        a.1 = a.1.min(b.1);
    })
}

/// One family: rows of labels, a histogram, and when that was empty.
pub fn write_histograms<'a>(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    buckets: Buckets,
    rows: impl Iterator<Item = Row<'a>>,
) -> fmt::Result {
    let rows = merge_histograms(rows);
    let mut metric =
        e.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (labels, (h, since)) in rows {
        let sum = to_seconds(h.sum_ns());
        let classic = if buckets.classic { bound_counts(&h) } else { Vec::new() };
        let mut metric = metric.encode_family(&labels)?;
        if buckets.native {
            let native = Native::from_histogram(&h);
            let native = native.encoded(since);
            metric.encode_histogram_with_native::<NoLabelSet>(
                sum,
                h.len(),
                &classic,
                None,
                native,
            )?;
        } else {
            metric.encode_histogram::<NoLabelSet>(sum, h.len(), &classic, None)?;
        }
    }
    Ok(())
}
