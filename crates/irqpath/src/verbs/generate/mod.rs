// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath generate`: files for packagers.

pub mod args;
mod run;

pub use run::run;
