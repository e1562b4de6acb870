// SPDX-License-Identifier: GPL-2.0-or-later
//! Families of counters and gauges: one series per set of labels.

use std::collections::HashMap;
use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

/// Names and values, in the order in which they are written.
pub type Labels = Vec<(&'static str, String)>;

/// The base unit of time.
pub fn to_seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// One row per set of labels, in the order in which they come first.
pub fn merge_rows<T>(
    rows: impl Iterator<Item = (Labels, T)>,
    mut join: impl FnMut(&mut T, T),
) -> Vec<(Labels, T)> {
    let (mut out, mut places) = (Vec::new(), HashMap::new());
    for (labels, value) in rows {
        if let Some(&at) = places.get(&labels) {
            let (_, there): &mut (Labels, T) = &mut out[at];
            join(there, value);
        } else {
            places.insert(labels.clone(), out.len());
            out.push((labels, value));
        }
    }
    out
}

/// One family of counters or gauges.
pub fn write_family(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    kind: MetricType,
    rows: impl Iterator<Item = (Labels, f64)>,
) -> fmt::Result {
    let is_counter = matches!(kind, MetricType::Counter);
    let join = |a: &mut f64, b: f64| *a = if is_counter { *a + b } else { a.max(b) };
    let rows = merge_rows(rows, join);
    let mut metric = e.encode_descriptor(name, help, unit, kind)?;
    for (labels, value) in rows {
        let mut metric = metric.encode_family(&labels)?;
        if is_counter {
            metric.encode_counter::<NoLabelSet, _, f64>(&value, None)?;
        } else {
            metric.encode_gauge(&value)?;
        }
    }
    Ok(())
}
