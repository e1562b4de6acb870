// SPDX-License-Identifier: GPL-2.0-or-later
//! This host: a process for each unit, as many at a time as there are CPUs, each on a CPU of its
//! own. A worker is a place in which one unit runs after the other.
//!
//! The rule: no unit outlives the campaign. It gets a signal when the thread that started it dies,
//! and has a process group of its own, which is killed when its time is over.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Engine, Ran, UnitCommand};
use crate::campaign::error::CampaignError;
use crate::campaign::store::Store;
use crate::campaign::unit::Batch;
use crate::cpus;

/// Between two looks at a unit that runs.
const PERIOD: Duration = Duration::from_millis(20);

pub struct Local {
    pub command: UnitCommand,
    /// Units at a time, each on the next CPU.
    pub nr_workers: usize,
    /// What the workers' names start with.
    pub name: String,
}

/// A task that waits for a worker.
type Task<'a> = (&'a Batch, usize);

impl Local {
    fn worker_name(&self, nr: usize) -> String {
        format!("{}-{nr}", self.name)
    }

    /// A worker: takes the first task that it may run, until there is none.
    fn work(
        &self,
        nr: usize,
        store: &Store,
        queue: &Mutex<VecDeque<Task<'_>>>,
    ) -> Result<(), CampaignError> {
        let own = cpus::list_own();
        cpus::stay_on(own[nr % own.len()]);
        let name = self.worker_name(nr);
        let take = || {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            let at = queue.iter().position(|(batch, _)| !batch.exclude.contains(&name))?;
            queue.remove(at)
        };
        while let Some((batch, task)) = take() {
            self.run_task(store, batch, task, &name)?;
        }
        Ok(())
    }

    fn run_task(
        &self,
        store: &Store,
        batch: &Batch,
        task: usize,
        worker: &str,
    ) -> Result<(), CampaignError> {
        let path = store.log_path(batch.number, task);
        let mut log = create_log(store, &path)?;
        let second = log.try_clone().map_err(CampaignError::at("write", &path))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).args(&self.command.0);
        command.arg(store.path()).arg(batch.number.to_string()).arg(task.to_string());
        command.env(super::super::WORKER, worker).stdin(Stdio::null()).stdout(second);
        command.stderr(log.try_clone().map_err(CampaignError::at("write", &path))?);
        let child = command.process_group(0).spawn();
        let mut child = child.map_err(CampaignError::at("start", Path::new("setpriv")))?;
        let limit = Duration::from_secs(batch.units[task].limit_s);
        if !wait_until(&mut child, Instant::now() + limit) {
            use std::io::Write as _;
            // Nothing is lost if the disk is full: the task has no result in any case.
            let _ = writeln!(log, "the time limit of {} s is over", limit.as_secs());
        }
        Ok(())
    }
}

/// A new log in the campaign's directory.
fn create_log(store: &Store, path: &Path) -> Result<File, CampaignError> {
    let logs = store.directory().create_directory("logs")?;
    let name = path.file_name().unwrap_or_default();
    let (staged, file) = logs.stage_file(name)?;
    staged.commit()?;
    Ok(file)
}

/// Waits for a unit; kills it with what it started, and returns false, if it is not done by then.
fn wait_until(child: &mut Child, end: Instant) -> bool {
    while Instant::now() < end {
        // One that cannot be waited for is gone.
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        thread::sleep(PERIOD);
    }
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
    false
}

impl Engine for Local {
    fn list_workers(&self) -> Result<Vec<String>, CampaignError> {
        Ok((0..self.nr_workers).map(|nr| self.worker_name(nr)).collect())
    }

    /// What this engine starts ends with it.
    fn finish_earlier(&self, _: &Store) -> Result<bool, CampaignError> {
        Ok(true)
    }

    fn run(&self, store: &Store, batches: &[Batch]) -> Result<Ran, CampaignError> {
        let all = batches.iter().flat_map(|b| (0..b.units.len()).map(move |task| (b, task)));
        let queue = Mutex::new(all.collect::<VecDeque<_>>());
        thread::scope(|scope| {
            let start = |nr| {
                scope.spawn({
                    let queue = &queue;
                    move || self.work(nr, store, queue)
                })
            };
            let workers: Vec<_> = (0..self.nr_workers).map(start).collect();
            // A worker does not panic: what can go wrong is an error.
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })?;
        Ok(Ran::Ended)
    }
}
