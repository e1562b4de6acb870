// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath trace`: `filter` and `recording` make the source, `top` is the live view.

pub mod args;
mod filter;
mod recording;
mod run;
mod text;
mod top;

pub use filter::split_tasks;
pub use run::run;
