// SPDX-License-Identifier: GPL-2.0-or-later
//! The exact flame graph: every instruction of a path, attributed to the call chain that ran it.
//!
//! [`Plugin`] builds the QEMU plugin (`lab/plugin`) for a [`crate::vm::Machine`]; the guest runs;
//! the plugin leaves a [`Recording`]. [`Symbols`] come from the guest's `/proc/kallsyms`.
//! [`Attribution`] puts both together and makes a [`Profile`] of any route: folded stacks, a
//! flame graph ([`svg`]), a table of functions. [`Growth`] tells which functions made one run
//! longer than another.
//!
//! Words: a *path* leads from one mark to another, an *instance* is one run of it, instances in
//! which the same instructions ran in the same chains are one *route*. Counts are instructions,
//! which are not cycles. Exact mode, one virtual CPU.

mod error;
mod growth;
mod plugin;
mod profile;
mod recording;
pub mod svg;
mod symbols;
#[cfg(test)]
mod tests;

pub use error::FlameError;
pub(crate) use growth::EXPLAINED;
pub use growth::{Grown, Growth};
pub use plugin::{PathMarks, Plugin};
pub use profile::{Attribution, Frame, FunctionTable, Profile};
pub use recording::{Comparison, Instance, PathRecording, Recording, Route, Stats};
pub use symbols::Symbols;
