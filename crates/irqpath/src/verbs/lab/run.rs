// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab run`: runs experiments, stores a result directory per variant and the table.

use std::collections::BTreeSet;
use std::process::ExitCode;

use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, Definition, Options, Replaced, Results, Variant};
use irqpath_model::Reproduced;

use super::args::LabRun;
use super::common::{describe_making, explain_experiment, report_errors, select_experiments};
use crate::host::meta;
use crate::output::{console, exit};

/// The variants that have a whole result of today's files in the directory, and in its table.
fn find_complete(
    lab: &Lab,
    wanted: &[&Definition],
    options: &Options,
    output: &Directory,
) -> anyhow::Result<BTreeSet<(String, String)>> {
    let table = if output.path().join(experiment::TABLE).exists() {
        experiment::read_table(output.path())?.experiments
    } else {
        Vec::new()
    };
    let locate = |definition: &Definition, variant: &Variant, draw| {
        let place = experiment::variant_directory(&definition.id, &variant.name, draw);
        output.path().join(place)
    };
    let mut complete =
        experiment::find_complete(lab, wanted, options, locate).map_err(explain_experiment)?;
    complete.retain(|(id, variant)| {
        let of_it = table.iter().filter(|experiment| experiment.id == *id);
        of_it.flat_map(|experiment| &experiment.variants).any(|known| known.name == *variant)
    });
    Ok(complete)
}

pub fn run(lab: &Lab, arguments: &LabRun) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let asked = select_experiments(&definitions, &arguments.experiments)?;
    let made = describe_making(lab);
    let mut options = Options {
        variants: arguments.variants.clone(),
        replaced: Replaced {
            parameters: arguments.set.iter().cloned().collect(),
            ns_per_instruction: arguments.ns_per_instruction,
            draws: arguments.draws,
        },
        irqpath: std::env::current_exe().ok(),
        commit: made.commit.clone(),
        ..Options::default()
    };
    experiment::check_request(&asked, &options)?;
    let output = Directory::open(&arguments.output, true)?;
    if arguments.resume {
        options.complete = find_complete(lab, &asked, &options, &output)?;
        let nr = options.complete.len();
        console::print_note(&format!("{nr} variants have a result already and do not run again"));
    }
    let runs_at_all = |definition: &&Definition| {
        let mut variants = definition.variants.iter();
        !arguments.resume || variants.any(|variant| options.runs(&definition.id, &variant.name))
    };
    let wanted: Vec<&Definition> = asked.iter().copied().filter(runs_at_all).collect();
    let results = Results::begin(&wanted, &options, &made, &output, meta::format_now())?;
    let runs = experiment::run_experiments(lab, &wanted, &options, &|index, runs| {
        results.store_experiment(index, runs);
    });
    let runs = runs.map_err(explain_experiment)?;
    lab.progress.clear_line();
    let mut table = results.finish(&runs.variants)?;
    if arguments.resume {
        // As if all of it had just run.
        table.experiments = experiment::read_table(output.path())?.experiments;
        table.experiments.retain(|found| asked.iter().any(|asked| asked.id == found.id));
    }
    if arguments.json {
        console::print_json(&table, false)?;
    } else {
        console::write_stdout(|w| irqpath_report::reproduction::write_text(w, &table))?;
    }
    for remains in &runs.remains {
        let directory = experiment::store_remains(remains, &output)?;
        console::print_note(&format!("what the guest said is in {}", directory.path().display()));
    }
    if let Some(error) = report_errors(runs.errors) {
        return Err(error);
    }
    let failed = table.experiments.iter().any(Reproduced::has_failed);
    Ok(ExitCode::from(if failed { exit::EXCEEDED } else { 0 }))
}
