// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath bench`: which benchmarks (`plan`), the live measurement of each (`measure`,
//! `progress`), and from raw directories to a result (`result`).
//!
//! Rule: measuring and analysing are apart. The raw directories are complete before the analysis
//! starts, and those of another machine are analysed in the same way.

pub mod args;
mod measure;
mod plan;
mod progress;
mod result;
mod run;

pub use run::run;
