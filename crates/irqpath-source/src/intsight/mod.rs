// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks of bottom-half mechanisms by the kernel module `intsight`.
//!
//! - [`Intsight`]: the module of this machine, driven through its files in debugfs.
//! - [`read_raw`]: the same files copied out of a machine (`cp -r /sys/kernel/debug/intsight DIR`),
//!   to be analysed elsewhere. A live result is read by the same code.
//!
//! A copy may have files that the module does not make: `load` (a number of processes), `cpu`,
//! `clock_rates` (lines `tsc 2400000000`). They say what only the maker of the capture knows.

mod control;
mod csv;
mod error;
mod params;
mod raw;
#[cfg(test)]
mod tests;

pub use control::{Available, Intsight};
pub use csv::Room;
pub use error::IntsightError;
pub use raw::{RATES_FILE, read_raw};

/// The module's directory, below the root of a machine.
pub const DIRECTORY: &str = "sys/kernel/debug/intsight";
