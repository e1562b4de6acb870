// SPDX-License-Identifier: GPL-2.0-or-later
//! Where units run: each engine schedules, starts, limits and ends them by its own means, and
//! irqpath only tells it which. A new engine is one file and one implementation of [`Engine`].

mod k8s;
mod local;
mod slurm;

pub use k8s::Kubernetes;
pub use local::Local;
pub use slurm::Slurm;

use std::ffi::OsString;

use super::error::CampaignError;
use super::store::Store;
use super::unit::Batch;

/// The command that runs a unit; the campaign's directory, the batch and the task follow.
#[derive(Debug, Clone)]
pub struct UnitCommand(pub Vec<OsString>);

/// Whether the engine waited for what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Every task has ended, well or not.
    Ended,
    /// Somebody has to start them, or they still run.
    Submitted,
}

pub trait Engine: Sync {
    /// The workers there are; none if the engine does not tell.
    fn list_workers(&self) -> Result<Vec<String>, CampaignError>;

    /// Most tasks of a batch.
    fn max_tasks(&self) -> Result<usize, CampaignError> {
        Ok(usize::MAX)
    }

    /// Waits for what an earlier start of the campaign left running; false if that may still run.
    fn finish_earlier(&self, store: &Store) -> Result<bool, CampaignError>;

    /// Starts every task of the batches. That a task fails is no error: it has no result then.
    fn run(&self, store: &Store, batches: &[Batch]) -> Result<Ran, CampaignError>;
}
