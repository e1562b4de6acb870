// SPDX-License-Identifier: GPL-2.0-or-later
//! What the page shows, in the form in which its script reads it.
//!
//! Neighbours: `verdict` writes the sentences, `slow` the slow paths, `assets/report/*.js` reads
//! this by field name. Numbers of the page must stay below 2^53, the largest that JavaScript holds
//! exactly: times are lengths and offsets, never stamps.

use std::collections::{BTreeMap, HashMap};

use irqpath_model::{
    CauseClass, CauseKind, CpuInfo, InterruptCounts, Isolation, KernelInfo, Meta, Missing,
    NapiStats, Origin, Overhead, PathKey, PathSummary, Point, Quantiles, StageSummary, Summary,
};
use serde::Serialize;

use super::buckets::{Bars, histogram_bars};
use super::slow::{SlowRow, choose_slow};
use super::verdict::{Note, trace_notes, trace_verdict};
use crate::causes;
use crate::target::Targets;

/// Everything the page shows.
#[derive(Serialize)]
pub struct Page<'a> {
    verdict: String,
    notes: Vec<Note>,
    points: Vec<PointWords>,
    /// Words of the cause kinds, by their stored name.
    kinds: BTreeMap<CauseKind, KindWords>,
    paths: Vec<PathRow<'a>>,
    slow: Vec<SlowRow>,
    threshold_ns: Option<u64>,
    lines: Vec<LineRow>,
    softirqs: Vec<SoftirqRow>,
    napi: &'a [NapiStats],
    losses: Vec<LossRow>,
    missing: &'a [Missing],
    overhead: &'a Overhead,
    machine: Machine<'a>,
    /// What a virtual machine's numbers include, where it was one.
    virtual_note: Option<String>,
    /// What interrupts that are off may be instead while the raise waits, where it was one.
    irqs_off_at_hardirq: &'static str,
}

#[derive(Serialize)]
struct PointWords {
    name: &'static str,
    title: &'static str,
}

#[derive(Serialize)]
struct KindWords {
    title: &'static str,
    class: CauseClass,
}

/// n, min, q05, q50, q95, q99, q99.9, max (ns) and overflow: an array, as it occurs for every
/// stage of every path.
type Row = [u64; 9];

#[derive(Serialize)]
struct PathRow<'a> {
    origin: &'a str,
    /// `irq`, `vector` or `softirq`: what the filter offers.
    kind: &'static str,
    via: &'a str,
    target: &'a str,
    /// Policy and priority where they say something.
    sched: &'a str,
    tid: Option<u32>,
    total: Row,
    /// Longest time until the target ran.
    slowest_ns: u64,
    bars: Bars,
    stages: Vec<StageRow>,
}

#[derive(Serialize)]
struct StageRow {
    point: usize,
    total: Row,
    bars: Bars,
}

#[derive(Serialize)]
struct LineRow {
    name: String,
    cpu: u16,
    nr: u64,
    run_ns: u64,
    max_run_ns: u64,
    /// What `/proc/interrupts` counted meanwhile, where one row of it is one line of ours.
    proc_nr: Option<u64>,
}

#[derive(Serialize)]
struct SoftirqRow {
    name: &'static str,
    cpu: u16,
    nr: u64,
    run_ns: u64,
    max_run_ns: u64,
    delay_ns: u64,
    max_delay_ns: u64,
    /// What `/proc/softirqs` counted meanwhile.
    proc_nr: Option<u64>,
}

#[derive(Serialize)]
struct LossRow {
    advice: &'static str,
    nr: u64,
    is_lost_data: bool,
}

#[derive(Serialize)]
pub(super) struct Machine<'a> {
    irqpath_version: &'a str,
    command: &'a [String],
    host: &'a str,
    started_at: &'a str,
    duration_ns: u64,
    source: &'a str,
    kernel: &'a KernelInfo,
    cpu: &'a CpuInfo,
    isolation: &'a Isolation,
    observer_effects: &'a [String],
}

impl<'a> Page<'a> {
    /// From a result, with at most `max_slow` slow paths.
    pub fn new(meta: &'a Meta, summary: &'a Summary, max_slow: usize) -> Self {
        let index: HashMap<&PathKey, usize> =
            summary.traced().paths.iter().enumerate().map(|(i, p)| (&p.key, i)).collect();
        let targets = Targets::from_paths(&summary.traced().paths);
        let slow = choose_slow(summary, &index, &meta.names, max_slow);
        Self {
            verdict: trace_verdict(meta, summary),
            notes: trace_notes(meta, summary, slow.len()),
            points: Point::ALL
                .iter()
                .map(|p| PointWords { name: p.name(), title: p.stage_title() })
                .collect(),
            kinds: kind_words(),
            paths: summary.traced().paths.iter().map(|path| path_row(path, &targets)).collect(),
            slow,
            threshold_ns: summary.traced().threshold_ns,
            lines: line_rows(meta, summary),
            softirqs: softirq_rows(meta, summary),
            napi: &summary.traced().napi,
            losses: loss_rows(summary),
            missing: &summary.missing,
            overhead: &summary.overhead,
            machine: machine_facts(meta),
            virtual_note: causes::virtual_note(meta),
            irqs_off_at_hardirq: causes::kind_title(
                CauseKind::IrqsOff,
                Point::Hardirq,
                meta.cpu.is_virtual(),
            ),
        }
    }
}

