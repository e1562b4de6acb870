// SPDX-License-Identifier: GPL-2.0-or-later
//! Why the journal cannot be used. Nothing is changed on the host then.

use std::io;
use std::path::{Path, PathBuf};

use irqpath_model::change::Target;

/// What went wrong with the journal or its lock.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum JournalError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}; without it nothing is changed", path = .path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {source}; what has to be put back later must be written there first",
        path = .path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else could have written it.
    #[error("{path} {reason}; nothing was done: look into it, then remove it, or give it to root and take the right to write it from all others",
        path = .path.display())]
    Untrusted {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It says what irqpath never does.
    #[error("{path} names {what}, which irqpath never changes; nothing was done: look into it, then remove it",
        path = .path.display())]
    Foreign { path: PathBuf, what: String },
    /// What others do makes it grow without an end.
    #[error("{path} would pass {limit} bytes; nothing more is changed: undo what was with irqpath shield reset or irqpath tune reset",
        path = .path.display())]
    Full {
        path: PathBuf,
        /// How long it may become.
        limit: u64,
    },
    /// Another irqpath is at work.
    #[error("another irqpath (process {holder}) is changing this host; wait until it has finished")]
    Locked {
        /// Its process, as it wrote it down.
        holder: String,
    },
    /// Made by a newer irqpath.
    #[error("{path} has format {found}, this irqpath reads up to {supported}; use the irqpath that wrote it",
        path = .path.display())]
    Newer {
        path: PathBuf,
        found: u32,
        /// The newest version understood here.
        supported: u32,
    },
}

impl JournalError {
    /// True if another irqpath has the lock.
    pub const fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }

    pub(super) fn foreign_target(path: &Path, target: &Target) -> Self {
        Self::Foreign { path: path.to_owned(), what: target.to_string() }
    }

    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Read { path, source }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}
