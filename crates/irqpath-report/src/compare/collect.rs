// SPDX-License-Identifier: GPL-2.0-or-later
//! What a result has to compare: its paths, series and tests, each with numbers and samples.

use std::collections::BTreeMap;

use irqpath_analysis::difference::{RunValue, Sample};
use irqpath_model::bench::{BenchSeries, Latencies};
use irqpath_model::{
    Jitter, Meta, PathKey, PathSummary, Quantiles, Response, ResponseSource, Summary,
};

/// By what an entry is found in another result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Key {
    Path(PathKey),
    Series(String),
    Test(Test, u16),
}

/// What a test is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Test {
    Response(ResponseSource),
    Loops,
    Interruptions,
}

/// A number of an entry; one with a quantile gets an interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub name: &'static str,
    pub ns: u64,
    pub quantile: Option<f64>,
    /// The same with the width of its bin, of one with a quantile.
    pub of_run: Option<RunValue>,
}

/// A path, series or test of one result.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub key: Key,
    pub name: String,
    pub n: u64,
    pub values: Vec<Value>,
    /// What the values are times beyond; two of another base have no common intervals.
    pub base_ns: u64,
    pub sample: Sample,
}

/// One result, as it is compared.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) is_exact: bool,
    pub(super) entries: Vec<Entry>,
}

impl Run {
    /// What a result has.
    pub fn from_result(meta: &Meta, summary: &Summary) -> Self {
        let paths = summary.traced().paths.iter().map(path_entry);
        let series = summary.bench().iter().map(series_entry);
        let responses = summary.response().iter().map(response_entry);
        let jitter = summary.jitter().iter().flat_map(jitter_entries);
        Self {
            // Before results said it, their source did.
            is_exact: meta.is_exact || meta.source.starts_with("lab, exact"),
            entries: paths.chain(series).chain(responses).chain(jitter).collect(),
        }
    }

    /// Adds what a table of lengths has, by name.
    pub fn add_lengths(&mut self, lengths: &BTreeMap<String, Latencies>) {
        self.entries.extend(lengths.iter().map(|(name, lengths)| lengths_entry(name, lengths)));
    }

    /// Without the samples, which only a comparison of two runs needs.
    pub fn without_samples(mut self) -> Self {
        self.entries.iter_mut().for_each(|entry| entry.sample = Sample::default());
        self
    }

    /// The same entry of this run.
    pub(super) fn find(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.is_same(key))
    }

    /// The only test of the run, if it is of this kind.
    pub(super) fn single_test(&self, key: &Key) -> Option<&Entry> {
        let [entry] = self.entries.as_slice() else { return None };
        match (&entry.key, key) {
            (Key::Test(a, _), Key::Test(b, _)) if a == b => Some(entry),
            _ => None,
        }
    }
}

impl Key {
    /// The same path, also where one of the results is of a version that did not tell priorities.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => a.is_covering(b) || b.is_covering(a),
            _ => self == other,
        }
    }
}

fn values_of<const N: usize>(
    sample: &Sample,
    numbers: [(&'static str, u64, Option<f64>); N],
) -> Vec<Value> {
    let value = |(name, ns, quantile): (&'static str, u64, Option<f64>)| {
        let bin = quantile.and_then(|q| sample.quantile(q));
        let of_run = bin.map(|bin| RunValue {
            ns: f64::midpoint(bin.low_ns as f64, bin.high_ns as f64),
            width_ns: (bin.high_ns - bin.low_ns) as f64 + 1.0,
        });
        Value { name, ns, quantile, of_run }
    };
    numbers.map(value).into()
}

/// The target's name, with its priority where it is no common one.
fn describe_target(key: &PathKey) -> String {
    match key.sched {
        Some(sched) if !sched.is_default() => format!("{} {sched}", key.comm),
        _ => key.comm.to_string(),
    }
}

fn path_entry(path: &PathSummary) -> Entry {
    let (sample, q) = (Sample::from(&path.histogram), &path.total);
    let name = format!("{} via {} to {}", path.origin_name, path.via, describe_target(&path.key));
    let values = values_of(
        &sample,
        [
            ("Q50", q.q50_ns, Some(0.5)),
            ("Q95", q.q95_ns, Some(0.95)),
            ("Q99", q.q99_ns, Some(0.99)),
            ("max", q.max_ns, None),
        ],
    );
    Entry { key: Key::Path(path.key.clone()), name, n: q.n, values, base_ns: 0, sample }
}

fn series_entry(series: &BenchSeries) -> Entry {
    let (sample, q) = (Sample::from(&series.latencies), &series.quantiles);
    let values = values_of(
        &sample,
        [
            ("Q05", q.q05_ns, Some(0.05)),
            ("Q50", q.q50_ns, Some(0.5)),
            ("Q95", q.q95_ns, Some(0.95)),
            ("max", q.max_ns, None),
            ("max irq", series.max_irq_ns, None),
        ],
    );
    let key = Key::Series(series.label.clone());
    Entry { key, name: series.label.clone(), n: q.n, values, base_ns: 0, sample }
}

fn lengths_entry(name: &str, lengths: &Latencies) -> Entry {
    let (sample, q) = (Sample::from(lengths), lengths.quantiles());
    let values = values_of(
        &sample,
        [
            ("Q05", q.q05_ns, Some(0.05)),
            ("Q50", q.q50_ns, Some(0.5)),
            ("Q95", q.q95_ns, Some(0.95)),
            ("max", q.max_ns, None),
        ],
    );
    let key = Key::Series(name.to_owned());
    Entry { key, name: name.to_owned(), n: q.n, values, base_ns: 0, sample }
}

fn response_entry(test: &Response) -> Entry {
    let name = format!("response to {} on CPU {}", test.source, test.cpu);
    let key = Key::Test(Test::Response(test.source), test.cpu);
    test_entry(key, name, (&test.histogram).into(), &test.quantiles, 0)
}

fn jitter_entries(test: &Jitter) -> impl Iterator<Item = Entry> {
    let cpu = test.cpu;
    let loops = test.loops.as_ref().map(|loops| {
        let name = format!("loops beyond the ideal on CPU {cpu}");
        let key = Key::Test(Test::Loops, cpu);
        test_entry(key, name, (&loops.histogram).into(), &loops.excess, loops.ideal_ns)
    });
    let interruptions = test.interruptions.as_ref().map(|all| {
        let name = format!("interruptions on CPU {cpu}");
        let key = Key::Test(Test::Interruptions, cpu);
        test_entry(key, name, (&all.histogram).into(), &all.quantiles, 0)
    });
    loops.into_iter().chain(interruptions)
}

fn test_entry(key: Key, name: String, sample: Sample, q: &Quantiles, base_ns: u64) -> Entry {
    let values = values_of(
        &sample,
        [
            ("avg", q.mean_ns, None),
            ("Q50", q.q50_ns, Some(0.5)),
            ("Q95", q.q95_ns, Some(0.95)),
            ("Q99", q.q99_ns, Some(0.99)),
            ("Q99.9", q.q999_ns, Some(0.999)),
            ("max", q.max_ns, None),
        ],
    );
    Entry { key, name, n: q.n, values, base_ns, sample }
}
