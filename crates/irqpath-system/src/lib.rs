// SPDX-License-Identifier: GPL-2.0-or-later
//! What the host is and how it is set up: interrupt counts and names, kernel and CPU facts,
//! CPU lists and `--irq` arguments checked against the machine, privileges, and advice. And how it
//! is changed: [`change`] through a [`journal`], by [`shield`]; and what the irqpath kernel adds, by
//! [`policy`].
//!
//! Every path lies under the root of a [`Host`], so that tests build a machine of files; only
//! the real host falls back on a system call. Neighbours: `irqpath-model` has the types that
//! are filled here; the binary puts them into `meta.json`.
//!
//! The rule to know: what a result *needs* is read with typed errors, what merely *describes*
//! the machine never fails and is left empty where the host does not tell.

mod cgroups;
pub mod change;
pub mod check;
mod config;
mod cpu;
mod cpus;
mod error;
mod host;
mod interrupts;
mod isolation;
pub mod journal;
mod kernel;
mod names;
mod origins;
pub mod policy;
mod privileges;
mod reserve;
pub mod shield;
mod symbols;
mod tasks;
#[cfg(test)]
mod testing;
pub mod tune;

pub use cgroups::CgroupWalk;
pub use error::{SystemError, Unprivileged};
pub use host::Host;
pub use interrupts::{CountTable, parse_counts};
pub use privileges::Privileges;
pub use reserve::RtReserve;
pub use tasks::Task;
