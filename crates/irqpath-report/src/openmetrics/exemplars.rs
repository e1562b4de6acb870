// SPDX-License-Identifier: GPL-2.0-or-later
//! Exemplars: slow paths that were explained, beside the histogram that they count in.
//!
//! `capture` is the directory of the flight recorder's capture that has the path, as long as it is
//! there. `ns` is the first stamp of the path, as recordings and Perfetto's traces have it. OpenMetrics
//! allows 128 characters for names and values of the labels together.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use irqpath_model::{SlowPath, printable};
use prometheus_client::encoding::prometheus_protobuf::prometheus_data_model as data;

use super::agent::word_of;
use super::families::{Labels, to_seconds};
use super::histograms::bound_of;
use super::{Exposed, RecorderFacts, Span, label_path};

/// The family that has them.
const FAMILY: &str = "irqpath_path_seconds";
/// With 20 digits and the names, 128 characters.
const MAX_TASK: usize = 40;
const MAX_CAUSE: usize = 57;
/// Of one series, the slowest.
const MAX_OF_SERIES: usize = 10;

/// One slow path.
#[derive(Debug, Clone, PartialEq)]
pub struct Exemplar {
    pub labels: Labels,
    pub ns: u64,
    pub at: SystemTime,
}

/// The slowest paths of each series. A path whose row was given back has none.
pub fn list_exemplars(exposed: &Exposed) -> HashMap<Labels, Vec<Exemplar>> {
    let mut found: HashMap<Labels, Vec<Exemplar>> = HashMap::new();
    let Some((facts, clock)) =
        exposed.agent.as_ref().and_then(|facts| Some((facts, facts.clock.as_ref()?)))
    else {
        return found;
    };
    let paths = &exposed.summary.traced().paths;
    for slow in &exposed.summary.traced().slow {
        let key = slow.record.key();
        let Some(path) = paths.iter().find(|path| path.key == key) else { continue };
        let (Some(labels), Some(first)) = (label_path(path, &facts.units), slow.record.first())
        else {
            continue;
        };
        let of_series = found.entry(labels).or_default();
        if of_series.len() < MAX_OF_SERIES {
            let capture = facts.recorder.as_ref().and_then(|facts| find_capture(facts, slow));
            let labels = label_slow(slow, first.ns, capture);
            let at = clock.stamped_at(first.ns);
            of_series.push(Exemplar { labels, ns: slow.record.total_ns(), at });
        }
    }
    found
}

/// The newest capture that has the whole path.
fn find_capture<'a>(facts: &'a RecorderFacts, slow: &SlowPath) -> Option<&'a str> {
    let (first, last) = (slow.record.first()?.ns, slow.record.last()?.ns);
    let has = |span: &&Span| span.begins_ns <= first && last <= span.ends_ns;
    facts.spans.iter().rev().find(has).map(|span| span.name.as_str())
}

fn label_slow(slow: &SlowPath, first_ns: u64, capture: Option<&str>) -> Labels {
    let target = &slow.record.target;
    let mut labels = vec![
        ("ns", first_ns.to_string()),
        ("task", cut(&format!("{}:{}", target.comm, target.tid), MAX_TASK)),
    ];
    // What a capture's name takes goes from the cause: the capture has all of it.
    let taken = capture.map_or(0, |name| "capture".len() + name.chars().count());
    if let Some((_, cause)) = slow.main_cause() {
        let text = format!("{} {}", word_of(&cause.kind), printable(&cause.who));
        labels.push(("cause", cut(&text, MAX_CAUSE.saturating_sub(taken))));
    }
    labels.extend(capture.map(|name| ("capture", name.to_owned())));
    labels
}

fn cut(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Adds them to native histograms, and to the classic buckets that they lie in.
pub fn add_to_protobuf(
    families: &mut [data::MetricFamily],
    exemplars: &HashMap<Labels, Vec<Exemplar>>,
) {
    let metrics = families.iter_mut().filter(|family| family.name == FAMILY);
    for metric in metrics.flat_map(|family| &mut family.metric) {
        let Some(histogram) = &mut metric.histogram else { continue };
        let is_of = |labels: &Labels| {
            let pairs = metric.label.iter().map(|pair| (pair.name.as_str(), &pair.value));
            pairs.eq(labels.iter().map(|(name, value)| (*name, value)))
        };
        let Some((_, of_series)) = exemplars.iter().find(|(labels, _)| is_of(labels)) else {
            continue;
        };
        for exemplar in of_series {
            match histogram.bucket.get_mut(bound_of(exemplar.ns)) {
                Some(bucket) if bucket.exemplar.is_none() => {
                    bucket.exemplar = Some(encode(exemplar));
                }
                Some(_) => {}
                None => histogram.exemplars.push(encode(exemplar)),
            }
        }
    }
}

fn encode(exemplar: &Exemplar) -> data::Exemplar {
    let pair = |(name, value): &(&'static str, String)| data::LabelPair {
        name: (*name).to_owned(),
        value: value.clone(),
    };
    let mut encoded = data::Exemplar {
        label: exemplar.labels.iter().map(pair).collect(),
        value: to_seconds(exemplar.ns),
        timestamp: None,
    };
    let since_epoch = exemplar.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let timestamp = encoded.timestamp.get_or_insert_default();
    timestamp.seconds = since_epoch.as_secs().cast_signed();
    timestamp.nanos = since_epoch.subsec_nanos().cast_signed();
    encoded
}

/// Adds them to OpenMetrics text, whose rows are in the order of `series`, with `nr_buckets` each.
pub fn add_to_text(
    text: &str,
    series: &[Labels],
    nr_buckets: usize,
    exemplars: &HashMap<Labels, Vec<Exemplar>>,
) -> String {
    let mut out = String::with_capacity(text.len() + 128 * exemplars.len());
    let (start, mut nr) = (format!("{FAMILY}_bucket{{"), 0);
    for line in text.lines() {
        out.push_str(line);
        if line.starts_with(&start) {
            let (row, bucket) = (nr / nr_buckets, nr % nr_buckets);
            nr += 1;
            let of_series = series.get(row).and_then(|labels| exemplars.get(labels));
            let one = of_series.and_then(|all| all.iter().find(|e| bound_of(e.ns) == bucket));
            if let Some(exemplar) = one {
                append_text(&mut out, exemplar);
            }
        }
        out.push('\n');
    }
    out
}

fn append_text(out: &mut String, exemplar: &Exemplar) {
    out.push_str(" # {");
    for (at, (name, value)) in exemplar.labels.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, "{comma}{name}=\"{value}\"");
    }
    let since_epoch = exemplar.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let _ = write!(out, "}} {} {:.3}", to_seconds(exemplar.ns), since_epoch.as_secs_f64());
}
