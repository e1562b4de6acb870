// SPDX-License-Identifier: GPL-2.0-or-later
//! An open directory in which files are made.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags, fsync, mkdirat, openat};
use rustix::io::Errno;

use super::OutputError;
use super::lock::{self, Lock};
use super::partial::{Named, open_directory};
use crate::walk::{Walk, split_last};

pub(super) const NEW: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory that stays the same one whatever happens to its name.
#[derive(Debug, Clone)]
pub struct Directory {
    pub(super) fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Directory {
    /// Open one; with `make` it is made if it is missing, and those above it.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn open(path: &Path, make: bool) -> Result<Self, OutputError> {
        let mut walk = Walk::from_here().map_err(OutputError::walk_error(path))?;
        walk.enter_path(path, make).map_err(OutputError::walk_error(path))?;
        Ok(Self::from_fd(walk.at, path))
    }

    /// The directory of `path`, and the name in it.
    pub(super) fn split_target(path: &Path) -> Result<(Self, OsString), OutputError> {
        let (directory, name) = split_last(path).ok_or_else(|| OutputError::NoName(path.into()))?;
        let directory = Self::open(directory, false).map_err(|error| match error {
            OutputError::Refused { source, .. } => {
                OutputError::Refused { path: path.to_owned(), source }
            }
            other => other,
        })?;
        Ok((directory, name.to_owned()))
    }

    pub(super) fn from_fd(fd: OwnedFd, path: &Path) -> Self {
        Self { fd: Arc::new(fd), path: path.to_owned() }
    }

    /// The name that its user knows it by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path that leads to it whatever its name is, as long as this value lives.
    pub fn current_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd()).into()
    }

    /// A directory in it, which is made if it is missing.
    ///
    /// # Errors
    /// [`OutputError::Refused`], also where a link has the name.
    pub fn create_directory(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        let path = self.child_path(name.as_ref())?;
        let refused = OutputError::walk_error(&path);
        let made = match mkdirat(&self.fd, name.as_ref(), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => open_directory(&self.fd, name.as_ref()),
            Err(e) => Err(e),
        };
        Ok(Self::from_fd(made.map_err(io::Error::from).map_err(refused)?, &path))
    }

    /// A new file in it, under its final name at once: for what is itself not complete yet.
    ///
    /// # Errors
    /// [`OutputError::Full`], also if there is one already.
    pub fn create_file(&self, name: impl AsRef<OsStr>) -> Result<File, OutputError> {
        let path = self.child_path(name.as_ref())?;
        let made = openat(&self.fd, name.as_ref(), NEW, Mode::from_raw_mode(0o666));
        Ok(made.map_err(OutputError::io_error(&path))?.into())
    }

    /// Remove a directory in it and what is below, without following a link.
    ///
    /// # Errors
    /// [`OutputError::Full`].
    pub fn remove_file(&self, name: &str) -> Result<(), OutputError> {
        let path = self.child_path(name.as_ref())?;
        let removed = open_directory(&self.fd, name).map_err(io::Error::from).and_then(|open| {
            let name = rustix::path::Arg::into_c_str(name)?.into_owned();
            Named { directory: self.fd.clone(), name, open, spare: Mutex::default() }
                .remove_partial()
        });
        removed.map_err(OutputError::io_error(&path))
    }

    /// Wait until no other process of this user that asks writes into it; others wait until what
    /// this returns is gone.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn lock(&self) -> Result<Lock, OutputError> {
        lock::take_lock(&self.fd, lock::lock_place().as_deref())
            .map_err(OutputError::walk_error(&self.path))
    }

    /// The names in it are on the disk.
    pub(super) fn sync_all(&self) -> io::Result<()> {
        match openat(&self.fd, ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(open) => Ok(fsync(open)?),
            // One that may be written to and not read.
            Err(Errno::ACCESS) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// The path of what is directly in it.
    pub(super) fn child_path(&self, name: &OsStr) -> Result<PathBuf, OutputError> {
        let path = self.path.join(name);
        let is_name = Path::new(name).file_name() == Some(name);
        if is_name { Ok(path) } else { Err(OutputError::NoName(path)) }
    }
}
