// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab gate`: path lengths against `lab/budgets.toml`.

use std::process::ExitCode;

use anyhow::bail;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Definition, Options, VariantRun};
use irqpath_lab::gate::{Budgets, Measured, VariantBudget, compare_budgets};
use irqpath_model::lab::GateFinding;
use irqpath_report::text::lab::render_findings;

use super::args::LabGate;
use super::common::{explain_experiment, report_errors, select_experiments};
use crate::output::{console, exit};

pub fn run(lab: &Lab, arguments: &LabGate) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let gated = select_gated(&definitions, &arguments.experiments)?;
    let options = Options { gate: true, attribute: true, ..Options::default() };
    let runs = experiment::run_experiments(lab, &gated, &options, &|_, _| ())
        .map_err(explain_experiment)?;
    lab.progress.clear_line();
    if let Some(error) = report_errors(runs.errors) {
        return Err(error);
    }
    let variants = gated.iter().zip(&runs.variants);
    let measured: Vec<Measured> =
        variants.flat_map(|(d, runs)| runs.iter().map(|run| collect_figures(d, run))).collect();
    let path = lab.project.lab().join("budgets.toml");
    let mut budgets = Budgets::read(&path)?;
    let findings: Vec<GateFinding> =
        measured.iter().flat_map(|m| compare_budgets(m, &budgets)).collect();
    console::print_page(&render_findings(&findings))?;
    if arguments.bless {
        for measured in &measured {
            budgets.bless(measured);
        }
        budgets.write(&path)?;
        console::print_note(&format!(
            "{} has the new budgets; say in the commit why",
            path.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let failed = findings.iter().any(GateFinding::fails);
    Ok(ExitCode::from(if failed { exit::EXCEEDED } else { 0 }))
}

/// Those that were named, or all that can be.
fn select_gated<'a>(
    definitions: &'a [Definition],
    names: &[String],
) -> anyhow::Result<Vec<&'a Definition>> {
    if names.is_empty() {
        let has_budgets = |d: &&Definition| d.gate.is_some() && !d.is_on_newest();
        return Ok(definitions.iter().filter(has_budgets).collect());
    }
    let wanted = select_experiments(definitions, names)?;
    match wanted.iter().find(|definition| definition.gate.is_none()) {
        Some(other) => bail!("{} has no [gate] part; name one that has", other.id),
        None => Ok(wanted),
    }
}

fn collect_figures(definition: &Definition, run: &VariantRun) -> Measured {
    let gate = definition.gate.as_ref();
    let metrics = run.named_metrics();
    let watched = definition.watched_on(&run.variant);
    let (found, missing): (Vec<&String>, Vec<&String>) =
        watched.partition(|name| metrics.contains_key(*name));
    let figure = |name: &String| (name.clone(), metrics[name].round() as u64);
    let drawn = run.attributed.first();
    Measured {
        experiment: definition.id.clone(),
        variant: run.variant.name.clone(),
        allowance_percent: gate.map_or(0.0, |gate| gate.allowance_percent),
        figures: VariantBudget {
            kernel: run.kernel.package_version.clone(),
            image_sha256: run.kernel.sha256.clone(),
            metrics: found.into_iter().map(figure).collect(),
            functions: drawn.map(|path| path.median.sum_functions()).unwrap_or_default(),
        },
        missing: missing.into_iter().cloned().collect(),
        drawn: drawn.map(|path| path.series.clone()),
    }
}
