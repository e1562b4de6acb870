// SPDX-License-Identifier: GPL-2.0-or-later
//! A summary for a metrics collector: OpenMetrics text for a file or an endpoint, or Prometheus'
//! protocol buffers, which alone have native histograms.
//!
//! Seconds as base unit, as the format wants. Classic histograms of paths and stages share one set of
//! bucket bounds (1-2-5 steps from 100 ns to 10 s), so that they add up over hosts; the exact
//! minimum and quantiles stay in `summary.json`. Label values are escaped by the encoder. Rows with
//! the same labels are one series: a scraper refuses a file that names a series twice.
//!
//! `families` and `histograms` write one family each, `native` has the exponential buckets, `otlp`
//! sends all of it to a collector, `retired` and `exemplars` are of rows that went and of slow paths,
//! `clock` turns their stamps into times of day, and `agent` adds what only a process that stays
//! knows.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::SystemTime;

use irqpath_model::record::ProbeCounts;
use irqpath_model::{
    CauseTotals, Intrusion, LineStats, LossReason, Names, NapiStats, Origin, Owner, PathSummary,
    SoftirqStats, Summary, printable,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_protobuf, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use prost::Message as _;

use self::exemplars::list_exemplars;
use self::families::{Labels, to_seconds, write_family};
use self::histograms::{Row, merge_histograms, nr_bounds, write_histograms};

mod agent;
mod clock;
mod exemplars;
mod families;
mod histograms;
mod native;
mod otlp;
mod otlp_proto;
mod recorder;
mod retired;

pub use clock::{DayClock, Moment};
pub use histograms::Buckets;
pub use otlp::{encode_otlp, rejected_points};
pub use retired::Retired;

/// Whose stages have histograms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StageRows {
    /// Each path's.
    #[default]
    Paths,
    /// Those of all paths of an origin and a carrier together.
    Origins,
    /// Nobody's.
    None,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Buckets of histograms in protocol buffers; text has classic ones.
    pub buckets: Buckets,
    /// The rows of stages.
    pub stages: StageRows,
    /// Counts of interrupts and softirqs for each CPU, or for all together.
    pub per_cpu: bool,
}

impl Default for Shown {
    fn default() -> Self {
        let buckets = Buckets { classic: true, native: true };
        Self { buckets, stages: StageRows::Paths, per_cpu: true }
    }
}

/// What is exposed.
#[derive(Debug, Default)]
pub struct Exposed {
    /// The numbers of all paths.
    pub summary: Summary,
    /// Names of interrupts.
    pub names: Names,
    /// How much of it.
    pub shown: Shown,
    /// What an agent knows besides.
    pub agent: Option<AgentFacts>,
}

