// SPDX-License-Identifier: GPL-2.0-or-later
//! A result directory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{
    AtFlags, FileType, Mode, RenameFlags, fstat, mkdirat, renameat, renameat_with, statat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::geteuid;

use super::OutputError;
use super::directory::Directory;
use super::partial::{Named, NotMade, Partial, is_same, list_names, open_directory};
use crate::{bounded, input, owner};

/// The file by which a result is known.
pub(super) const META: &str = "meta.json";
/// Longer descriptions of a machine have not been seen by far.
const MAX_META: u64 = 16 << 20;

/// A result directory in the making.
#[derive(Debug)]
pub struct StagedDir {
    target: PathBuf,
    /// Where its name will be.
    place: Directory,
    name: OsString,
    partial: Partial,
    /// The directory under its temporary name.
    inner: Directory,
    /// The result that it replaces.
    old: Option<OwnedFd>,
}

impl StagedDir {
    /// Make the partial directory. An existing `target` is refused unless `force` is given, it
    /// belongs to root or the caller, and it is empty or holds a `meta.json` that `is_ours`
    /// recognises.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn create(
        target: &Path,
        force: bool,
        is_ours: fn(&[u8]) -> bool,
    ) -> Result<Self, OutputError> {
        Self::create_with(target, force, is_ours, &|_| ())
    }

    /// The same; `between` is told the name when the partial directory is made and not yet open.
    pub(super) fn create_with(
        target: &Path,
        force: bool,
        is_ours: fn(&[u8]) -> bool,
        between: &dyn Fn(&str),
    ) -> Result<Self, OutputError> {
        let (place, name) = Directory::split_target(target)?;
        let old = match statat(&place.fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            Ok(_) if !force => return Err(OutputError::Exists(target.to_owned())),
            Ok(stat) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                Some(open_old(&place, &name, kind, target, is_ours)?)
            }
            Err(e) => return Err(OutputError::walk_error(target)(io::Error::from(e))),
        };
        Self::create_in(place, name, target, old, between)
    }

    /// A new result in a directory that is open already.
    pub(super) fn create_below(place: &Directory, name: &str) -> Result<Self, OutputError> {
        let target = place.child_path(name.as_ref())?;
        Self::create_in(place.clone(), name.into(), &target, None, &|_| ())
    }

    fn create_in(
        place: Directory,
        name: OsString,
        target: &Path,
        old: Option<OwnedFd>,
        between: &dyn Fn(&str),
    ) -> Result<Self, OutputError> {
        let make = |at: &OwnedFd, name: &str| make_directory(at, name, between);
        let partial = Partial::new(&place.fd, make).map_err(|error| error.with_target(target))?;
        let inner = fcntl_dupfd_cloexec(&partial.named.open, 0);
        let inner = inner.map_err(OutputError::io_error(target))?;
        let inner = Directory::from_fd(inner, target);
        Ok(Self { target: target.to_owned(), place, name, partial, inner, old })
    }

    /// The directory itself, for whoever writes several files into it; known by its final name.
    pub fn directory(&self) -> &Directory {
        &self.inner
    }

    /// What its files take on the disk by now, bytes.
    ///
    /// # Errors
    /// [`OutputError::Full`].
    pub fn nr_bytes(&self) -> Result<u64, OutputError> {
        disk_usage(&self.partial.named.open).map_err(OutputError::io_error(&self.target))
    }

    /// Create a file in it.
    ///
    /// # Errors
    /// [`OutputError::Full`].
    pub fn create_file(&self, name: &str) -> Result<File, OutputError> {
        self.inner.create_file(name)
    }

    /// Create a directory in it.
    ///
    /// # Errors
    /// [`OutputError::Refused`].
    pub fn create_directory(&self, name: &str) -> Result<Directory, OutputError> {
        self.inner.create_directory(name)
    }

    /// The name that [`StagedDir::commit`] gives it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Sync everything and give it its final name.
    ///
    /// # Errors
    /// [`OutputError`]; what was there before is still there then.
    pub fn commit(self) -> Result<PathBuf, OutputError> {
        self.partial.named.sync_content().map_err(OutputError::io_error(&self.target))?;
        if !self.partial.named.is_there().map_err(OutputError::io_error(&self.target))? {
            return Err(OutputError::Interfered(self.target.clone()));
        }
        match &self.old {
            Some(old) => self.replace_old(old)?,
            None => self
                .rename_into(RenameFlags::NOREPLACE)
                .map_err(OutputError::io_error(&self.target))?,
        }
        self.partial.mark_kept();
        self.place.sync_all().map_err(OutputError::io_error(&self.target))?;
        Ok(self.target.clone())
    }

    fn rename_into(&self, flags: RenameFlags) -> Result<(), Errno> {
        let Named { directory, name, .. } = &*self.partial.named;
        match renameat_with(directory, name, &self.place.fd, &self.name, flags) {
            // Some network file systems know no flags; nothing that is there is replaced but an
            // empty directory.
            Err(Errno::INVAL) if flags == RenameFlags::NOREPLACE => {
                renameat(directory, name, &self.place.fd, &self.name)
            }
            renamed => renamed,
        }
    }

    /// Change places with the old result, and remove it by the descriptor it was judged by.
    fn replace_old(&self, old: &OwnedFd) -> Result<(), OutputError> {
        let partial = &self.partial.named;
        let changed = match self.rename_into(RenameFlags::EXCHANGE) {
            Err(Errno::INVAL) => self.replace_in_steps(),
            changed => changed.map(|()| partial.name.clone()),
        };
        let name = changed.map_err(OutputError::io_error(&self.target))?;
        if !is_same(old, &partial.directory, &name).map_err(OutputError::io_error(&self.target))? {
            // Somebody has put another directory there since: it goes back, ours is given up.
            let (at, to) = (&partial.directory, &self.place.fd);
            let _ = renameat_with(at, &name, to, &self.name, RenameFlags::EXCHANGE);
            return Err(OutputError::Interfered(self.target.clone()));
        }
        partial.close_spare();
        let open = fcntl_dupfd_cloexec(old, 0).map_err(OutputError::io_error(&self.target))?;
        self.partial.mark_kept();
        let directory: Arc<OwnedFd> = partial.directory.clone();
        Named { directory, name, open, spare: Mutex::default() }
            .remove_partial()
            .map_err(OutputError::io_error(&self.target))
    }

    /// The same where the file system cannot exchange names; returns the name of the old one.
    fn replace_in_steps(&self) -> Result<std::ffi::CString, Errno> {
        let Named { directory, name, .. } = &*self.partial.named;
        let aside = [name.as_bytes(), b".old"].concat();
        let aside = std::ffi::CString::new(aside).map_err(|_| Errno::INVAL)?;
        renameat(&self.place.fd, &self.name, directory, &aside)?;
        match renameat(directory, name, &self.place.fd, &self.name) {
            Ok(()) => Ok(aside),
            Err(e) => {
                renameat(directory, &aside, &self.place.fd, &self.name)?;
                Err(e)
            }
        }
    }
}

