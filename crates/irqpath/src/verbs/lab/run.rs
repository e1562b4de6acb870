// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab run`: runs experiments, stores a result directory per column and the table.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use irqpath_files::output::Directory;
use irqpath_lab::Lab;
use irqpath_lab::experiment::{self, ColumnRun, Definition, Options};
use irqpath_model::{Made, Reproduced, Reproduction};

use super::args::LabRun;
use super::common::{describe_making, explain, report_errors, select_experiments};
use super::list;
use crate::host::meta;
use crate::output::{console, exit};

pub fn run(lab: &Lab, arguments: &LabRun) -> anyhow::Result<ExitCode> {
    let definitions = experiment::read_all(&lab.project.experiments())?;
    let wanted = select_experiments(&definitions, &arguments.experiments)?;
    let options = Options {
        columns: arguments.columns.clone(),
        parameters: arguments.set.iter().cloned().collect(),
        irqpath: std::env::current_exe().ok(),
        ..Options::default()
    };
    let output = Directory::open(&arguments.output, true)?;
    let made = describe_making(lab);
    let keeper = Keeper::new(&wanted, &options, &made, &output)?;
    let runs = experiment::run(lab, &wanted, &options, &|index, runs| keeper.keep(index, runs));
    let runs = runs.map_err(explain)?;
    lab.progress.clear();
    let table = keeper.finish(&runs.columns)?;
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

/// Writes what experiments found, each as soon as its last guest has ended: whoever stops a run of
/// hours keeps what was done by then.
struct Keeper<'a> {
    definitions: &'a [&'a Definition],
    options: &'a Options,
    made: &'a Made,
    output: &'a Directory,
    started_at: String,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// By the index of the experiment.
    experiments: BTreeMap<usize, Reproduced>,
    /// What could not be written.
    error: Option<anyhow::Error>,
}

impl<'a> Keeper<'a> {
    fn new(
        definitions: &'a [&'a Definition],
        options: &'a Options,
        made: &'a Made,
        output: &'a Directory,
    ) -> anyhow::Result<Self> {
        let (started_at, found) = (meta::now(), Mutex::default());
        // A table that cannot be read shall not be found so after hours.
        list::earlier_in(output.path())?;
        Ok(Self { definitions, options, made, output, started_at, found })
    }

    fn keep(&self, index: usize, runs: &[ColumnRun]) {
        let definition = self.definitions[index];
        let reproduced = experiment::reproduced(definition, runs, self.options, self.made);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.experiments.insert(index, reproduced);
        let stored = store(definition, runs, self.output, &self.started_at)
            .and_then(|()| self.write(&self.table(&found), &[]));
        found.error = found.error.take().or(stored.err());
    }

    fn table(&self, found: &Found) -> Reproduction {
        let mut table = Reproduction::new(&self.made.irqpath_version, self.made.command.clone());
        table.experiments = found.experiments.values().cloned().collect();
        table
    }

    /// Puts the table into that of the directory, into which other runs may write as well.
    fn write(&self, table: &Reproduction, runs: &[Vec<ColumnRun>]) -> anyhow::Result<()> {
        let _lock = self.output.lock()?;
        let all = with_earlier(table, &list::earlier_in(self.output.path())?, self.definitions);
        Ok(experiment::store(&all, runs, self.output)?)
    }

    /// The table of all experiments, written with their pictures.
    fn finish(self, runs: &[Vec<ColumnRun>]) -> anyhow::Result<Reproduction> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = found.error.take() {
            return Err(error);
        }
        let table = self.table(&found);
        self.write(&table, runs)?;
        Ok(table)
    }
}

/// What the directory has of runs before, after what has just been run: that replaces its own
/// columns.
fn with_earlier(
    table: &Reproduction,
    earlier: &[Reproduced],
    definitions: &[&Definition],
) -> Reproduction {
    let is_new = |id: &str| table.experiments.iter().any(|experiment| experiment.id == id);
    let mut all = table.clone();
    for new in &mut all.experiments {
        let old = earlier.iter().find(|old| old.id == new.id);
        let definition = definitions.iter().find(|definition| definition.id == new.id);
        if let Some((definition, old)) = definition.zip(old) {
            *new = experiment::together(definition, new, old);
        }
    }
    all.experiments.extend(earlier.iter().filter(|old| !is_new(&old.id)).cloned());
    all
}

fn store(
    definition: &Definition,
    runs: &[ColumnRun],
    output: &Directory,
    started_at: &str,
) -> anyhow::Result<()> {
    let command = meta::command();
    runs.iter().try_for_each(|run| {
        Ok(experiment::store_column(definition, run, output, &command, started_at)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_its_own_experiments_of_the_table_and_no_others() {
        let named = |id: &str, title: &str| Reproduced {
            id: id.to_owned(),
            title: title.to_owned(),
            ..Reproduced::default()
        };
        let mut table = Reproduction::new("0", vec![]);
        table.experiments = vec![named("b", "new")];
        let all = with_earlier(&table, &[named("a", "old"), named("b", "old")], &[]);
        let found: Vec<(&str, &str)> =
            all.experiments.iter().map(|e| (e.id.as_str(), e.title.as_str())).collect();
        assert_eq!(found, [("b", "new"), ("a", "old")]);
    }

    /// Each has begun before the other has written.
    #[test]
    fn two_runs_into_one_directory_keep_what_the_other_found() {
        let directory = tempfile::tempdir().unwrap();
        let (made, options) = (Made::default(), Options::default());
        let output = Directory::open(directory.path(), false).unwrap();
        let keeper = || Keeper::new(&[], &options, &made, &output).unwrap();
        let (one, other) = (keeper(), keeper());
        for (keeper, id) in [(&one, "a"), (&other, "b"), (&one, "a")] {
            let mut table = Reproduction::new("0", vec![]);
            table.experiments = vec![Reproduced { id: id.to_owned(), ..Reproduced::default() }];
            keeper.write(&table, &[]).unwrap();
        }
        let all = list::earlier_in(directory.path()).unwrap();
        let mut found: Vec<&str> = all.iter().map(|e| e.id.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["a", "b"]);
    }
}
