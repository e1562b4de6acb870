// SPDX-License-Identifier: GPL-2.0-or-later
//! Why there is no result from a guest: one line, and the last lines of its console beside it.

use std::io;
use std::path::{Path, PathBuf};

use super::{JobEnd, ResultError};
use crate::CacheError;
use crate::guest::GuestError;

/// What went wrong with a virtual machine.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// A program is not installed.
    #[error("cannot run {program}: {source}; install the package {package}")]
    NoProgram {
        program: &'static str,
        /// The package that has it.
        package: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read or made.
    #[error("cannot {action} {path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// QEMU ended with an error of its own.
    #[error("QEMU failed: {log}")]
    Qemu { log: String },
    /// The guest did not come to a good end.
    #[error("the guest {what}")]
    Guest {
        /// What happened to it, and what to do.
        what: String,
        /// The last lines of its console.
        console: String,
    },
    #[error("the job {end}; its output ends: {}", .log.lines().last().unwrap_or("(none)"))]
    Job {
        end: JobEnd,
        /// The last lines of its output.
        log: String,
    },
    /// The results cannot be read.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The guest for the trial of KVM cannot be made.
    #[error(transparent)]
    NoGuest(#[from] GuestError),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl VmError {
    /// The last lines of the guest's console, or of the job's output; empty if there are none.
    pub fn log(&self) -> &str {
        match self {
            Self::Guest { console: log, .. } | Self::Job { log, .. } | Self::Qemu { log } => log,
            _ => "",
        }
    }

    /// For `map_err`: an error at `path` while it was `action`.
    pub(super) fn at(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }
}
