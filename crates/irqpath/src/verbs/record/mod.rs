// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath record`: the flight recorder.
//!
//! - `run` opens everything, gives up privileges, and goes round; `recorder` is what a round does.
//! - `triggers` finds out that something has happened, `limits` whether that makes a capture.
//! - `actions` is what is done besides, by a helper without privileges.
//! - `writer` turns a copy of the rings into a result directory, on a thread of its own.
//!
//! The rings themselves are in `irqpath-source` (`bpf::flight`). The agent has a recorder of the same
//! parts (`agent::recording`).

mod actions;
pub mod args;
mod limits;
mod memory;
mod recorder;
mod run;
mod triggers;
mod writer;

pub use actions::Actions;
pub use args::parse_stage;
pub use limits::{Limiter, Rate};
pub use memory::{User, Watch as MemoryWatch, share_out, watch_within};
pub use recorder::{Recorder, Settings, State};
pub use run::{is_capture, run};
pub use triggers::{Asked, Triggers};
pub use writer::{Writer, measure_disk};
