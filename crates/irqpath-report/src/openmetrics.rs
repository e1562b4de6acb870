// SPDX-License-Identifier: GPL-2.0-or-later
//! A summary as OpenMetrics text, for a collector that scrapes a file or an endpoint.
//!
//! Seconds as base unit, as the format wants. Histograms of paths and stages share one set of
//! bucket bounds (1-2-5 steps from 100 ns to 10 s), so that they add up over hosts; the exact
//! minimum and quantiles stay in `summary.json`. Label values are escaped by the encoder. Rows with
//! the same labels are one series: a scraper refuses a file that names a series twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

use irqpath_model::{Histogram, LossReason, Names, Origin, Summary, printable};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of the buckets, ns; one more without bound follows.
fn bounds_ns() -> impl Iterator<Item = u64> {
    (2..10).flat_map(|e| [1, 2, 5].map(|m| m * 10_u64.pow(e))).chain([10_000_000_000])
}

type Labels = Vec<(&'static str, String)>;

/// Write the exposition, `# EOF` included.
pub fn write(mut out: impl Write, summary: &Summary, names: &Names) -> io::Result<()> {
    let mut registry = Registry::with_prefix("irqpath");
    // The encoder wants to own what it collects.
    let collected = Collected { summary: summary.clone(), names: names.clone() };
    registry.register_collector(Box::new(collected));
    let mut buffer = String::new();
    text::encode(&mut buffer, &registry).map_err(io::Error::other)?;
    out.write_all(buffer.as_bytes())
}

#[derive(Debug)]
struct Collected {
    summary: Summary,
    names: Names,
}

impl Collector for Collected {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        self.lines(&mut e)?;
        self.softirqs(&mut e)?;
        self.napi(&mut e)?;
        self.paths(&mut e)?;
        self.accounting(&mut e)
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// One row per set of labels, in the order in which they come first.
fn merged<T>(
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
fn family(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    kind: MetricType,
    rows: impl Iterator<Item = (Labels, f64)>,
) -> fmt::Result {
    let is_counter = matches!(kind, MetricType::Counter);
    let join = |a: &mut f64, b: f64| *a = if is_counter { *a + b } else { a.max(b) };
    let rows = merged(rows, join);
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

/// Counts per bound, and the rest without bound. A histogram's own bucket counts where its
/// highest value lies.
fn buckets(h: &Histogram) -> Vec<(f64, u64)> {
    let mut out: Vec<(u64, u64)> = bounds_ns().map(|b| (b, 0)).collect();
    let mut counted = 0;
    for (_, high, n) in h.iter_buckets() {
        let at = out.partition_point(|&(bound, _)| bound < high.min(h.max_ns()));
        if let Some(bucket) = out.get_mut(at) {
            bucket.1 += n;
            counted += n;
        }
    }
    let mut out: Vec<_> = out.into_iter().map(|(b, n)| (seconds(b), n)).collect();
    out.push((f64::INFINITY, h.len().saturating_sub(counted)));
    out
}

fn histograms<'a>(
    e: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: impl Iterator<Item = (Labels, &'a Histogram, u64)>,
) -> fmt::Result {
    let sum = |h: &Histogram, mean_ns| seconds(mean_ns) * h.len() as f64;
    let rows = rows.map(|(labels, h, mean_ns)| (labels, (Cow::Borrowed(h), sum(h, mean_ns))));
    let rows = merged(rows, |(a, a_sum), (b, b_sum)| {
        a.to_mut().merge(&b);
        *a_sum += b_sum;
    });
    let mut metric =
        e.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
    for (labels, (h, sum)) in rows {
        metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
            sum,
            h.len(),
            &buckets(&h),
            None,
        )?;
    }
    Ok(())
}

impl Collected {
    fn origin(&self, origin: Origin) -> Labels {
        vec![("origin", self.names.origin(origin))]
    }

    fn lines(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&irqpath_model::LineStats) -> f64| {
            self.summary.traced().lines.iter().map(move |l| {
                let mut labels = self.origin(l.origin);
                labels.push(("cpu", l.cpu.to_string()));
                (labels, value(l))
            })
        };
        let (counter, s) = (MetricType::Counter, Some(&Unit::Seconds));
        family(e, "hardirqs", "Hard interrupts taken", None, counter, rows(|l| l.nr as f64))?;
        let help = "Time in handlers";
        family(e, "hardirq_run", help, s, counter, rows(|l| seconds(l.run_ns)))?;
        let help = "Longest handler run";
        family(e, "hardirq_run_max", help, s, MetricType::Gauge, rows(|l| seconds(l.max_run_ns)))
    }

    fn softirqs(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&irqpath_model::SoftirqStats) -> f64| {
            self.summary.traced().softirqs.iter().map(move |s| {
                (vec![("vec", s.vec.name().to_owned()), ("cpu", s.cpu.to_string())], value(s))
            })
        };
        let (counter, gauge) = (MetricType::Counter, MetricType::Gauge);
        let unit = Some(&Unit::Seconds);
        family(e, "softirqs", "Runs of softirq actions", None, counter, rows(|s| s.nr as f64))?;
        let help = "Time in softirq actions";
        family(e, "softirq_run", help, unit, counter, rows(|s| seconds(s.run_ns)))?;
        let help = "Longest run of a softirq action";
        family(e, "softirq_run_max", help, unit, gauge, rows(|s| seconds(s.max_run_ns)))?;
        let help = "Time from raise to entry";
        family(e, "softirq_delay", help, unit, counter, rows(|s| seconds(s.delay_ns)))?;
        let help = "Longest time from raise to entry";
        family(e, "softirq_delay_max", help, unit, gauge, rows(|s| seconds(s.max_delay_ns)))
    }

    fn napi(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&irqpath_model::NapiStats) -> u64| {
            let labels = |cpu: u16| vec![("cpu", cpu.to_string())];
            self.summary.traced().napi.iter().map(move |n| (labels(n.cpu), value(n) as f64))
        };
        let counter = MetricType::Counter;
        family(e, "napi_polls", "NAPI polls", None, counter, rows(|n| n.nr))?;
        let help = "Packets that NAPI polls handled";
        family(e, "napi_packets", help, None, counter, rows(|n| n.nr_packets))?;
        let help = "NAPI polls that used up their budget";
        family(e, "napi_budget_used_up", help, None, counter, rows(|n| n.nr_exhausted))
    }

    fn paths(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let labels = |p: &irqpath_model::PathSummary| -> Labels {
            vec![
                ("origin", printable(&p.origin_name).into_owned()),
                ("via", printable(&p.via).into_owned()),
                ("target", p.key.comm.to_string()),
                ("sched", p.sched.clone()),
            ]
        };
        let paths = &self.summary.traced().paths;
        let rows = paths.iter().map(|p| (labels(p), &p.histogram, p.total.mean_ns));
        histograms(e, "path", "From the first to the last point of a path", rows)?;
        let rows = paths.iter().flat_map(|p| {
            p.stages.iter().map(move |s| {
                let mut labels = labels(p);
                labels.push(("stage", s.stage.name().to_owned()));
                (labels, &s.histogram, s.quantiles.mean_ns)
            })
        });
        histograms(e, "stage", "One stage of a path, named by the point that ends it", rows)
    }

    fn accounting(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (summary, counter) = (&self.summary, MetricType::Counter);
        let one = |value: f64| std::iter::once((Labels::new(), value));
        let slow = summary.traced().nr_slow as f64;
        family(e, "slow_paths", "Paths over the threshold", None, counter, one(slow))?;
        let losses = LossReason::ALL.iter().map(|r| {
            let kind = if r.is_lost_data() { "lost" } else { "not_joined" };
            let labels = vec![("reason", word(*r)), ("kind", kind.to_owned())];
            (labels, summary.loss.get(*r) as f64)
        });
        family(e, "losses", "What is missing, by reason", None, counter, losses)?;
        let (help, folded) =
            ("Paths in the rows (others)", summary.traced().folded.nr_paths as f64);
        family(e, "folded_paths", help, None, counter, one(folded))?;
        let o = &summary.overhead;
        let help = "Runs of the tracing programs";
        family(e, "observer_events", help, None, counter, one(o.nr_events as f64))?;
        let (help, cpu) = ("CPU time of the irqpath process", seconds(o.process_cpu_ns));
        family(e, "observer_cpu", help, Some(&Unit::Seconds), counter, one(cpu))
    }
}

/// The reason as it is stored in `summary.json`.
fn word(reason: LossReason) -> String {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{reason:?}"),
    }
}
