// SPDX-License-Identifier: GPL-2.0-or-later
//! From runs to the reproduction table: every claim judged on every column.

use irqpath_files::output::{Directory, OutputError};
use irqpath_model::bench::Latencies;
use irqpath_model::{
    Claim, Figures as Rows, Made, NotRun, Outcome, OutcomeVerdict, Reproduced, ReproducedColumn,
    SlowRuns,
};

use irqpath_report::{html, json};

use super::check::{Check, Figures, Range, Value, Verdict};
use super::definition::{Column, Definition, Mode};
use super::pictures::pictures_of;
use super::run::{ColumnRun, Options};

/// Why a column of a run of some columns is none.
pub(super) const NOT_ASKED: &str = "it was not asked for";

/// The experiment's part of the table: what `made` it, with which options.
pub fn reproduced(
    definition: &Definition,
    runs: &[ColumnRun],
    options: &Options,
    made: &Made,
) -> Reproduced {
    let columns: Vec<_> = runs.iter().map(|run| column(definition, run)).collect();
    Reproduced {
        claims: definition.checks.iter().map(|check| judged(check, &columns)).collect(),
        columns,
        figures: runs.iter().flat_map(rows).collect(),
        slow: runs.iter().flat_map(slow).collect(),
        not_run: not_run(definition, runs, options),
        recipe: recipe(definition, options),
        made: Some(made.clone()),
        ..said(definition)
    }
}

/// What a file says of its experiment, without any result.
pub(super) fn said(definition: &Definition) -> Reproduced {
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

/// Where a column's result directory lies below the table.
pub fn directory(experiment: &str, column: &str) -> String {
    format!("{experiment}/{}", name_in(column))
}

/// The name of a column's directory in that of its experiment.
fn name_in(column: &str) -> String {
    column.replace([' ', '/'], "-")
}

/// Opens the same directory below `out`, and makes it if it is missing.
pub(super) fn open(
    out: &Directory,
    experiment: &str,
    column: &str,
) -> Result<Directory, OutputError> {
    out.directory(experiment)?.directory(name_in(column))
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
        directory: directory(&definition.id, &run.column.name),
        splats: run.outcome.splats.iter().map(|s| format!("{}: {}", s.kind, s.title)).collect(),
        metrics: run.metrics(),
    }
}

/// The claim on each of the columns that it is about.
pub(super) fn judged(check: &Check, columns: &[ReproducedColumn]) -> Claim {
    let figures: Figures =
        columns.iter().map(|column| (column.name.clone(), column.metrics.clone())).collect();
    let holds = if check.expect == Range::default() {
        OutcomeVerdict::Stated
    } else {
        OutcomeVerdict::Holds
    };
    let outcome = |column: &ReproducedColumn| {
        let (ours, verdict) = match check.judge(&column.name, &figures) {
            Verdict::Holds(value) => (shown(&check.value, value), holds),
            Verdict::Differs(value) => {
                (shown_outside(&check.value, value, check.expect), OutcomeVerdict::Differs)
            }
            Verdict::Missing(_) => (String::new(), OutcomeVerdict::Missing),
        };
        Outcome { column: column.name.clone(), ours, verdict }
    };
    Claim {
        claim: check.claim.clone(),
        paper: check.paper.clone(),
        expect: expectation(&check.value, check.expect),
        differs: check.differs.clone(),
        note: check.note.clone(),
        must: check.must,
        outcomes: columns.iter().filter(|c| check.applies_to(&c.name)).map(outcome).collect(),
    }
}

/// A value with the unit that its computation gives it.
fn shown(value: &Value, number: f64) -> String {
    with_digits(value, number, 0)
}

/// The same with so many more digits than usual.
fn with_digits(value: &Value, number: f64, more: usize) -> String {
    let digits = more + if matches!(value, Value::Ratio(..)) { 2 } else { 1 };
    match value {
        Value::Ratio(..) | Value::Per(..) => format!("{number:.digits$}"),
        Value::Change(..) => match format!("{number:+.digits$}") {
            // What rounds to nothing has no sign.
            zero if !zero.contains(|c: char| ('1'..='9').contains(&c)) => {
                format!("{:.digits$} %", 0.0)
            }
            other => format!("{other} %"),
        },
        Value::Metric(_) | Value::Difference(..) if number.fract() == 0.0 => format!("{number:.0}"),
        Value::Metric(_) | Value::Difference(..) => format!("{number:.0$}", more + 3),
    }
}

