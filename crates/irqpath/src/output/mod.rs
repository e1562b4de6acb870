// SPDX-License-Identifier: GPL-2.0-or-later
//! The ways out of the program: `console` is standard output and standard error, `files` what a
//! measurement keeps, `streams` the files that grow while it runs, `export` the choice of exporters.

pub mod args;
pub mod console;
pub mod exit;
pub mod export;
pub mod files;
pub mod progress;
pub mod streams;