/// What only a process that stays knows.
#[derive(Debug, Default)]
pub struct AgentFacts {
    /// The time of day of its stamps; without it, nothing has a time.
    pub clock: Option<DayClock>,
    /// When it began to count, on the clock of stamps, ns; after a restart, counters begin anew.
    pub since_ns: u64,
    /// When its numbers were read, on the same clock.
    pub now_ns: u64,
    /// Where the slow paths lost their time.
    pub causes: CauseTotals,
    /// Interrupts on CPUs that are kept free of them.
    pub intrusions: Vec<Intrusion>,
    /// Who the cgroups belong to that are targets.
    pub units: Units,
    /// What was counted in rows that were given back.
    pub retired: Retired,
    /// Requests that were refused, by reason.
    pub refusals: Vec<(&'static str, u64)>,
    /// Answers over HTTP, by the class of their status.
    pub answers: Vec<(&'static str, u64)>,
    /// What became of the pushes to a collector, if there is one.
    pub pushes: Option<PushFacts>,
    /// What the flight recorder did, if there is one.
    pub recorder: Option<RecorderFacts>,
    /// Its programs in the kernel: those of its tracepoints, so that their number is bounded.
    pub programs: Vec<ProgramFacts>,
    /// Resident memory of its process now, bytes.
    pub resident_bytes: u64,
}

/// What a program took while the kernel timed it.
#[derive(Debug, Clone, Default)]
pub struct ProgramFacts {
    /// The tracepoint that it follows.
    pub name: String,
    /// How often it ran.
    pub nr_runs: u64,
    /// How long that took, ns.
    pub run_ns: u64,
}

/// What became of the triggers of a flight recorder.
#[derive(Debug, Default)]
pub struct RecorderFacts {
    /// Triggers that were heard, by name.
    pub triggers: BTreeMap<String, u64>,
    /// How many of these made no capture, by reason.
    pub suppressed: BTreeMap<String, u64>,
    /// Captures that were written.
    pub nr_captures: u64,
    /// Captures that begin later than they should.
    pub nr_short: u64,
    /// Probes that trigger less or no more, as their binaries changed.
    pub probes: ProbeCounts,
    /// Captures that went for newer ones.
    pub nr_dropped: u64,
    /// What captures take on the disk.
    pub disk_bytes: u64,
    /// What they may take.
    pub disk_limit: u64,
    /// The captures that are still there.
    pub spans: Vec<Span>,
}

/// A capture, and what it holds.
#[derive(Debug, Clone)]
pub struct Span {
    /// Of its directory.
    pub name: String,
    /// On the clock of stamps, ns.
    pub begins_ns: u64,
    /// On the same clock.
    pub ends_ns: u64,
}

/// What became of the pushes to a collector.
#[derive(Debug, Default)]
pub struct PushFacts {
    /// Each result, and how often it was met.
    pub by_result: Vec<(&'static str, u64)>,
    /// Points that it left out of what it accepted.
    pub nr_rejected: u64,
}

/// Cgroups and who they belong to.
pub type Units = BTreeMap<u64, Owner>;

/// Text has classic buckets alone.
const OF_TEXT: Buckets = Buckets { classic: true, native: false };

/// Writes OpenMetrics text, `# EOF` included.
pub fn write(mut out: impl Write, exposed: Arc<Exposed>) -> io::Result<()> {
    let mut buffer = String::new();
    text::encode(&mut buffer, &registry(exposed, OF_TEXT)).map_err(io::Error::other)?;
    out.write_all(buffer.as_bytes())
}

/// The same with exemplars, which Prometheus' older text has not.
pub fn write_with_exemplars(mut out: impl Write, exposed: Arc<Exposed>) -> io::Result<()> {
    let mut buffer = Vec::new();
    write(&mut buffer, Arc::clone(&exposed))?;
    let text = String::from_utf8(buffer).map_err(io::Error::other)?;
    let exemplars = list_exemplars(&exposed);
    let collected = Collected::new(exposed, OF_TEXT);
    let rows = merge_histograms(collected.path_rows());
    let series: Vec<Labels> = rows.into_iter().map(|(labels, _)| labels).collect();
    let text = exemplars::add_to_text(&text, &series, nr_bounds(), &exemplars);
    out.write_all(text.as_bytes())
}

/// Encodes a message `MetricFamily` for each family, each after its length (the content type
/// `application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited`).
pub fn encode_protobuf(exposed: Arc<Exposed>) -> io::Result<Vec<u8>> {
    let buckets = exposed.shown.buckets;
    let exemplars = list_exemplars(&exposed);
    let families = prometheus_protobuf::encode(&registry(exposed, buckets));
    let mut families = families.map_err(io::Error::other)?;
    exemplars::add_to_protobuf(&mut families, &exemplars);
    let mut out = Vec::new();
    for family in families {
        family.encode_length_delimited(&mut out)?;
    }
    Ok(out)
}

fn registry(exposed: Arc<Exposed>, buckets: Buckets) -> Registry {
    let mut registry = Registry::with_prefix("irqpath");
    registry.register_collector(Box::new(Collected::new(exposed, buckets)));
    registry
}

/// One family of histograms.
struct Family<'a> {
    name: &'static str,
    help: &'static str,
    rows: Vec<Row<'a>>,
}

/// The encoder wants to own what it collects.
#[derive(Debug)]
struct Collected {
    exposed: Arc<Exposed>,
    buckets: Buckets,
    /// What was retired beside rows that are still there, and of series that ended.
    beside: Vec<PathSummary>,
    ended: Vec<PathSummary>,
}

impl Collector for Collected {
    fn encode(&self, mut e: DescriptorEncoder<'_>) -> fmt::Result {
        self.write_lines(&mut e)?;
        self.write_softirqs(&mut e)?;
        self.write_napi(&mut e)?;
        for family in self.histogram_families() {
            let Family { name, help, rows } = family;
            write_histograms(&mut e, name, help, self.buckets, rows.into_iter())?;
        }
        self.write_maxima(&mut e)?;
        self.write_accounting(&mut e)?;
        match &self.exposed.agent {
            Some(facts) => agent::write_facts(&mut e, &self.exposed, facts),
            None => Ok(()),
        }
    }
}

impl Collected {
    fn new(exposed: Arc<Exposed>, buckets: Buckets) -> Self {
        let facts = exposed.agent.as_ref();
        let beside = facts.map(|facts| facts.retired.beside(&exposed.names)).unwrap_or_default();
        let ended = facts.map(|facts| facts.retired.ended(&exposed.names)).unwrap_or_default();
        Self { exposed, buckets, beside, ended }
    }

    fn origin_labels(&self, origin: Origin) -> Labels {
        vec![("origin", self.exposed.names.origin(origin))]
    }

    fn write_lines(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&LineStats) -> f64| {
            self.exposed.summary.traced().lines.iter().map(move |l| {
                let mut labels = self.origin_labels(l.origin);
                labels.extend(self.cpu_label(l.cpu));
                (labels, value(l))
            })
        };
        let (counter, s) = (MetricType::Counter, Some(&Unit::Seconds));
        write_family(e, "hardirqs", "Hard interrupts taken", None, counter, rows(|l| l.nr as f64))?;
        let help = "Time in handlers";
        write_family(e, "hardirq_run", help, s, counter, rows(|l| to_seconds(l.run_ns)))?;
        let help = "Longest handler run";
        write_family(
            e,
            "hardirq_run_max",
            help,
            s,
            MetricType::Gauge,
            rows(|l| to_seconds(l.max_run_ns)),
        )
    }

    fn write_softirqs(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&SoftirqStats) -> f64| {
            self.exposed.summary.traced().softirqs.iter().map(move |s| {
                let mut labels = vec![("vec", s.vec.name().to_owned())];
                labels.extend(self.cpu_label(s.cpu));
                (labels, value(s))
            })
        };
        let (counter, gauge) = (MetricType::Counter, MetricType::Gauge);
        let unit = Some(&Unit::Seconds);
        write_family(
            e,
            "softirqs",
            "Runs of softirq actions",
            None,
            counter,
            rows(|s| s.nr as f64),
        )?;
        let help = "Time in softirq actions";
        write_family(e, "softirq_run", help, unit, counter, rows(|s| to_seconds(s.run_ns)))?;
        let help = "Longest run of a softirq action";
        write_family(e, "softirq_run_max", help, unit, gauge, rows(|s| to_seconds(s.max_run_ns)))?;
        let help = "Time from raise to entry";
        write_family(e, "softirq_delay", help, unit, counter, rows(|s| to_seconds(s.delay_ns)))?;
        let help = "Longest time from raise to entry";
        write_family(
            e,
            "softirq_delay_max",
            help,
            unit,
            gauge,
            rows(|s| to_seconds(s.max_delay_ns)),
        )
    }

