// SPDX-License-Identifier: GPL-2.0-or-later
//! What the binary itself asks of the machine: its CPUs, names for what was measured, the content
//! of `meta.json`, interrupts on CPUs that are kept free of them, and signals.

pub mod clocks;
pub mod cpus;
pub mod intrusions;
pub mod meta;
pub mod names;
pub mod signals;