/// What the files of a directory take on the disk, bytes.
pub(super) fn disk_usage(directory: &OwnedFd) -> io::Result<u64> {
    let mut blocks = fstat(directory)?.st_blocks as u64;
    for name in list_names(directory)? {
        blocks += statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)?.st_blocks as u64;
    }
    Ok(blocks * 512)
}

/// Make a directory and open it. Where others can rename, the name may lead to another one by
/// then: what it holds would be taken for ours, and removed with the partial result.
fn make_directory(at: &OwnedFd, name: &str, between: &dyn Fn(&str)) -> Result<OwnedFd, NotMade> {
    mkdirat(at, name, Mode::from_raw_mode(0o777))?;
    between(name);
    let open = open_directory(at, name)?;
    let is_mine = fstat(&open)?.st_uid == geteuid().as_raw();
    if is_mine && list_names(&open)?.is_empty() { Ok(open) } else { Err(NotMade::Interfered) }
}

/// The directory that may be replaced, or why not.
fn open_old(
    place: &Directory,
    name: &OsString,
    kind: FileType,
    target: &Path,
    is_ours: fn(&[u8]) -> bool,
) -> Result<OwnedFd, OutputError> {
    let path = || target.to_owned();
    match kind {
        FileType::Symlink => return Err(OutputError::Link(path())),
        FileType::Directory => {}
        _ => return Err(OutputError::NoResult(path())),
    }
    let old = open_directory(&place.fd, name.as_os_str()).map_err(OutputError::io_error(target))?;
    let owner = fstat(&old).map_err(OutputError::io_error(target))?.st_uid;
    if !owner::is_trusted(owner) {
        return Err(OutputError::ResultOfOther { path: path(), owner });
    }
    let is_empty = list_names(&old).map_err(OutputError::io_error(target))?.is_empty();
    if is_empty || read_meta(&old).is_ok_and(|bytes| is_ours(&bytes)) {
        return Ok(old);
    }
    Err(OutputError::NoResult(path()))
}

/// What describes a result: a file of root's or the caller's, and no link.
pub(super) fn read_meta(directory: &OwnedFd) -> io::Result<Vec<u8>> {
    let file = input::open_in(directory, META.as_ref())?;
    if !owner::is_trusted(fstat(&file)?.st_uid) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    bounded::read_open(file, MAX_META)
}
