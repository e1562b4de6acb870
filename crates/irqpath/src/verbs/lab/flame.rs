// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab flame`: where every instruction of an experiment's path went.

use std::process::ExitCode;

use anyhow::bail;
use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Attributed, Definition, Options, Replaced};
use irqpath_model::Reproduction;
use irqpath_model::lab::DrawnPath;
use irqpath_report::text::Page;
use irqpath_report::text::lab::{render_drawn_path, render_drawn_paths};

use super::args::LabFlame;
use super::common::{describe_making, explain_experiment, report_errors, select_experiments};
use crate::host::meta;
use crate::output::console;

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
        let paths: Vec<_> =
            run.attributed.iter().map(|path| describe_path(&definition, path)).collect();
        for path in &paths {
            console::print_page(&render_drawn_path(&definition.id, &run.variant.name, path))?;
        }
        let directory = arguments.output.join(directory);
        console::print_page(&Page::from_line(format_args!(
            "flame-*.svg and .folded are in {}",
            directory.display()
        )))?;
        let heading = format!("{}: {}", definition.title, run.variant.name);
        console::print_page(&render_drawn_paths(&heading, &paths))?;
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

/// What was recorded of one series' path, for people.
fn describe_path(definition: &Definition, path: &Attributed) -> DrawnPath {
    let is_baseline = definition
        .series
        .iter()
        .any(|series| series.name == path.series && series.labels.contains_key("baseline"));
    DrawnPath {
        series: path.series.clone(),
        is_baseline,
        nr_paths: path.nr_instances,
        median: path.median.total(),
        worst: path.worst.total(),
        code_lines: path.code_lines,
        offset: path.offset,
        nr_same: path.agreement.nr_same(),
        nr_other: path.agreement.nr_other(),
        differing: path.agreement.differing.clone(),
        nr_slow: path.nr_slow,
        nr_unexplained: path.nr_unexplained,
        causes: path.causes_text().lines().map(str::to_owned).collect(),
    }
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
