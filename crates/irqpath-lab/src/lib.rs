// SPDX-License-Identifier: GPL-2.0-or-later
//! The exact lab: kernels, guests and experiments in which one instruction is one nanosecond.
//!
//! `kernel` provides images and modules from a cache, `guest` makes an initramfs, `vm` boots it
//! and brings its results back, `flame` attributes the instructions of one path to functions,
//! `experiment` turns `experiments/*.toml` into runs, tables and verdicts, and `campaign` runs many
//! of them on many workers.

// Its one caller is the binary beside it, so that a name which says everything has no comment.
#![allow(missing_docs)]

pub mod cache;
pub mod campaign;
mod checkout;
mod cpus;
pub mod experiment;
pub mod flame;
pub mod gate;
pub mod guest;
pub mod kernel;
mod own;
mod progress;
mod project;
pub mod vm;

pub use cache::{Cache, CacheError};
pub use progress::{Progress, Unit};
pub use project::{Project, ProjectError};

/// What everything in the lab works with.
#[derive(Debug, Clone)]
pub struct Lab {
    /// Where the lab's own files are.
    pub project: Project,
    /// Where what was made is kept.
    pub cache: Cache,
    /// Where to say how far it is.
    pub progress: Progress,
}
