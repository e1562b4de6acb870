// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab run`: runs experiments, stores a result directory per variant and the table.

use std::process::ExitCode;

use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Options, Results};
use irqpath_model::Reproduced;

use super::args::LabRun;
use super::common::{describe_making, explain, report_errors, select_experiments};
use crate::host::meta;
use crate::output::{console, exit};

pub fn run(lab: &Lab, arguments: &LabRun) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let wanted = select_experiments(&definitions, &arguments.experiments)?;
    let options = Options {
        variants: arguments.variants.clone(),
        parameters: arguments.set.iter().cloned().collect(),
        irqpath: std::env::current_exe().ok(),
        ..Options::default()
    };
    let output = Directory::open(&arguments.output, true)?;
    let made = describe_making(lab);
    let results = Results::begin(&wanted, &options, &made, &output, meta::now())?;
    let runs = experiment::run(lab, &wanted, &options, &|index, runs| results.add(index, runs));
    let runs = runs.map_err(explain)?;
    lab.progress.clear();
    let table = results.finish(&runs.variants)?;
    if arguments.json {
        console::json(&table, false)?;
    } else {
        console::write(|w| irqpath_report::reproduction::write_text(w, &table))?;
    }
    for remains in &runs.remains {
        let directory = experiment::store_remains(remains, &output)?;
        console::note(&format!("what the guest said is in {}", directory.path().display()));
    }
    if let Some(error) = report_errors(runs.errors) {
        return Err(error);
    }
    let failed = table.experiments.iter().any(Reproduced::failed);
    Ok(ExitCode::from(if failed { exit::EXCEEDED } else { 0 }))
}
