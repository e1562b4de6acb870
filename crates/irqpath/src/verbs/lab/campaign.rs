// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab campaign`: experiments as units on many workers; and `irqpath lab unit`, what a
//! worker runs.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use irqpath_lab::Lab;
use irqpath_lab::campaign::engine::{Engine, Kubernetes, Local, Slurm, UnitCommand};
use irqpath_lab::campaign::{
    self, Campaign, Executed, Report, Store, Unit, UnitError, execute_task, find_worker,
};
use irqpath_lab::experiment::{self, Definition, Mode, Options, Replaced};
use irqpath_model::{Reproduced, Reproduction};
use irqpath_report::text::Page;

use super::args::{EngineName, LabCampaign, LabUnit};
use super::common::{describe_making, explain_experiment, select_experiments};
use crate::host::meta;
use crate::output::{console, exit};

/// How often a node may fail under a unit before the unit is given up.
const MAX_RESTARTS: u32 = 5;

pub fn run(lab: &Lab, arguments: &LabCampaign) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let wanted = select_exact(&definitions, &arguments.experiments)?;
    let command = describe_command(lab)?;
    let engine = make_engine(arguments, &command)?;
    // Before anything is built for an engine that is not there.
    engine.list_workers()?;
    let (made, started_at) = (describe_making(lab), meta::format_now());
    let store = Store::open(&arguments.output, true)?;
    let replaced = Replaced {
        parameters: arguments.set.iter().cloned().collect(),
        ns_per_instruction: arguments.ns_per_instruction,
        draws: arguments.draws,
    };
    let options = Options {
        variants: arguments.variants.clone(),
        replaced: replaced.clone(),
        irqpath: std::env::current_exe().ok(),
        commit: made.commit.clone(),
        ..Options::default()
    };
    experiment::check_request(&wanted, &options)?;
    let units = campaign::plan_units(lab, &wanted, &options, arguments.limit)
        .map_err(explain_experiment)?;
    let here = Local { command, nr_workers: 1, name: "here".to_owned() };
    let campaign = Campaign {
        store: &store,
        units: &units,
        replaced: &replaced,
        verify_percent: arguments.verify,
        attempts: arguments.attempts,
        progress: &lab.progress,
        arbiter: (arguments.engine == EngineName::Slurm).then_some(&here as &dyn Engine),
    };
    let report = campaign.run(&*engine)?;
    let table =
        campaign::collect_results(&wanted, report.settled.values(), &made, &started_at, &store)?;
    show(arguments, &units, &report, &table)
}

/// Those that were asked for and are exact: other results cannot be compared.
fn select_exact<'a>(
    definitions: &'a [Definition],
    names: &[String],
) -> anyhow::Result<Vec<&'a Definition>> {
    let wanted = select_experiments(definitions, names)?;
    let is_exact = |definition: &&Definition| definition.mode == Mode::Exact;
    let named = |definition: &&&Definition| names.contains(&definition.id);
    match wanted.iter().filter(named).find(|definition| !is_exact(definition)) {
        Some(other) => bail!(
            "{} is not exact, so no two workers give the same bytes; use irqpath lab run",
            other.id
        ),
        None => Ok(wanted.into_iter().filter(is_exact).collect()),
    }
}

/// What a worker is started with: this program, and the same project.
fn describe_command(lab: &Lab) -> anyhow::Result<UnitCommand> {
    let program = std::env::current_exe().context("cannot find this program; is /proc mounted?")?;
    let words: [OsString; 5] = [
        program.into(),
        "lab".into(),
        "--project".into(),
        lab.project.root().into(),
        "unit".into(),
    ];
    Ok(UnitCommand(words.into()))
}

fn make_engine(arguments: &LabCampaign, command: &UnitCommand) -> anyhow::Result<Box<dyn Engine>> {
    Ok(match arguments.engine {
        EngineName::Local => Box::new(Local {
            command: command.clone(),
            nr_workers: arguments.jobs.map_or_else(count_cpus, usize::from),
            name: "local".to_owned(),
        }),
        EngineName::Slurm => Box::new(Slurm {
            command: command.clone(),
            throttle: arguments.throttle,
            options: arguments.sbatch.clone(),
            conf: None,
        }),
        EngineName::K8s => {
            let (Some(image), Some(claim)) = (&arguments.image, &arguments.claim) else {
                bail!("--engine k8s needs --image and --claim; docs/campaign.md describes both");
            };
            Box::new(Kubernetes {
                image: image.clone(),
                claim: claim.clone(),
                parallelism: arguments.throttle.unwrap_or(1000),
                attempts: arguments.attempts,
                user: arguments.user,
            })
        }
    })
}

