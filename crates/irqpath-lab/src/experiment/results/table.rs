// SPDX-License-Identifier: GPL-2.0-or-later
//! From runs to the reproduction table: every claim judged on every column.

use irqpath_model::bench::Latencies;
use irqpath_model::{Figures as Rows, Made, NotRun, Reproduced, ReproducedColumn, SlowRuns};

use super::directory::column_directory;
use crate::experiment::claims::evaluate;
use crate::experiment::definition::{Column, Definition, Mode};
use crate::experiment::run::{ColumnRun, Options};

/// Why a column of a run of some columns is none.
pub(super) const NOT_ASKED: &str = "it was not asked for";

/// The experiment's part of the table: what `made` it, with which options.
pub fn reproduce(
    definition: &Definition,
    runs: &[ColumnRun],
    options: &Options,
    made: &Made,
) -> Reproduced {
    let columns: Vec<_> = runs.iter().map(|run| column(definition, run)).collect();
    Reproduced {
        claims: definition.checks.iter().map(|check| evaluate(check, &columns)).collect(),
        columns,
        figures: runs.iter().flat_map(rows).collect(),
        slow: runs.iter().flat_map(slow).collect(),
        not_run: not_run(definition, runs, options),
        recipe: recipe(definition, options),
        made: Some(made.clone()),
        ..describe(definition)
    }
}

/// What a file says of its experiment, without any result.
pub(super) fn describe(definition: &Definition) -> Reproduced {
    Reproduced {
        id: definition.id.clone(),
        title: definition.title.clone(),
        document: definition.source.document.clone(),
        source: source(definition),
        workload: definition.workload.trim().to_owned(),
        exact: definition.mode == Mode::Exact,
        ..Reproduced::default()
    }
}

/// The definition's; parameters that were replaced make it another one.
fn recipe(definition: &Definition, options: &Options) -> String {
    let replaced = options.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
    std::iter::once(definition.recipe.clone()).chain(replaced).collect()
}

/// Columns without a result, and series that a column left out.
fn not_run(definition: &Definition, runs: &[ColumnRun], options: &Options) -> Vec<NotRun> {
    let absent = |column: &&Column| !runs.iter().any(|run| run.column.name == column.name);
    let why = |column: &Column| {
        let asked_for = options.columns.is_empty() || options.columns.contains(&column.name);
        let why = if asked_for { "its guest went wrong" } else { NOT_ASKED };
        NotRun { column: column.name.clone(), ..NotRun::all(why) }
    };
    let columns = definition.columns.iter().filter(absent).map(why);
    columns.chain(runs.iter().flat_map(left_out)).collect()
}

/// Series that this kernel cannot do.
fn left_out(run: &ColumnRun) -> impl Iterator<Item = NotRun> {
    run.series.iter().filter_map(|series| {
        Some(NotRun {
            column: run.column.name.clone(),
            series: series.name.clone(),
            why: series.left_out.clone()?,
        })
    })
}

/// The rows of numbers of a column: intsight's series by their first clock, and intervals.
fn rows(run: &ColumnRun) -> Vec<Rows> {
    let mut rows = Vec::new();
    for series in &run.series {
        let row = |interval: &str, quantiles, max_irq_ns| Rows {
            column: run.column.name.clone(),
            series: series.name.clone(),
            interval: interval.to_owned(),
            quantiles,
            max_irq_ns,
        };
        let first = series.bench.first();
        rows.extend(first.map(|bench| row("", bench.quantiles, Some(bench.max_irq_ns))));
        let of = |(name, lengths): &(String, Latencies)| row(name, lengths.quantiles(), None);
        rows.extend(series.intervals.iter().map(of));
    }
    rows
}

/// Why runs of a column were slow, where its path was attributed.
fn slow(run: &ColumnRun) -> impl Iterator<Item = SlowRuns> {
    run.attributed.iter().flat_map(|path| {
        path.causes().into_iter().map(|(cause, nr)| SlowRuns {
            column: run.column.name.clone(),
            series: path.series.clone(),
            cause: cause.to_owned(),
            nr,
        })
    })
}

fn source(definition: &Definition) -> String {
    let source = &definition.source;
    if source.document == "irqpath" {
        return format!("ours: {}", source.section);
    }
    format!("document {}, {}", source.document, source.section)
}

fn column(definition: &Definition, run: &ColumnRun) -> ReproducedColumn {
    ReproducedColumn {
        name: run.column.name.clone(),
        kernel: format!("{} {}", run.kernel.release, run.kernel.package_version),
        image_sha256: run.kernel.sha256.clone(),
        kernel_digest: run.kernel.digest.clone(),
        directory: column_directory(&definition.id, &run.column.name),
        splats: run.outcome.splats.iter().map(|s| format!("{}: {}", s.kind, s.title)).collect(),
        metrics: run.metrics(),
    }
}