    fn write_napi(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let rows = |value: fn(&NapiStats) -> u64| {
            let labels = |cpu: u16| self.cpu_label(cpu).into_iter().collect();
            self.exposed.summary.traced().napi.iter().map(move |n| (labels(n.cpu), value(n) as f64))
        };
        let counter = MetricType::Counter;
        write_family(e, "napi_polls", "NAPI polls", None, counter, rows(|n| n.nr))?;
        let help = "Packets that NAPI polls handled";
        write_family(e, "napi_packets", help, None, counter, rows(|n| n.nr_packets))?;
        let help = "NAPI polls that used up their budget";
        write_family(e, "napi_budget_used_up", help, None, counter, rows(|n| n.nr_exhausted))
    }

    /// Those of paths, of what was retired, and of stages.
    fn histogram_families(&self) -> Vec<Family<'_>> {
        let help = "From the first to the last point of a path";
        let mut all = vec![Family { name: "path", help, rows: self.path_rows().collect() }];
        if self.exposed.agent.is_some() {
            let help = "Paths of rows that were given back, whose series have ended";
            let rows = self.ended.iter();
            let rows = rows.map(|path| (origin_labels(path), &path.histogram, self.began()));
            all.push(Family { name: "retired_path", help, rows: rows.collect() });
        }
        if self.exposed.shown.stages != StageRows::None {
            let help = "One stage of a path, named by the point that ends it";
            all.push(Family { name: "stage", help, rows: self.stage_rows().collect() });
        }
        all
    }

    fn write_maxima(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let maxima = self.path_rows().map(|(labels, h, _)| (labels, to_seconds(h.max_ns())));
        let (help, unit) = ("The longest path", Some(&Unit::Seconds));
        write_family(e, "path_max", help, unit, MetricType::Gauge, maxima)
    }

    /// The rows, and what was retired beside them.
    fn paths(&self) -> impl Iterator<Item = &PathSummary> {
        self.exposed.summary.traced().paths.iter().chain(&self.beside)
    }

    fn path_rows(&self) -> impl Iterator<Item = Row<'_>> {
        let rows = self.paths().filter_map(|path| Some((self.path_labels(path)?, path)));
        rows.map(|(labels, path)| (labels, &path.histogram, self.since(path)))
    }

    fn stage_rows(&self) -> impl Iterator<Item = Row<'_>> {
        let by_origin = self.exposed.shown.stages == StageRows::Origins;
        let labels = move |path| {
            if by_origin {
                return Some((origin_labels(path), self.began()));
            }
            Some((self.path_labels(path)?, self.since(path)))
        };
        // The stages of an origin are one series for as long as the agent runs.
        let ended = self.ended.iter().filter(move |_| by_origin);
        let paths = self.paths().chain(ended);
        paths.filter_map(move |path| Some((labels(path)?, path))).flat_map(|(row, path)| {
            path.stages.iter().map(move |stage| {
                let (mut labels, since) = row.clone();
                labels.push(("stage", stage.stage.name().to_owned()));
                (labels, &stage.histogram, since)
            })
        })
    }

    /// When the agent began to count.
    fn began(&self) -> Option<SystemTime> {
        let facts = self.exposed.agent.as_ref()?;
        Some(facts.clock.as_ref()?.began_at(facts.since_ns))
    }

    /// When a row began to count.
    fn since(&self, path: &PathSummary) -> Option<SystemTime> {
        let facts = self.exposed.agent.as_ref()?;
        Some(facts.clock.as_ref()?.began_at(path.since_ns.max(facts.since_ns)))
    }

    fn path_labels(&self, path: &PathSummary) -> Option<Labels> {
        match &self.exposed.agent {
            Some(facts) => label_path(path, &facts.units),
            None => label_path(path, &Units::new()),
        }
    }

    /// The label of a CPU, unless those of all are summed up.
    fn cpu_label(&self, cpu: u16) -> Option<(&'static str, String)> {
        self.exposed.shown.per_cpu.then(|| ("cpu", cpu.to_string()))
    }

    fn write_accounting(&self, e: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (summary, counter) = (&self.exposed.summary, MetricType::Counter);
        let one = |value: f64| std::iter::once((Labels::new(), value));
        let slow = summary.traced().nr_slow as f64;
        write_family(e, "slow_paths", "Paths over the threshold", None, counter, one(slow))?;
        let help = "Paths over the threshold by the hypervisor's share alone";
        let taken = summary.traced().nr_slow_by_hypervisor as f64;
        write_family(e, "hypervisor_slow_paths", help, None, counter, one(taken))?;
        let losses = LossReason::ALL.iter().map(|r| {
            let kind = if r.is_lost_data() { "lost" } else { "not_joined" };
            let labels = vec![("reason", reason_word(*r)), ("kind", kind.to_owned())];
            (labels, summary.loss.get(*r) as f64)
        });
        write_family(e, "losses", "What is missing, by reason", None, counter, losses)?;
        let (help, folded) =
            ("Paths in the rows (others)", summary.traced().folded.nr_paths as f64);
        write_family(e, "folded_paths", help, None, counter, one(folded))?;
        if let Some(facts) = &self.exposed.agent {
            let (help, nr) = ("Rows that were given back", facts.retired.nr_rows() as f64);
            write_family(e, "retired_rows", help, None, counter, one(nr))?;
        }
        let o = &summary.overhead;
        let help = "Runs of the tracing programs";
        write_family(e, "observer_events", help, None, counter, one(o.nr_events as f64))?;
        let (help, cpu) = ("CPU time of the irqpath process", to_seconds(o.process_cpu_ns));
        write_family(e, "observer_cpu", help, Some(&Unit::Seconds), counter, one(cpu))
    }
}