/// A value outside of its range, with as many digits as it takes to see that.
fn shown_outside(value: &Value, number: f64, range: Range) -> String {
    let below = range.min.filter(|min| number < *min);
    let Some(end) = below.or(range.max) else { return shown(value, number) };
    let pairs =
        (0..6).map(|more| (with_digits(value, number, more), with_digits(value, end, more)));
    let seen = pairs.into_iter().find(|(number, end)| number != end);
    seen.map_or_else(|| shown(value, number), |(number, _)| number)
}

fn expectation(value: &Value, range: Range) -> String {
    let end = |number| shown(value, number);
    match (range.min, range.max) {
        (Some(min), Some(max)) if (max - min).abs() < f64::EPSILON => {
            format!("exactly {}", end(min))
        }
        (Some(min), Some(max)) => format!("{} to {}", end(min), end(max)),
        (Some(min), None) => format!("at least {}", end(min)),
        (None, Some(max)) => format!("at most {}", end(max)),
        (None, None) => "stated".to_owned(),
    }
}

/// Writes the table in its four forms; the page has the flame graphs of the runs, which are those
/// of the table's experiments.
pub fn store(
    table: &irqpath_model::Reproduction,
    runs: &[Vec<ColumnRun>],
    directory: &Directory,
) -> Result<(), OutputError> {
    directory.write("reproduction.json", |file| json::write_pretty(file, table))?;
    directory.write("reproduction.txt", |f| irqpath_report::reproduction::write_text(f, table))?;
    directory.write("reproduction.md", |f| irqpath_report::markdown::write_page(f, table))?;
    write_page(table, runs, directory, "reproduction.html")
}

/// Writes the table with the pictures of the runs, which are those of its first experiments.
pub fn write_page(
    table: &irqpath_model::Reproduction,
    runs: &[Vec<ColumnRun>],
    directory: &Directory,
    name: &str,
) -> Result<(), OutputError> {
    directory.write(name, |page| {
        let mut pictures = Vec::new();
        for (experiment, runs) in table.experiments.iter().zip(runs) {
            for run in runs {
                pictures.extend(pictures_of(experiment, run)?);
            }
        }
        html::write_reproduction(page, table, &pictures)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_stored_where_the_table_says_it_is() {
        let below = tempfile::tempdir().unwrap();
        let out = Directory::open(below.path(), false).unwrap();
        for column in ["rt x86-64", "6.12-rt", "a/b failed"] {
            let stored = open(&out, "ihm-net", column).unwrap();
            assert_eq!(stored.path(), below.path().join(directory("ihm-net", column)));
            assert!(stored.path().is_dir(), "{column}");
        }
    }

    #[test]
    fn a_figure_outside_of_its_range_is_seen_to_be() {
        let ratio = Value::Ratio(String::new(), String::new());
        let change = Value::Change(String::new(), String::new());
        let metric = Value::Metric(String::new());
        let at_most = |max| Range { min: None, max: Some(max) };
        let at_least = |min| Range { min: Some(min), max: None };
        let table = [
            (&ratio, 1.5, at_most(1.0), "1.50"),
            (&ratio, 1.000_2, at_most(1.0), "1.0002"),
            (&ratio, 0.999_7, at_least(1.0), "0.9997"),
            (&change, 0.32, at_most(0.3), "+0.32 %"),
            (&change, -2.001, at_least(-2.0), "-2.001 %"),
            (&metric, 2101.0, at_most(2100.0), "2101"),
            (&ratio, 1.0 + 1e-12, at_most(1.0), "1.00"),
        ];
        for (value, number, range, expected) in table {
            assert_eq!(shown_outside(value, number, range), expected, "{number}");
        }
        assert_eq!(shown(&change, -0.04), "0.0 %");
        assert_eq!(shown(&change, 0.06), "+0.1 %");
    }
}