fn count_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn show(
    arguments: &LabCampaign,
    units: &[Unit],
    report: &Report,
    table: &Reproduction,
) -> anyhow::Result<ExitCode> {
    if arguments.json {
        console::print_json(table, false)?;
    } else {
        console::write_stdout(|w| irqpath_report::reproduction::write_text(w, table))?;
    }
    for line in describe_report(units, report) {
        console::print_note(&line);
    }
    if report.is_submitted {
        let place = arguments.output.join("k8s");
        console::print_note(&format!(
            "apply the newest manifests in {}; when their Jobs have ended, run this again",
            place.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let failed = !report.open.is_empty() || table.experiments.iter().any(Reproduced::has_failed);
    Ok(ExitCode::from(if failed { exit::EXCEEDED } else { 0 }))
}

/// What became of a campaign, in lines for people.
fn describe_report(units: &[Unit], report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of {} units have a result ({} results were there, {} started, {} without a result); \
         two workers agree on {}",
        report.settled.len(),
        units.len(),
        report.nr_earlier,
        report.nr_started,
        report.nr_failed,
        report.verified.len()
    )];
    let set_aside = report.nr_damaged;
    if set_aside > 0 {
        lines.push(format!("{set_aside} damaged results are in damaged/ and do not count"));
    }
    if report.nr_leftovers > 0 {
        lines.push(format!("removed what {} killed units had left", report.nr_leftovers));
    }
    if !report.unverifiable.is_empty() && !report.is_submitted {
        let nr = report.unverifiable.len();
        lines.push(format!("{nr} units are not verified: there is no second worker"));
    }
    for (worker, shown) in &report.wrong {
        let shown: Vec<String> = shown.iter().map(|unit| units[*unit].label()).collect();
        let shown = shown.join(", ");
        lines.push(format!("worker {worker} gave wrong bytes for {shown}; no result of it counts"));
    }
    if !report.is_submitted {
        let open = report.open.iter();
        lines.extend(open.map(|(unit, why)| format!("{}: no result: {why}", units[*unit].label())));
    }
    lines
}

/// One task of a batch.
pub fn run_unit(lab: &Lab, arguments: &LabUnit) -> anyhow::Result<ExitCode> {
    let variable = |name: &str| std::env::var(name).ok();
    let store = Store::open(&arguments.campaign, false)?;
    let restarts = variable("SLURM_RESTART_COUNT").and_then(|nr| nr.parse().ok()).unwrap_or(0);
    if restarts > MAX_RESTARTS {
        bail!("nodes failed {restarts} times under this unit; look at what they have in common");
    }
    let worker = find_worker(variable);
    let irqpath = std::env::current_exe().ok();
    let (batch, task) = (arguments.batch, arguments.task);
    let executed = execute_task(&store, batch, task, &worker, |batch, unit, directory| {
        campaign::run_unit(lab, irqpath.as_deref(), batch, unit, directory)
    });
    let executed = executed.map_err(|error| match error {
        UnitError::Experiment(error) => explain_experiment(error),
        other => other.into(),
    })?;
    let said = match executed {
        Executed::Published => "the result is complete",
        Executed::AlreadyThere => "the result was complete before",
    };
    console::print_page(&Page::from_line(said))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_lab::experiment::Identity;

    #[test]
    fn a_report_names_what_is_open_and_who_was_wrong() {
        let unit = |nr: u32| Unit {
            experiment: format!("e{nr}"),
            variant: "rt".to_owned(),
            draw: nr,
            limit_s: 1,
            memory_mib: 1,
            identity: Identity::new([]),
        };
        let units = [unit(0), unit(1)];
        let report = Report::default();
        let lines = describe_report(&units, &report);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("0 of 2 units have a result"), "{lines:?}");
        let report = Report {
            wrong: [("w2".to_owned(), [0].into())].into(),
            open: [(1, "failed 3 times: it hangs".to_owned())].into(),
            unverifiable: [0].into(),
            nr_damaged: 1,
            nr_leftovers: 2,
            ..Report::default()
        };
        let lines = describe_report(&units, &report);
        assert_eq!(
            lines[1..],
            [
                "1 damaged results are in damaged/ and do not count",
                "removed what 2 killed units had left",
                "1 units are not verified: there is no second worker",
                "worker w2 gave wrong bytes for e0 on rt; no result of it counts",
                "e1 on rt, draw 1: no result: failed 3 times: it hangs",
            ]
        );
    }
}