fn kind_words() -> BTreeMap<CauseKind, KindWords> {
    let words = |kind: CauseKind| KindWords { title: kind.title(), class: kind.class() };
    CauseKind::ALL.iter().map(|&kind| (kind, words(kind))).collect()
}

fn quantile_row(q: &Quantiles) -> Row {
    [q.n, q.min_ns, q.q05_ns, q.q50_ns, q.q95_ns, q.q99_ns, q.q999_ns, q.max_ns, q.nr_overflow]
}

fn path_row<'a>(path: &'a PathSummary, targets: &Targets<'_>) -> PathRow<'a> {
    let stage = |s: &StageSummary| StageRow {
        point: s.stage.index(),
        total: quantile_row(&s.quantiles),
        bars: histogram_bars(&s.histogram),
    };
    PathRow {
        origin: &path.origin_name,
        kind: match path.key.origin {
            Origin::Irq(_) => "irq",
            Origin::Vector(_) => "vector",
            Origin::Softirq(_) => "softirq",
        },
        via: &path.via,
        target: path.key.comm.as_str(),
        sched: targets.sched_word(path),
        tid: path.tid,
        total: quantile_row(&path.total),
        slowest_ns: path.slowest_ns,
        bars: histogram_bars(&path.histogram),
        stages: path.stages.iter().map(stage).collect(),
    }
}

/// The growth of one counter of `/proc/interrupts`; none where the row or CPU was absent.
fn counter_growth(meta: &Meta, label: &str, cpu: u16) -> Option<u64> {
    let at = |counts: &InterruptCounts| {
        let column = counts.cpus.iter().position(|&c| c == cpu)?;
        counts.interrupts.get(label)?.get(column).copied()
    };
    at(&meta.after)?.checked_sub(at(&meta.before)?)
}

fn line_rows(meta: &Meta, summary: &Summary) -> Vec<LineRow> {
    let mut owners: HashMap<String, Vec<Origin>> = HashMap::new();
    for line in &summary.traced().lines {
        let owners = owners.entry(line.origin.label()).or_default();
        if !owners.contains(&line.origin) {
            owners.push(line.origin);
        }
    }
    let of = |line: &irqpath_model::LineStats| {
        let label = line.origin.label();
        // Two vectors share CAL: its growth says nothing about either.
        let alone = owners.get(&label).is_some_and(|o| o.len() == 1);
        LineRow {
            name: meta.names.origin(line.origin),
            cpu: line.cpu,
            nr: line.nr,
            run_ns: line.run_ns,
            max_run_ns: line.max_run_ns,
            proc_nr: if alone { counter_growth(meta, &label, line.cpu) } else { None },
        }
    };
    summary.traced().lines.iter().map(of).collect()
}

fn softirq_rows(meta: &Meta, summary: &Summary) -> Vec<SoftirqRow> {
    let grown = |label: &str, cpu: u16| {
        let at =
            |counts: &InterruptCounts| counts.softirqs.get(label)?.get(usize::from(cpu)).copied();
        at(&meta.after)?.checked_sub(at(&meta.before)?)
    };
    let of = |s: &irqpath_model::SoftirqStats| SoftirqRow {
        name: s.vec.name(),
        cpu: s.cpu,
        nr: s.nr,
        run_ns: s.run_ns,
        max_run_ns: s.max_run_ns,
        delay_ns: s.delay_ns,
        max_delay_ns: s.max_delay_ns,
        proc_nr: grown(&Origin::Softirq(s.vec).label(), s.cpu),
    };
    summary.traced().softirqs.iter().map(of).collect()
}

fn loss_rows(summary: &Summary) -> Vec<LossRow> {
    let of = |(reason, &nr): (&irqpath_model::LossReason, &u64)| LossRow {
        advice: reason.advice(),
        nr,
        is_lost_data: reason.is_lost_data(),
    };
    summary.loss.0.iter().filter(|(_, nr)| **nr > 0).map(of).collect()
}

pub(super) fn machine_facts(meta: &Meta) -> Machine<'_> {
    Machine {
        irqpath_version: &meta.irqpath_version,
        command: &meta.command,
        host: &meta.host,
        started_at: &meta.started_at,
        duration_ns: meta.duration_ns,
        source: &meta.source,
        kernel: &meta.kernel,
        cpu: &meta.cpu,
        isolation: &meta.isolation,
        observer_effects: &meta.observer_effects,
    }
}
