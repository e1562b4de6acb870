// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune`: learn which interrupt serves which task (`lessons`), and act on it (`run`).

pub mod args;
mod lessons;
mod run;

pub use run::run;
