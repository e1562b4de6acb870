// SPDX-License-Identifier: GPL-2.0-or-later
//! Families of an agent that has a flight recorder: what became of its triggers.

use std::fmt;

use irqpath_model::record::{ProbeCounts, Suppressed};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use strum::VariantArray as _;

use super::RecorderFacts;
use super::families::{Labels, write_family};

/// Writes them all. Every reason has a row from the start, so that its first increase is seen.
pub fn write_recorder(e: &mut DescriptorEncoder<'_>, facts: &RecorderFacts) -> fmt::Result {
    let (counter, gauge) = (MetricType::Counter, MetricType::Gauge);
    let one = |value: u64| std::iter::once((Labels::new(), value as f64));
    let rows = facts.triggers.iter();
    let rows = rows.map(|(name, nr)| (vec![("trigger", name.clone())], *nr as f64));
    write_family(e, "capture_triggers", "What may make a capture", None, counter, rows)?;
    let rows = Suppressed::VARIANTS.iter().map(|why| {
        let why: &'static str = why.into();
        let nr = facts.suppressed.get(why).copied().unwrap_or(0);
        (vec![("why", why.to_owned())], nr as f64)
    });
    write_family(e, "captures_not_made", "Triggers without a capture", None, counter, rows)?;
    let ProbeCounts { nr_replaced, nr_rewritten } = facts.probes;
    let rows = [("replaced", nr_replaced), ("rewritten", nr_rewritten)].into_iter();
    let rows = rows.map(|(how, nr)| (vec![("how", how.to_owned())], nr as f64));
    let help = "Probes whose binary was replaced, or rewritten and the probe detached";
    write_family(e, "capture_probes_changed", help, None, counter, rows)?;
    let help = "Captures that were written";
    write_family(e, "captures", help, None, counter, one(facts.nr_captures))?;
    let help = "Captures that begin later than they should, as the rings held no more";
    write_family(e, "captures_short", help, None, counter, one(facts.nr_short))?;
    let help = "Captures that were dropped for newer ones";
    write_family(e, "captures_dropped", help, None, counter, one(facts.nr_dropped))?;
    let bytes = Some(&Unit::Bytes);
    let help = "What captures take on the disk";
    write_family(e, "captures_disk", help, bytes, gauge, one(facts.disk_bytes))?;
    let help = "What captures may take on the disk";
    write_family(e, "captures_disk_limit", help, bytes, gauge, one(facts.disk_limit))
}
