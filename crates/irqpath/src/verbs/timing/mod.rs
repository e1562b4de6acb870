// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond` and `irqpath jitter`: tests of response and of determinism. `conditions` is
//! what both ask of the host.

pub mod args;
pub mod conditions;
mod jitter;
mod respond;

pub use jitter::run as run_jitter;
pub use respond::run as run_respond;
