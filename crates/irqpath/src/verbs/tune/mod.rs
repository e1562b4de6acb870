// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune`: learn which interrupt serves which task (`lessons`), or be told (`pin`), and act
//! on it (`run`).

pub mod args;
mod lessons;
mod pairs;
mod pin;
mod plan;
mod run;
mod watch;

pub use run::run;
