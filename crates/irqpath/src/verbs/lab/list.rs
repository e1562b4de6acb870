// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab list`: the experiments, and what became of them when they last ran.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use irqpath_files::output::Directory;
use irqpath_lab::experiment::{self, Definition, Mode, TABLE};
use irqpath_lab::{Lab, kernel};
use irqpath_model::lab::ListedExperiment;
use irqpath_model::{NotRun, OutcomeVerdict, Reproduced, Reproduction};
use irqpath_report::markdown;
use irqpath_report::text::lab::render_experiments;

use super::args::{LabList, RESULTS};
use crate::output::console;
use crate::output::files::write_file;

/// What makes the page, as it says itself.
const COMMAND: [&str; 7] = ["irqpath", "lab", "list", "--results", "DIR...", "--page", "FILE"];

pub fn run(lab: &Lab, arguments: &LabList) -> anyhow::Result<ExitCode> {
    let mut definitions = experiment::read_all(&lab.project.experiments())?;
    let kernels = kernel::list_own_kernels(lab)?;
    let stored = read_tables(&arguments.results)?;
    // An experiment on the newest kernels has a row if it was run.
    let has_run = |id: &str| stored.iter().flat_map(|table| &table.experiments).any(|e| e.id == id);
    definitions.retain(|definition| !definition.is_on_newest() || has_run(&definition.id));
    let table = Reproduction {
        experiments: experiment::collect_results(&definitions, &kernels, &stored),
        // The page says itself which results these were.
        ..Reproduction::new(env!("CARGO_PKG_VERSION"), COMMAND.map(str::to_owned).to_vec())
    };
    if let Some(path) = &arguments.page {
        write_pages(path, &table)?;
        console::print_written(path)?;
    }
    if let Some(path) = &arguments.table {
        // A result that is none is not kept.
        let mut table = table.clone();
        table.experiments.retain(|experiment| experiment.made.is_some());
        write_file(path, |file| experiment::write_table(file, &table))?;
        console::print_written(path)?;
    }
    if arguments.page.is_some() || arguments.table.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<ListedExperiment> =
        definitions.iter().zip(&table.experiments).map(|(d, e)| make_line(d, e)).collect();
    if arguments.json {
        console::print_json(&lines, false)?;
    } else {
        console::print_page(&render_experiments(&lines))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The summary, and beside it, in a directory of its name, a page for each experiment and pictures.
fn write_pages(path: &Path, table: &Reproduction) -> anyhow::Result<()> {
    let directory = path.with_extension("");
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let parts = Directory::open(&directory, true)?;
    for part in markdown::render_parts(table)? {
        parts.write(&part.name, |file| file.write_all(part.text.as_bytes()))?;
    }
    write_file(path, |file| markdown::write_overview(file, table, &name))
}

/// The tables in these directories; the default one need not be there.
fn read_tables(directories: &[PathBuf]) -> anyhow::Result<Vec<Reproduction>> {
    let is_needed = |directory: &&PathBuf| {
        directory.as_path() != Path::new(RESULTS) || directory.join(TABLE).exists()
    };
    let read = |directory: &PathBuf| Ok(experiment::read_table(directory)?);
    directories.iter().filter(is_needed).map(read).collect()
}

fn make_line(definition: &Definition, reproduced: &Reproduced) -> ListedExperiment {
    ListedExperiment {
        id: definition.id.clone(),
        title: definition.title.clone(),
        exact: definition.mode == Mode::Exact,
        mode: definition.mode.to_string(),
        variants: definition.variants.iter().map(|variant| variant.name.clone()).collect(),
        recipe: definition.recipe.clone(),
        state: if reproduced.made.is_some() { describe_state(reproduced) } else { String::new() },
        not_run: reproduced
            .not_run
            .iter()
            .filter(|part| part.series.is_empty())
            .map(format_part)
            .collect(),
    }
}

fn format_part(part: &NotRun) -> String {
    if part.variant.is_empty() {
        part.why.clone()
    } else {
        format!("{}: {}", part.variant, part.why)
    }
}

fn describe_state(experiment: &Reproduced) -> String {
    let outcomes = || experiment.claims.iter().flat_map(|claim| &claim.outcomes);
    let count = |verdict| outcomes().filter(|outcome| outcome.verdict == verdict).count();
    let nr_claims = outcomes().count() - count(OutcomeVerdict::Stated);
    let mut state = format!("{} of {nr_claims} hold", count(OutcomeVerdict::Holds));
    if experiment.has_failed() {
        state.push_str(", FAILED");
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest experiment there can be, read as the project's are.
    fn read_definition() -> Definition {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("jobs")).unwrap();
        std::fs::write(directory.path().join("jobs/one.sh"), "true").unwrap();
        let file = r#"
            id = "one"
            title = "First"
            source = { document = "000", section = "1" }
            mode = "exact"
            workload = "Work."
            time_limit_s = 1
            guest = { job = "one.sh" }
            variant = [{ name = "rt", flavour = "stock-rt" }, { name = "ours", flavour = "irqpath" }]
            series = [{ name = "s" }]
        "#;
        std::fs::write(directory.path().join("one.toml"), file).unwrap();
        experiment::read_all(directory.path()).unwrap().remove(0)
    }

    #[test]
    fn what_was_not_run_is_listed_with_its_reason() {
        let on = |variant: &str, series: &str, why: &str| NotRun {
            variant: variant.to_owned(),
            series: series.to_owned(),
            why: why.to_owned(),
        };
        let made = || Some(irqpath_model::Made::default());
        let table = [
            (
                None,
                on("", "", "measured with REPS=3"),
                "not run",
                "not run: measured with REPS=3\n",
            ),
            (made(), on("ours", "", "it changed"), "0 of 0 hold", "not run: ours: it changed\n"),
            (made(), on("rt", "s", "it has none"), "0 of 0 hold", "on rt, ours\n"),
        ];
        for (made, not_run, state, end) in table {
            let reproduced = Reproduced { made, not_run: vec![not_run], ..Reproduced::default() };
            let text = render_experiments(&[make_line(&read_definition(), &reproduced)]);
            assert!(text.contains(state) && text.ends_with(end), "{text}");
        }
        let stale =
            Reproduced { not_run: vec![NotRun::whole_experiment("gone")], ..Reproduced::default() };
        let json = serde_json::to_value(make_line(&read_definition(), &stale)).unwrap();
        assert_eq!((json["state"].as_str(), &json["not_run"][0]), (Some(""), &"gone".into()));
    }
}
