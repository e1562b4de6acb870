// SPDX-License-Identifier: GPL-2.0-or-later
//! The slow paths of the page: which ones, and each with its stages and causes.

use std::collections::{BTreeSet, HashMap};

use irqpath_model::{Cause, CauseKind, Names, PathEnd, PathKey, Point, SlowPath, Summary, Task};
use serde::Serialize;

use crate::causes;

/// One slow path. Offsets count from its first stamp.
#[derive(Serialize)]
pub struct SlowRow {
    /// Position in the page's paths.
    path: usize,
    /// When it started: seconds of `CLOCK_MONOTONIC`, as text, since ns may exceed 2^53.
    at: String,
    total_ns: u64,
    /// Of it until the target ran.
    until_running_ns: u64,
    /// `cyclictest:812 f:80`.
    target: String,
    /// The expired timer's callback, where it was a timer's path.
    timer: Option<String>,
    end: &'static str,
    stages: Vec<SlowStage>,
    /// Stage and position there of the cause that took most, own work aside.
    main: Option<(usize, usize)>,
}

#[derive(Serialize)]
struct SlowStage {
    point: usize,
    cpu: u16,
    start_ns: u64,
    ns: u64,
    causes: Vec<CauseRow>,
}

#[derive(Serialize)]
struct CauseRow {
    kind: CauseKind,
    /// A name, or several threads of one name: `hackbench ×44 threads`.
    who: String,
    ns: u64,
    nr_times: u32,
}

/// At most `max` slow paths: the slowest one of each path, then the slowest of the rest. Those
/// of a path that has no statistics (the path table was full) have no row to be shown with.
pub fn choose_slow(
    summary: &Summary,
    index: &HashMap<&PathKey, usize>,
    names: &Names,
    max: usize,
) -> Vec<SlowRow> {
    let known: Vec<(usize, &SlowPath)> =
        summary.slow().iter().filter_map(|s| Some((row_of(index, s.record.key())?, s))).collect();
    let mut seen = BTreeSet::new();
    let (first, rest): (Vec<usize>, Vec<usize>) =
        (0..known.len()).partition(|&i| seen.insert(known[i].0));
    let mut chosen: Vec<usize> = first.into_iter().chain(rest).take(max).collect();
    chosen.sort_unstable();
    let is_ranked = |to| causes::is_ranked(to, summary);
    chosen.into_iter().map(|i| slow_row(known[i].0, known[i].1, names, is_ranked)).collect()
}

/// Where a path counts: its own row, one of a version that did not tell priorities, or that of
/// its origin's others.
fn row_of(index: &HashMap<&PathKey, usize>, key: PathKey) -> Option<usize> {
    let others = PathKey::others_of(key.origin);
    let own = index.get(&key).or_else(|| index.get(&PathKey { sched: None, ..key }));
    own.or_else(|| index.get(&others)).copied()
}

fn slow_row(
    path: usize,
    slow: &SlowPath,
    names: &Names,
    is_ranked: impl Fn(Point) -> bool,
) -> SlowRow {
    let record = &slow.record;
    let first_ns = record.first().map_or(0, |stamp| stamp.ns);
    let stages = slow_stages(slow);
    SlowRow {
        path,
        at: format!("{}.{:06}", first_ns / 1_000_000_000, first_ns / 1_000 % 1_000_000),
        total_ns: record.total_ns(),
        until_running_ns: record.until_running_ns(),
        target: task_label(&record.target),
        timer: (record.timer_fn != 0).then(|| names.symbol(record.timer_fn)),
        end: match record.end {
            PathEnd::User => "returned to user space",
            PathEnd::SwitchIn => "ends at its switch-in",
            PathEnd::SleptAgain => "slept again before user space",
            PathEnd::AlreadyRunning => "had not gone to sleep yet",
        },
        main: main_cause(&stages, is_ranked),
        stages,
    }
}

fn task_label(task: &Task) -> String {
    format!("{}:{} {}", task.comm, task.tid, task.effective_scheduling())
}

fn slow_stages(slow: &SlowPath) -> Vec<SlowStage> {
    let mut start_ns = 0;
    let mut stages = Vec::new();
    for span in slow.record.stages() {
        let found = slow.stages.iter().find(|s| s.to == span.to);
        stages.push(SlowStage {
            point: span.to.index(),
            cpu: found.map_or(span.end.cpu, |s| s.cpu),
            start_ns,
            ns: span.ns(),
            causes: cause_rows(found.map_or(&[], |s| &s.causes), span.ns()),
        });
        start_ns += span.ns();
    }
    stages
}

/// The causes, and what they leave over as unexplained: the parts must add up on the page.
fn cause_rows(causes: &[Cause], stage_ns: u64) -> Vec<CauseRow> {
    let mut rows: Vec<CauseRow> =
        causes::group_causes(causes, stage_ns).into_iter().map(cause_row).collect();
    let rest = stage_ns.saturating_sub(rows.iter().map(|c| c.ns).sum());
    if rest > 0 {
        let kind = CauseKind::Unexplained;
        if let Some(row) = rows.iter_mut().find(|c| c.kind == kind) {
            row.ns += rest;
        } else {
            rows.push(CauseRow { kind, who: String::new(), ns: rest, nr_times: 1 });
        }
    }
    rows
}

fn cause_row(row: causes::CauseRow) -> CauseRow {
    CauseRow { kind: row.kind, who: row.who, ns: row.ns, nr_times: row.nr_times }
}

fn main_cause(stages: &[SlowStage], is_ranked: impl Fn(Point) -> bool) -> Option<(usize, usize)> {
    let ranked = |(_, stage): &(usize, &SlowStage)| is_ranked(Point::ALL[stage.point]);
    let all = stages.iter().enumerate().filter(ranked).flat_map(|(s, stage)| {
        stage.causes.iter().enumerate().map(move |(c, cause)| ((s, c), cause))
    });
    all.filter(|(_, cause)| cause.kind != CauseKind::Own)
        .max_by_key(|(_, cause)| cause.ns)
        .map(|(at, _)| at)
}
