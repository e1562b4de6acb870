// SPDX-License-Identifier: GPL-2.0-or-later
//! What a worker does: runs one unit of a batch and publishes its result, whole or not at all.
//!
//! How a unit runs is the caller's: a guest, or in tests something that takes no time. A worker that
//! is killed leaves a directory with a name that no result has.

use std::time::Instant;

use irqpath_files::output::{Directory, OutputError};

use super::error::CampaignError;
use super::store::{Store, complete_run};
use super::unit::{Batch, Unit, clean_worker};

/// What became of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    Published,
    /// The engine started the task before, and it ended well.
    AlreadyThere,
}

/// Runs a task; `run` writes the result into the directory it gets.
///
/// # Errors
/// What `run` returns, and [`CampaignError`]; nothing is published then.
pub fn execute_task<E: From<CampaignError>>(
    store: &Store,
    number: u32,
    task: usize,
    worker: &str,
    run: impl FnOnce(&Batch, &Unit, &Directory) -> Result<(), E>,
) -> Result<Executed, E> {
    let batch = store.read_batch(number)?;
    let nr = batch.units.len();
    let unit = batch.units.get(task).ok_or(CampaignError::NoTask { batch: number, task, nr })?;
    let staged = match store.stage_run(unit, number, task) {
        Err(CampaignError::Output(OutputError::Exists(_))) => return Ok(Executed::AlreadyThere),
        staged => staged?,
    };
    let start = Instant::now();
    run(&batch, unit, staged.directory())?;
    let wall_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    complete_run(&staged, unit, &clean_worker(worker), wall_ms)?;
    staged.commit().map_err(CampaignError::from)?;
    Ok(Executed::Published)
}

/// The worker that this process is, by its environment: as irqpath named it, as Slurm did, or this
/// host.
pub fn find_worker(variable: impl Fn(&str) -> Option<String>) -> String {
    let names = [super::WORKER, "SLURMD_NODENAME", "HOSTNAME"];
    let name = names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
    clean_worker(&name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;

    use crate::campaign::store::Found;
    use crate::campaign::testing::make_batch;

    #[test]
    fn the_engine_names_the_worker() {
        for (set, expected) in [
            (vec![("IRQPATH_WORKER", "local-1"), ("HOSTNAME", "h")], "local-1"),
            (vec![("IRQPATH_WORKER", ""), ("SLURMD_NODENAME", "w1"), ("HOSTNAME", "h")], "w1"),
            (vec![("HOSTNAME", "h")], "h"),
            (vec![], "unnamed"),
        ] {
            let variable = |name: &str| {
                let (_, value) = set.iter().find(|(known, _)| *known == name)?;
                Some((*value).to_owned())
            };
            assert_eq!(find_worker(variable), expected);
        }
    }

    fn publish(_: &Batch, unit: &Unit, directory: &Directory) -> Result<(), CampaignError> {
        Ok(directory.write("console.log", |file| file.write_all(unit.label().as_bytes()))?)
    }

    #[test]
    fn a_task_that_is_started_twice_has_one_result() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path(), true).unwrap();
        let batch = make_batch(3, 2);
        store.write_batch(&batch).unwrap();
        assert_eq!(execute_task(&store, 3, 1, "a", publish).unwrap(), Executed::Published);
        assert_eq!(execute_task(&store, 3, 1, "b", publish).unwrap(), Executed::AlreadyThere);
        let found = store.read_runs(&batch.units).unwrap();
        assert_eq!(found.runs.len(), 1);
        assert_eq!((found.runs[0].unit, found.runs[0].worker.as_str()), (1, "a"));
        assert_eq!(store.next_number().unwrap(), 4);
    }

    #[test]
    fn a_unit_that_fails_leaves_nothing_and_a_task_that_is_none_is_named() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::open(place.path(), true).unwrap();
        let batch = make_batch(0, 1);
        store.write_batch(&batch).unwrap();
        let fail = |batch: &Batch, unit: &Unit, directory: &Directory| {
            publish(batch, unit, directory)?;
            Err(CampaignError::Engine("it failed".to_owned()))
        };
        assert!(execute_task(&store, 0, 0, "a", fail).is_err());
        assert_eq!(store.read_runs(&batch.units).unwrap(), Found::default());
        assert_eq!(store.remove_leftovers(&batch.units).unwrap(), 0);
        let none = execute_task(&store, 0, 7, "a", publish).unwrap_err().to_string();
        assert_eq!(none, "batch 0 has 1 tasks, and no task 7");
        fs::write(place.path().join("batches/5.json"), "[]").unwrap();
        for (number, expected) in [(4, "cannot read"), (5, "is not a batch of a campaign")] {
            let error = execute_task(&store, number, 0, "a", publish).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }
}
