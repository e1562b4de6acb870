// SPDX-License-Identifier: GPL-2.0-or-later
//! Why an output cannot be written where its user wants it.

use std::io;
use std::path::{Path, PathBuf};

use crate::{WalkError, owner};

/// One line: what was wrong and what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum OutputError {
    /// The path ends in no name.
    #[error("{path}: not a name for a result; give a new name", path = .0.display())]
    NoName(PathBuf),
    /// A result of that name is there already.
    #[error("{path} exists; choose another name, or replace it with --force", path = .0.display())]
    Exists(PathBuf),
    /// What is there was not written by irqpath for this user.
    #[error("{path} holds no result of irqpath, so --force does not replace it; choose another name", path = .0.display())]
    NoResult(PathBuf),
    /// A result of somebody else.
    #[error("{path} belongs to {owner}, so --force does not replace it; choose another name",
        path = .path.display(), owner = owner::describe_user(*.owner))]
    ResultOfOther { path: PathBuf, owner: u32 },
    /// A directory where a file shall be.
    #[error("{path} is a directory; give the name of a file", path = .0.display())]
    IsDirectory(PathBuf),
    /// The name is that of a link.
    #[error("{path} is a link, and output neither follows nor replaces one; remove it, or give the name it leads to", path = .0.display())]
    Link(PathBuf),
    /// A file, pipe or device of somebody else.
    #[error("{path} belongs to {owner}, who is not you; choose another name or directory",
        path = .path.display(), owner = owner::describe_user(*.owner))]
    FileOfOther { path: PathBuf, owner: u32 },
    /// A directory of results that others could put theirs into.
    #[error("{path} can be written to by others; choose a directory that only you can write to", path = .0.display())]
    Shared(PathBuf),
    /// Something else has the name of a FIFO.
    #[error("{path} is no FIFO; choose another name, or remove it", path = .0.display())]
    NoFifo(PathBuf),
    /// A FIFO that everybody can write to.
    #[error("{path} can be written to by everybody; make it with mkfifo -m 620", path = .0.display())]
    OpenFifo(PathBuf),
    /// Too much in a directory of results.
    #[error("{path} holds too many files to be looked through; choose another directory", path = .0.display())]
    Crowded(PathBuf),
    /// Somebody has put another file in the place of the one being written.
    #[error("{path} was interfered with while it was written; choose a directory that only you can write to", path = .0.display())]
    Interfered(PathBuf),
    /// The place cannot be opened or made.
    #[error("cannot write {path}; choose a place that you may write to", path = .path.display())]
    Refused { path: PathBuf, source: WalkError },
    /// A write failed, most often because the file system is full.
    #[error("{}", describe_failed_write(.path))]
    Full { path: PathBuf, source: io::Error },
}

impl OutputError {
    pub(super) fn walk_error<E: Into<WalkError>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |e| Self::Refused { path: path.to_owned(), source: e.into() }
    }

    pub(super) fn io_error<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Self {
        move |e| Self::Full { path: path.to_owned(), source: e.into() }
    }
}

/// What to say when a write fails, most often because the file system is full.
pub fn describe_failed_write(path: &Path) -> String {
    format!("cannot write {}; free space or choose another place", path.display())
}
