// SPDX-License-Identifier: GPL-2.0-or-later
//! What the binary itself asks of the machine: its CPUs, names for what was measured, the content
//! of `meta.json`, and signals.

pub mod clocks;
pub mod cpus;
pub mod meta;
pub mod names;
pub mod signals;
