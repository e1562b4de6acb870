// SPDX-License-Identifier: GPL-2.0-or-later
//! Histograms of many runs, added up: the tables `histograms` and `buckets`.
//!
//! Buckets of equal bounds add up without loss, and so do sums; of extremes the outermost counts.
//! That holds for parts as well: when the buckets in memory reach a limit they are written as rows,
//! and later ones begin again. Whoever reads the tables adds up what has equal labels.

use std::collections::BTreeMap;
use std::io::Write;

use irqpath_model::bench::Latencies;
use irqpath_model::{Histogram, Measured, RunIdentity, Summary};

use super::{Cell, tables::HISTOGRAM_LABELS};
use super::{SamplesError, TableWriter};

/// Buckets that are kept in memory, at about 60 bytes each.
const MAX_BUCKETS: usize = 1 << 20;

/// What a histogram is of, in the order of the table's columns.
type Labels = [String; HISTOGRAM_LABELS];

/// One histogram of one host, of as many runs as were added.
#[derive(Debug)]
struct Merged {
    /// Of the first run; of several no boot and no run is named.
    run: RunIdentity,
    nr_runs: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    nr_overflow: u64,
    /// By lowest and highest time.
    buckets: BTreeMap<(u64, u64), u64>,
}

/// The histograms of the runs of a partition.
#[derive(Debug, Default)]
pub struct HistogramSet {
    all: BTreeMap<(String, Labels), Merged>,
    nr_buckets: usize,
}

/// A row of times: what they are of, extremes and sum, overflow, and buckets.
struct Times<'a> {
    labels: Labels,
    extremes: (u64, u64, u64),
    nr_overflow: u64,
    buckets: Box<dyn Iterator<Item = (u64, u64, u64)> + 'a>,
}

impl HistogramSet {
    /// Add every histogram of a result of this run.
    pub fn add_summary(&mut self, run: &RunIdentity, summary: &Summary) {
        list_times(summary, &mut |times| self.add_times(run, times));
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if it is time to write what is there.
    pub fn is_full(&self) -> bool {
        self.nr_buckets >= MAX_BUCKETS
    }

    fn add_times(&mut self, run: &RunIdentity, times: Times<'_>) {
        let key = (run.host.clone(), times.labels);
        let merged = self.all.entry(key).or_insert_with(|| Merged {
            run: run.clone(),
            nr_runs: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            nr_overflow: 0,
            buckets: BTreeMap::new(),
        });
        if merged.run.run_id != run.run_id {
            merged.run.run_id.clear();
        }
        if merged.run.boot_id != run.boot_id {
            merged.run.boot_id.clear();
        }
        let (min_ns, max_ns, sum_ns) = times.extremes;
        merged.nr_runs += 1;
        merged.min_ns = merged.min_ns.min(min_ns);
        merged.max_ns = merged.max_ns.max(max_ns);
        merged.sum_ns = merged.sum_ns.saturating_add(sum_ns);
        merged.nr_overflow = merged.nr_overflow.saturating_add(times.nr_overflow);
        let before = merged.buckets.len();
        for (low, high, n) in times.buckets {
            let count = merged.buckets.entry((low, high)).or_default();
            *count = count.saturating_add(n);
        }
        self.nr_buckets += merged.buckets.len() - before;
    }

    /// Write all of them, and forget them.
    pub fn write_rows<W: Write + Send>(
        &mut self,
        histograms: &mut TableWriter<W>,
        buckets: &mut TableWriter<W>,
    ) -> Result<(), SamplesError> {
        self.nr_buckets = 0;
        for ((_, labels), merged) in std::mem::take(&mut self.all) {
            let mut row: Vec<Cell> = histograms.run_cells(&merged.run).into();
            row.extend(labels.iter().map(|label| histograms.text(label)));
            let Merged { nr_runs, min_ns, max_ns, sum_ns, nr_overflow, .. } = merged;
            let numbers = [nr_runs, min_ns, max_ns, sum_ns, nr_overflow];
            row.extend(numbers.map(Cell::u64));
            histograms.push_row(row)?;
            for ((low, high), n) in merged.buckets {
                let mut row: Vec<Cell> = buckets.run_cells(&merged.run).into();
                row.extend(labels.iter().map(|label| buckets.text(label)));
                row.extend([low, high, n].map(Cell::u64));
                buckets.push_row(row)?;
            }
        }
        Ok(())
    }
}

/// The word for a kind of measurement.
pub fn kind_of(measured: &Measured) -> &'static str {
    match measured {
        Measured::Paths(_) => "paths",
        Measured::Bench { .. } => "bench",
        Measured::Response { .. } => "response",
        Measured::Jitter { .. } => "jitter",
    }
}

fn hdr_times(labels: Labels, histogram: &Histogram) -> Times<'_> {
    let q = histogram.quantiles();
    Times {
        labels,
        extremes: (q.min_ns, q.max_ns, histogram.sum_ns()),
        nr_overflow: q.nr_overflow,
        buckets: Box::new(histogram.iter_buckets()),
    }
}

fn exact_times(labels: Labels, latencies: &Latencies) -> Times<'_> {
    let q = latencies.quantiles();
    let sum_ns =
        latencies.iter().fold(0_u64, |sum, (ns, n)| sum.saturating_add(ns.saturating_mul(n)));
    Times {
        labels,
        extremes: (q.min_ns, q.max_ns, sum_ns),
        nr_overflow: 0,
        buckets: Box::new(latencies.iter().map(|(ns, n)| (ns, ns, n))),
    }
}

fn list_times(summary: &Summary, add: &mut dyn FnMut(Times<'_>)) {
    let kind = kind_of(&summary.measured);
    let labels = |parts: [&str; 5]| {
        let [origin, via, target, sched, stage] = parts.map(str::to_owned);
        [kind.to_owned(), origin, via, target, sched, stage]
    };
    for path in &summary.traced().paths {
        let name = path.key.comm.as_str();
        let of = |stage| labels([&path.origin_name, &path.via, name, &path.sched, stage]);
        add(hdr_times(of("total"), &path.histogram));
        for stage in &path.stages {
            add(hdr_times(of(stage.stage.name()), &stage.histogram));
        }
    }
    for series in summary.bench() {
        add(exact_times(labels([&series.label, "", "", "", "total"]), &series.latencies));
    }
    for test in summary.response() {
        let cpu = format!("CPU {}", test.cpu);
        let of = labels([test.source.name(), &cpu, "", &test.sched, "total"]);
        add(hdr_times(of, &test.histogram));
    }
    for test in summary.jitter() {
        let cpu = format!("CPU {}", test.cpu);
        let of = |what| labels([what, &cpu, "", &test.sched, "total"]);
        if let Some(loops) = &test.loops {
            add(hdr_times(of("loops"), &loops.histogram));
        }
        if let Some(interruptions) = &test.interruptions {
            add(hdr_times(of("interruptions"), &interruptions.histogram));
        }
    }
}
