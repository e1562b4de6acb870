// SPDX-License-Identifier: GPL-2.0-or-later
//! The same families for an OpenTelemetry Collector: exponential histograms with their exact maximum,
//! and counters and gauges as Prometheus gets them.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::encoding::prometheus_protobuf::{self, prometheus_data_model as prometheus};
use prost::Message as _;

use super::exemplars::{Exemplar, list_exemplars};
use super::families::{Labels, to_seconds};
use super::histograms::{Buckets, Merged, merge_histograms};
use super::native::{self, SCHEMA};
use super::otlp_proto as otlp;
use super::{Collected, Exposed, registry};

/// Encodes an `ExportMetricsServiceRequest`. All its times come from one reading of the clocks, so
/// that no point is before its start.
///
/// # Errors
/// If the numbers are not an agent's, which alone has times.
pub fn encode_otlp(exposed: Arc<Exposed>, host: &str) -> io::Result<Vec<u8>> {
    let times = Times::of(&exposed).ok_or_else(|| io::Error::other("the numbers have no time"))?;
    let buckets = Buckets { classic: false, native: true };
    let families = prometheus_protobuf::encode(&registry(Arc::clone(&exposed), buckets));
    let families = families.map_err(io::Error::other)?;
    let collected = Collected::new(exposed, buckets);
    let mut metrics: Vec<otlp::Metric> =
        families.iter().filter_map(|family| times.convert_family(family)).collect();
    let exemplars = list_exemplars(&collected.exposed);
    for family in collected.histogram_families() {
        let exemplars = exemplars_of(family.name, &exemplars);
        let rows = merge_histograms(family.rows.into_iter());
        let points = rows.into_iter().map(|row| times.exponential_point(row, exemplars)).collect();
        metrics.push(otlp::Metric {
            name: format!("irqpath_{}_seconds", family.name),
            description: family.help.to_owned(),
            unit: "s".to_owned(),
            data: Some(otlp::Data::Exponential(otlp::Exponential {
                data_points: points,
                aggregation_temporality: otlp::CUMULATIVE,
            })),
        });
    }
    Ok(wrap(metrics, host).encode_to_vec())
}

/// Points that a collector left out, by its answer; none if that is no answer.
pub fn rejected_points(answer: &[u8]) -> u64 {
    let answer = otlp::ExportMetricsServiceResponse::decode(answer).unwrap_or_default();
    let rejected = answer.partial_success.map_or(0, |partial| partial.rejected_data_points);
    u64::try_from(rejected).unwrap_or(0)
}

fn wrap(metrics: Vec<otlp::Metric>, host: &str) -> otlp::ExportMetricsServiceRequest {
    let attributes = vec![attribute("service.name", "irqpath-agent"), attribute("host.name", host)];
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let scope = Some(otlp::Scope { name: "irqpath".to_owned(), version });
    otlp::ExportMetricsServiceRequest {
        resource_metrics: vec![otlp::ResourceMetrics {
            resource: Some(otlp::Resource { attributes }),
            scope_metrics: vec![otlp::ScopeMetrics { scope, metrics }],
        }],
    }
}

/// Only whole paths have them.
fn exemplars_of<'a>(
    family: &str,
    all: &'a HashMap<Labels, Vec<Exemplar>>,
) -> Option<&'a HashMap<Labels, Vec<Exemplar>>> {
    (family == "path").then_some(all)
}

fn attribute(key: &str, value: &str) -> otlp::KeyValue {
    let value = otlp::AnyValue { string_value: Some(value.to_owned()) };
    otlp::KeyValue { key: key.to_owned(), value: Some(value) }
}