/// `None` for a cgroup whose name nobody has looked up yet: its series begins when it has one.
fn label_path(path: &PathSummary, units: &Units) -> Option<Labels> {
    let mut labels = origin_labels(path);
    match path.key.cgroup {
        None => labels.push(("target", path.key.comm.to_string())),
        Some(cgroup) => labels.extend(label_unit(cgroup, units)?),
    }
    labels.push(("sched", path.sched.clone()));
    Some(labels)
}

/// Cgroups that were gone before anybody asked for their names share a series, and so do those that
/// cannot be seen.
fn label_unit(cgroup: u64, units: &Units) -> Option<Labels> {
    let unit = match units.get(&cgroup)? {
        Owner::Unit(unit) => unit,
        Owner::Gone => return Some(vec![("unit", "gone".to_owned())]),
        Owner::Unseen => return Some(vec![("unit", "unknown".to_owned())]),
    };
    let mut labels = vec![("unit", unit.name.clone())];
    labels.extend(unit.pod.clone().map(|pod| ("pod_uid", pod)));
    labels.extend(unit.container.clone().map(|id| ("container_id", id)));
    Some(labels)
}

/// The reason as it is stored in `summary.json`.
fn reason_word(reason: LossReason) -> String {
    match serde_json::to_value(reason) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{reason:?}"),
    }
}

fn origin_labels(path: &PathSummary) -> Labels {
    vec![
        ("origin", printable(&path.origin_name).into_owned()),
        ("via", printable(&path.via).into_owned()),
    ]
}
