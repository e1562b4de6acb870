// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab flame`: where every instruction of an experiment's path went.

use std::process::ExitCode;

use anyhow::bail;
use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Attributed, Definition, Options, Replaced, VariantRun};
use irqpath_model::Reproduction;
use irqpath_report::text::{Page, group_digits};

use super::args::LabFlame;
use super::common::{describe_making, explain_experiment, report_errors, select_experiments};
use crate::host::meta;
use crate::output::console;

/// Paths that are told if they are not as long as the guest measured them.
const DIFFERING: usize = 3;

pub fn run(lab: &Lab, arguments: &LabFlame) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let wanted = select_experiments(&definitions, std::slice::from_ref(&arguments.experiment))?;
    let Some(definition) = wanted.first().and_then(|definition| only_flame(definition)) else {
        bail!(
            "{} names no path to draw; take one whose file has a [flame] part",
            arguments.experiment
        );
    };
    let made = describe_making(lab);
    let options = Options {
        variants: arguments.variants.clone(),
        replaced: Replaced {
            parameters: arguments.set.iter().cloned().collect(),
            ns_per_instruction: arguments.ns_per_instruction,
            // A graph is of one path.
            draws: Some(1),
        },
        irqpath: std::env::current_exe().ok(),
        attribute: true,
        commit: made.commit.clone(),
        ..Options::default()
    };
    experiment::check_request(&[&definition], &options)?;
    let output = Directory::open(&arguments.output, true)?;
    let started_at = meta::format_now();
    let runs = experiment::run_experiments(lab, &[&definition], &options, &|_, _| ())
        .map_err(explain_experiment)?;
    lab.progress.clear_line();
    if let Some(error) = report_errors(runs.errors) {
        return Err(error);
    }
    for run in runs.variants.iter().flatten() {
        experiment::store_variant(&definition, run, &output, &made.command, &started_at)?;
        let directory = experiment::variant_directory(&definition.id, &run.variant.name, 0);
        for path in &run.attributed {
            console::print_page(&told_path(&definition, run, path))?;
        }
        let directory = arguments.output.join(directory);
        console::print_page(&Page::from_line(format_args!(
            "flame-*.svg and .folded are in {}",
            directory.display()
        )))?;
        console::print_page(&side_by_side(&definition, run))?;
    }
    let page = format!("{}.html", definition.id);
    let mut table = Reproduction::new(&made.irqpath_version, made.command.clone());
    let runs = runs.variants;
    table.experiments =
        vec![experiment::tabulate_experiment(&definition, &runs[0], &options, &made)];
    experiment::write_page(&table, &runs, &output, &page)?;
    let page = output.path().join(page);
    console::print_page(&Page::from_line(format_args!(
        "all of them on one page: {}",
        page.display()
    )))?;
    Ok(ExitCode::SUCCESS)
}

/// What was found of one series' path.
fn told_path(definition: &Definition, run: &VariantRun, path: &Attributed) -> Page {
    let (same, other) = (path.agreement.nr_same(), path.agreement.nr_other());
    let mut text = Page::from_line(format_args!(
        "{} on {}, {}: {} paths, median {} instructions in {} cache lines of code, worst {}",
        definition.id,
        run.variant.name,
        path.series,
        path.nr_instances,
        path.median.total(),
        path.code_lines,
        path.worst.total(),
    ));
    text.add_line(format_args!(
        "length as the guest measured it, less {} between its stamps and the marks: {same} equal, \
         {other} not",
        path.offset
    ));
    text.add_line(format_args!(
        "slow paths (over Q95): {}, without a named cause: {}",
        path.nr_slow, path.nr_unexplained
    ));
    path.causes_text().lines().for_each(|line| text.add_line(line));
    for (at, counted, measured) in path.agreement.differing.iter().take(DIFFERING) {
        text.add_line(format_args!("path {at}: {counted} instructions, {measured} measured"));
    }
    text
}

/// The series beside each other: how long their paths are, and against each baseline.
fn side_by_side(definition: &Definition, run: &VariantRun) -> Page {
    let is_baseline = |name: &str| {
        let mut series = definition.series.iter();
        series.any(|series| series.name == name && series.labels.contains_key("baseline"))
    };
    let baselines: Vec<_> =
        run.attributed.iter().filter(|path| is_baseline(&path.series)).collect();
    let mut rows = vec![vec!["instructions".to_owned(), "median".to_owned()]];
    rows[0].extend(baselines.iter().map(|base| format!("against {}", base.series)));
    rows[0].extend(["worst", "code lines"].map(str::to_owned));
    for path in &run.attributed {
        let mut row = vec![path.series.clone(), group_digits(path.median.total())];
        row.extend(
            baselines.iter().map(|base| format_change(path.median.total(), base.median.total())),
        );
        row.push(group_digits(path.worst.total()));
        row.push(group_digits(path.code_lines));
        rows.push(row);
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
    let mut text = Page::default();
    text.add_blank();
    text.add_line(format_args!("{}: {}", definition.title, run.variant.name));
    for row in &rows {
        let numbers = row.iter().zip(&widths).skip(1);
        let numbers: Vec<_> = numbers.map(|(cell, width)| format!("{cell:>width$}")).collect();
        text.add_line(format_args!("  {:1$}  {2}", row[0], widths[0], numbers.join("  ")));
    }
    text
}

/// How much longer or shorter, percent; nothing beside itself.
fn format_change(length: u64, base: u64) -> String {
    if length == base {
        return String::new();
    }
    format!("{:+.1} %", (length as f64 / base as f64 - 1.0) * 100.0)
}

/// The experiment with only the series that its path is taken from, and without its claims: they
/// are about all series, and more repetitions.
fn only_flame(definition: &Definition) -> Option<Definition> {
    let flame = definition.flame.as_ref()?;
    let mut only = definition.clone();
    only.series.retain(|series| flame.series.contains(&series.name));
    only.checks.clear();
    Some(only)
}