fn attributes(labels: &Labels) -> Vec<otlp::KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn nanos(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// When counting began, and now.
struct Times {
    began: u64,
    now: u64,
}

impl Times {
    fn of(exposed: &Exposed) -> Option<Self> {
        let facts = exposed.agent.as_ref()?;
        let clock = facts.clock.as_ref()?;
        let began = nanos(clock.began_at(facts.since_ns));
        Some(Self { began, now: nanos(clock.stamped_at(facts.now_ns)) })
    }

    /// Histograms come from their buckets, which know more than the family.
    fn convert_family(&self, family: &prometheus::MetricFamily) -> Option<otlp::Metric> {
        let value = |metric: &prometheus::Metric| {
            let counter = metric.counter.as_ref().map(|counter| counter.value);
            counter.or(metric.gauge.as_ref().map(|gauge| gauge.value))
        };
        let is_counter = family.metric.iter().any(|metric| metric.counter.is_some());
        let data_points: Vec<_> = family
            .metric
            .iter()
            .filter_map(|metric| {
                let pairs = metric.label.iter().map(|pair| attribute(&pair.name, &pair.value));
                Some(otlp::NumberPoint {
                    attributes: pairs.collect(),
                    start_time_unix_nano: if is_counter { self.began } else { 0 },
                    time_unix_nano: self.now,
                    as_double: Some(value(metric)?),
                })
            })
            .collect();
        if data_points.is_empty() {
            return None;
        }
        let aggregation_temporality = otlp::CUMULATIVE;
        let data = if is_counter {
            otlp::Data::Sum(otlp::Sum { data_points, aggregation_temporality, is_monotonic: true })
        } else {
            otlp::Data::Gauge(otlp::Gauge { data_points })
        };
        let unit = match family.name.trim_end_matches("_total").rsplit('_').next() {
            Some("seconds") => "s",
            Some("bytes") => "By",
            _ => "1",
        };
        Some(otlp::Metric {
            name: family.name.clone(),
            description: family.help.clone(),
            unit: unit.to_owned(),
            data: Some(data),
        })
    }

    fn exponential_point(
        &self,
        (labels, (histogram, since)): Merged<'_>,
        exemplars: Option<&HashMap<Labels, Vec<Exemplar>>>,
    ) -> otlp::ExponentialPoint {
        let (zero_count, counts) = native::count_buckets(&histogram);
        // OTLP numbers a bucket by its lower bound, Prometheus by its upper one.
        let positive = counts.first_key_value().map(|(&first, _)| {
            let last = counts.last_key_value().map_or(first, |(&last, _)| last);
            let count = |at| counts.get(&at).copied().unwrap_or(0);
            otlp::Buckets { offset: first - 1, bucket_counts: (first..=last).map(count).collect() }
        });
        let exemplar = |one: &Exemplar| otlp::Exemplar {
            filtered_attributes: attributes(&one.labels),
            time_unix_nano: nanos(one.at),
            as_double: Some(to_seconds(one.ns)),
        };
        let of_series = exemplars.and_then(|all| all.get(&labels)).into_iter().flatten();
        otlp::ExponentialPoint {
            exemplars: of_series.map(exemplar).collect(),
            attributes: attributes(&labels),
            // A row may be younger than the reading of the clocks.
            start_time_unix_nano: since.map_or(self.began, nanos).min(self.now),
            time_unix_nano: self.now,
            count: histogram.len(),
            sum: Some(to_seconds(histogram.sum_ns())),
            scale: SCHEMA,
            zero_count,
            positive,
            min: Some(to_seconds(histogram.min_ns())),
            max: Some(to_seconds(histogram.max_ns())),
            zero_threshold: native::ZERO_THRESHOLD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Measured, Names, Origin, PathKey, PathStats, PathSummary, Paths, Summary};

    use crate::openmetrics::{AgentFacts, DayClock, Moment, Shown};

    const S: u64 = 1_000_000_000;

    fn moment(stamp_s: u64, day_s: u64) -> Moment {
        Moment { day_ns: day_s * S, boot_ns: stamp_s * S, stamp_ns: stamp_s * S }
    }

    fn exposed(times: &[u64]) -> Exposed {
        let names = Names::default();
        let mut stats = PathStats::new(PathKey::others_of(Origin::Irq(36)));
        for ns in times {
            stats.total.record_ns(*ns);
        }
        stats.since_ns = 3_000_000_000;
        let paths = vec![PathSummary::new(stats, &names)];
        let summary = Summary::from_measured(Measured::Paths(Paths { paths, ..Paths::default() }));
        // The agent began at 1 s by its stamps, which is 100 s by the clock of the day.
        let clock = DayClock::new(moment(1, 100));
        let agent = AgentFacts {
            clock: Some(clock),
            since_ns: S,
            now_ns: 101 * S,
            ..AgentFacts::default()
        };
        Exposed { summary, names, shown: Shown::default(), agent: Some(agent) }
    }

    fn encode(exposed: Exposed) -> Vec<otlp::Metric> {
        let bytes = encode_otlp(exposed.into(), "host").unwrap();
        let mut request = otlp::ExportMetricsServiceRequest::decode(&bytes[..]).unwrap();
        let mut resource = request.resource_metrics.remove(0);
        assert_eq!(resource.resource.unwrap().attributes[1], attribute("host.name", "host"));
        resource.scope_metrics.remove(0).metrics
    }

    #[test]
    fn an_exponential_histogram_has_every_time_and_the_exact_extremes() {
        let times = [0, 0, 1_000, 1_050, 1_234_567, 90_000_000_000];
        let metrics = encode(exposed(&times));
        let paths = metrics.iter().find(|m| m.name == "irqpath_path_seconds").unwrap();
        let Some(otlp::Data::Exponential(data)) = &paths.data else { panic!("{paths:?}") };
        assert_eq!(data.aggregation_temporality, otlp::CUMULATIVE);
        let point = &data.data_points[0];
        let buckets = point.positive.as_ref().unwrap();
        assert_eq!((point.count, point.zero_count), (6, 2));
        assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), 4);
        assert_eq!((point.min, point.max), (Some(0.0), Some(90.0)));
        assert_eq!(
            (point.start_time_unix_nano, point.time_unix_nano),
            (102_000_000_000, 200_000_000_000)
        );
        // The first bucket encloses the first time: (base^offset, base^(offset + 1)].
        let base = f64::from(-point.scale).exp2().exp2();
        let low = base.powi(buckets.offset);
        assert!(low < 1e-6 && 1e-6 <= low * base * 1.04, "{low}");
    }

    /// Start and time of every point that counts.
    fn spans(metrics: Vec<otlp::Metric>) -> Vec<(String, u64, u64)> {
        let mut all = Vec::new();
        for metric in metrics {
            let mut add = |start, time| all.push((metric.name.clone(), start, time));
            match metric.data.unwrap() {
                otlp::Data::Gauge(_) => {}
                otlp::Data::Sum(sum) => sum
                    .data_points
                    .iter()
                    .for_each(|point| add(point.start_time_unix_nano, point.time_unix_nano)),
                otlp::Data::Exponential(data) => data
                    .data_points
                    .iter()
                    .for_each(|point| add(point.start_time_unix_nano, point.time_unix_nano)),
            }
        }
        all
    }

    /// By stamps, the agent is 100 s old, and the row of the path 98.
    #[test]
    fn a_clock_that_is_set_moves_only_starts_that_cannot_stay() {
        for (day_s, began_s, row_s) in [
            // By less than the age: a start that moved would be a reset.
            (200, 100, 102),
            (150, 100, 102),
            (260, 100, 102),
            // By more: the starts would lie in the future, or mean nothing.
            (50, 0, 0),
            (1_750_000_000, 1_749_999_900, 1_749_999_902),
        ] {
            let mut exposed = exposed(&[5]);
            let facts = exposed.agent.as_mut().unwrap();
            facts.clock.as_mut().unwrap().follow(moment(101, day_s));
            for (name, start, time) in spans(encode(exposed)) {
                assert_eq!(time, day_s * S, "{name}");
                let is_row = ["irqpath_path_seconds", "irqpath_stage_seconds"].contains(&&*name);
                assert_eq!(start, if is_row { row_s } else { began_s } * S, "{name} {day_s}");
            }
        }
    }

    #[test]
    fn numbers_without_a_clock_are_not_sent() {
        assert!(encode_otlp(Exposed::default().into(), "host").is_err());
    }

    #[test]
    fn counters_are_monotonic_sums_and_maxima_are_gauges() {
        let metrics = encode(exposed(&[5]));
        let data = |name: &str| metrics.iter().find(|m| m.name == name).unwrap().data.clone();
        let Some(otlp::Data::Sum(sum)) = data("irqpath_losses_total") else { panic!("no sum") };
        assert!(sum.is_monotonic && sum.data_points[0].start_time_unix_nano == 100_000_000_000);
        assert!(matches!(data("irqpath_path_max_seconds"), Some(otlp::Data::Gauge(_))));
        let names: std::collections::BTreeSet<_> = metrics.iter().map(|m| &m.name).collect();
        assert_eq!(names.len(), metrics.len(), "a metric comes once");
    }

    #[test]
    fn an_answer_that_is_none_rejects_nothing() {
        for (answer, want) in [(&b""[..], 0), (b"\x0a\x02\x08\x07", 7), (b"\xff\xff", 0)] {
            assert_eq!(rejected_points(answer), want);
        }
        let negative = [0x0a, 0x0b, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(rejected_points(&negative), 0);
    }
}
