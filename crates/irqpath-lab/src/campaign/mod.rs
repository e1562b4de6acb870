// SPDX-License-Identifier: GPL-2.0-or-later
//! Campaigns: many exact guests on many workers, by an engine that schedules them.
//!
//! `unit` is what runs, `settle` decides what counts and what must run, `store` is the directory,
//! `execute` is a worker's side of it, `engine` has a file for each engine, `drive` connects them,
//! and `guest` makes units of experiments and runs them. irqpath is no scheduler: it names units and
//! judges results.

mod drive;
pub mod engine;
mod error;
mod execute;
mod guest;
mod place;
mod settle;
mod store;
#[cfg(test)]
mod testing;
mod unit;

pub use drive::{Campaign, Report};
pub use error::CampaignError;
pub use execute::{Executed, execute_task, find_worker};
pub use guest::{UnitError, collect_results, plan_units, run_unit};
pub use store::{Store, StoredRun};
pub use unit::{Batch, Unit};

/// In the environment of a unit: the name of its worker, where the engine has no variable of its own.
pub const WORKER: &str = "IRQPATH_WORKER";
