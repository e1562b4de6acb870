// SPDX-License-Identifier: GPL-2.0-or-later
//! Why a benchmark could not be run or read: one line, what was wrong and what to do.

use std::io;
use std::path::PathBuf;

use irqpath_files::output::OutputError;
use irqpath_model::bench::{RunsError, UnknownWord};

/// What went wrong with intsight or with its results.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum IntsightError {
    /// The module is not loaded.
    #[error(
        "the kernel module intsight is not loaded ({path} is absent); run modprobe intsight, docs/bench.md says how to build it",
        path = .0.display()
    )]
    NoModule(PathBuf),
    /// Debugfs is not mounted.
    #[error("{path} is empty; run mount -t debugfs none {path}", path = .0.display())]
    NotMounted(PathBuf),
    /// Debugfs belongs to root.
    #[error("this user may not read {path}; run with sudo (files of debugfs belong to root)", path = .0.display())]
    Privilege(PathBuf),
    /// A file could not be read.
    #[error("cannot read {path} ({source}); check that it is a directory of intsight", path = .path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A copy could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The module did not take a value.
    #[error("intsight refuses '{value}' for {file} ({source}){}", list_available(.available))]
    Refused {
        file: &'static str,
        value: String,
        /// What the system said.
        source: io::Error,
        /// What the module would take, if it says so.
        available: Vec<String>,
    },
    /// A step of a benchmark failed.
    #[error("intsight could not {what} ({source}); {advice}")]
    Step {
        /// What it should have done.
        what: &'static str,
        /// What to do now.
        advice: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A signal ended the benchmark before any run was complete.
    #[error("ended by a signal before the benchmark was complete")]
    Interrupted,
    /// A file does not have the form that intsight gives it.
    #[error("{path}, line {line}: {reason}; copy the directory again, or look for a newer irqpath",
        path = .path.display())]
    Malformed {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        reason: String,
    },
    /// The files of a result do not fit each other.
    #[error("{path}: {source}; copy the directory again, after the benchmark has ended", path = .path.display())]
    Mismatch {
        path: PathBuf,
        /// What does not fit.
        source: RunsError,
    },
}

fn list_available(available: &[String]) -> String {
    if available.is_empty() { String::new() } else { format!("; it has: {}", available.join(" ")) }
}

impl IntsightError {
    pub(super) fn from_word(path: PathBuf, error: &UnknownWord) -> Self {
        Self::Malformed { path, line: 1, reason: error.to_string() }
    }
}
