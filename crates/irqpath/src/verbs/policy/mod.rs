// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath policy`: the policies of the irqpath kernel.

pub mod args;
mod run;

pub use run::run;
