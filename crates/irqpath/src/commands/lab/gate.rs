// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab gate`: path lengths against `lab/budgets.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, ColumnRun, Definition, Options};
use irqpath_lab::gate::{Budgets, Change, ColumnBudget, Finding, Measured, compare};

use super::run::told;
use crate::cli_lab::LabGate;
use crate::out;

/// Run it.
pub fn run(lab: &Lab, arguments: &LabGate) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let mut measured = Vec::new();
    for definition in &definitions {
        let Some(gate) = &definition.gate else { continue };
        let options =
            Options { parameters: gate.parameters.clone(), attribute: true, ..Options::default() };
        let mut runs = experiment::run(lab, &[definition], &options).map_err(told)?;
        if let Some(error) = runs.errors.pop() {
            return Err(told(error));
        }
        measured.extend(runs.columns.iter().flatten().map(|run| figures(definition, run)));
    }
    lab.progress.clear();
    let path = lab.project.lab().join("budgets.toml");
    let mut budgets = Budgets::read(&path)?;
    let findings: Vec<Finding> = measured.iter().flat_map(|m| compare(m, &budgets)).collect();
    out::print(&text(&findings))?;
    if arguments.bless {
        for measured in &measured {
            budgets.bless(measured);
        }
        budgets.write(&path)?;
        out::note(&format!("{} has the new budgets; say in the commit why", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let failed = findings.iter().any(Finding::fails);
    Ok(ExitCode::from(if failed { out::EXCEEDED } else { 0 }))
}

fn figures(definition: &Definition, run: &ColumnRun) -> Measured {
    let gate = definition.gate.as_ref();
    let metrics = run.metrics();
    let watched = gate.map(|gate| gate.metrics.as_slice()).unwrap_or_default();
    let figure = |name: &String| Some((name.clone(), metrics.get(name)?.round() as u64));
    Measured {
        experiment: definition.id.clone(),
        column: run.column.name.clone(),
        allowance_percent: gate.map_or(0.0, |gate| gate.allowance_percent),
        figures: ColumnBudget {
            kernel: run.kernel.package_version.clone(),
            image_sha256: run.kernel.sha256.clone(),
            metrics: watched.iter().filter_map(figure).collect(),
            functions: functions(run),
        },
    }
}

/// Where the median path spends its instructions, if the experiment names a path.
fn functions(run: &ColumnRun) -> BTreeMap<String, u64> {
    run.attributed.first().map(|path| path.median.functions().0).unwrap_or_default()
}

fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let Finding { experiment, column, metric, now, change } = finding;
        let place = format!("{experiment} on {column}: {metric}");
        // Writing to a String cannot fail.
        let _ = match change {
            Change::Kept { budget } => writeln!(text, "ok      {place} {now} (budget {budget})"),
            Change::Shrank { budget } => {
                writeln!(text, "shorter {place} {now} (budget {budget}); --bless lowers it")
            }
            Change::Unbudgeted => writeln!(text, "NEW     {place} {now}; --bless makes a budget"),
            Change::Grew { budget, functions, same_kernel } => {
                let kernel = if *same_kernel { "" } else { ", another kernel image" };
                let _ = writeln!(text, "LONGER  {place} {now} (budget {budget}{kernel})");
                functions
                    .iter()
                    .try_for_each(|(name, growth)| writeln!(text, "          {growth:+6} {name}"))
            }
        };
    }
    text
}
