// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath merge`: the results of a campaign as partitioned tables.
//!
//! `plan` reads every result once, refuses what is damaged or there twice, and keeps a few hundred
//! bytes of each. `write` then copies one partition after the other, one result at a time, so that
//! memory does not grow with the campaign. Nothing has its name before all of it is written.

pub mod args;
mod plan;
mod run;
mod write;

pub use run::run;
