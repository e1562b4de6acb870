// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath check`: the findings about this host.

pub mod args;
mod run;

pub use run::run;
