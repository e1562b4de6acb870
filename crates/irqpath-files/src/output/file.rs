// SPDX-License-Identifier: GPL-2.0-or-later
//! One output file.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, RenameFlags, fstat, open, openat, renameat, renameat_with,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::OutputError;
use super::directory::{Directory, NEW};
use super::partial::Partial;
use crate::owner;
use crate::walk::{Found, Walk, is_proc, look_at, split_last};

/// Others would have to be quick to change a name that often between a look and a rename.
const MAX_TRIES: usize = 8;

/// A single output file in the making.
#[derive(Debug)]
pub struct StagedFile {
    target: PathBuf,
    /// `None` for a device or a pipe.
    staged: Option<Staged>,
}

#[derive(Debug)]
struct Staged {
    partial: Partial,
    directory: Directory,
    name: OsString,
}

/// What has the name of an output.
enum Present {
    Nothing,
    /// A file that may be replaced.
    File,
    /// A device or pipe, which is written to as it is.
    Direct(OwnedFd),
}

impl StagedFile {
    /// Open it for writing.
    ///
    /// # Errors
    /// [`OutputError`], if the name is that of a directory, of a link, or of a file that belongs
    /// to somebody else in a directory that others can write to.
    pub fn create(target: &Path) -> Result<(Self, File), OutputError> {
        if let Some(direct) = open_direct(target)? {
            return Ok((Self { target: target.to_owned(), staged: None }, direct.into()));
        }
        let (directory, name) = Directory::split_target(target)?;
        Self::create_in(&directory, &name, target)
    }

    pub(super) fn create_in(
        directory: &Directory,
        name: &OsStr,
        target: &Path,
    ) -> Result<(Self, File), OutputError> {
        let target = target.to_owned();
        if let Present::Direct(found) = judge_present(directory, name, &target)? {
            let file = reopen_writable(&found).map_err(OutputError::walk_error(&target))?;
            return Ok((Self { target, staged: None }, file.into()));
        }
        let make =
            |at: &OwnedFd, name: &str| Ok(openat(at, name, NEW, Mode::from_raw_mode(0o666))?);
        let made = Partial::new(&directory.fd, make).and_then(|partial| {
            let file = fcntl_dupfd_cloexec(&partial.named.open, 0)?;
            Ok((partial, file.into()))
        });
        let (partial, file) = made.map_err(|error| error.with_target(&target))?;
        let staged = Staged { partial, directory: directory.clone(), name: name.to_owned() };
        Ok((Self { target, staged: Some(staged) }, file))
    }

    /// The name that [`StagedFile::commit`] gives it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// False for a device or a pipe, which is written to as it is.
    pub fn is_file(&self) -> bool {
        self.staged.is_some()
    }

    /// Sync it and give it its final name. The writer must have been flushed.
    ///
    /// # Errors
    /// [`OutputError`]; nothing is left then.
    pub fn commit(self) -> Result<PathBuf, OutputError> {
        if let Some(staged) = &self.staged {
            staged.commit_to(&self.target)?;
        }
        Ok(self.target)
    }
}

impl Staged {
    fn commit_to(&self, target: &Path) -> Result<(), OutputError> {
        let named = &self.partial.named;
        named.sync_content().map_err(OutputError::io_error(target))?;
        if !named.is_there().map_err(OutputError::io_error(target))? {
            return Err(OutputError::Interfered(target.to_owned()));
        }
        let (at, name) = (&self.directory.fd, self.name.as_os_str());
        for _ in 0..MAX_TRIES {
            // Looked at again: since the measurement began it may have become somebody else's.
            let renamed = match judge_present(&self.directory, name, target)? {
                Present::File => renameat(at, &named.name, at, name),
                Present::Nothing => {
                    match renameat_with(at, &named.name, at, name, RenameFlags::NOREPLACE) {
                        // Some network file systems know no flags.
                        Err(Errno::INVAL) => renameat(at, &named.name, at, name),
                        renamed => renamed,
                    }
                }
                Present::Direct(_) => return Err(OutputError::Interfered(target.to_owned())),
            };
            match renamed {
                Err(Errno::EXIST) => {}
                renamed => {
                    renamed.map_err(OutputError::io_error(target))?;
                    self.partial.mark_kept();
                    return self.directory.sync_all().map_err(OutputError::io_error(target));
                }
            }
        }
        Err(OutputError::Interfered(target.to_owned()))
    }
}

/// What has the name, if output may go there.
impl Directory {
    /// A file in it, to be given its name when it is complete.
    ///
    /// # Errors
    /// As [`StagedFile::create`].
    pub fn stage_file(&self, name: impl AsRef<OsStr>) -> Result<(StagedFile, File), OutputError> {
        let path = self.child_path(name.as_ref())?;
        StagedFile::create_in(self, name.as_ref(), &path)
    }

    /// Write a file in it, which is replaced if it exists.
    ///
    /// # Errors
    /// As [`StagedFile::create`], and [`OutputError::Full`].
    pub fn write(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let (staged, file) = self.stage_file(name)?;
        let mut file = BufWriter::new(file);
        write(&mut file)
            .and_then(|()| file.flush())
            .map_err(OutputError::io_error(staged.target()))?;
        staged.commit().map(drop)
    }
}

fn judge_present(
    directory: &Directory,
    name: &OsStr,
    target: &Path,
) -> Result<Present, OutputError> {
    let found = match look_at(&directory.fd, name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Present::Nothing),
        found => found.map_err(OutputError::walk_error(target))?,
    };
    let is_ours = owner::is_trusted(found.stat.st_uid);
    let other = || OutputError::FileOfOther { path: target.into(), owner: found.stat.st_uid };
    match found.kind() {
        FileType::Symlink => Err(OutputError::Link(target.to_owned())),
        FileType::Directory => Err(OutputError::IsDirectory(target.to_owned())),
        FileType::RegularFile => {
            let place = fstat(&directory.fd).map_err(OutputError::io_error(target))?;
            let may = is_ours || !owner::is_writable_by_others(&place);
            if may { Ok(Present::File) } else { Err(other()) }
        }
        _ if is_ours => Ok(Present::Direct(found.fd)),
        _ => Err(other()),
    }
}

/// Open a device or pipe that was looked at, and nothing else.
fn reopen_writable(found: &OwnedFd) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd as _;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(open(path, OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?)
}

/// What `/dev/stdout` and `/dev/fd/63` stand for: an open file of this process, found by links of
/// root's and of `/proc`. Nothing for every other path.
fn open_direct(target: &Path) -> Result<Option<OwnedFd>, OutputError> {
    let open = || {
        let Some((directory, name)) = split_last(target) else { return Ok(None) };
        let mut walk = Walk::from_here()?;
        walk.enter_path(directory, false)?;
        let mut name = name.to_owned();
        while let Some(found) = find_link(&walk, &name) {
            if is_proc(&walk.at)? {
                walk.follow_link(&name, &found)?;
                let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOCTTY;
                return Ok(Some(openat(&walk.at, &name, flags, Mode::empty())?));
            }
            // Only root's links in a directory of root's, as in /dev.
            if found.stat.st_uid != 0 || !is_roots(&walk)? {
                return Ok(None);
            }
            let to = walk.follow_link(&name, &found)?;
            let Some((directory, last)) = split_last(&to) else { return Ok(None) };
            walk.enter_path(directory, false)?;
            last.clone_into(&mut name);
        }
        Ok(None)
    };
    match open() {
        Err(e @ crate::WalkError::Link { .. }) => Err(OutputError::walk_error(target)(e)),
        // What is wrong with it is told where it is opened as a file.
        found => Ok(found.unwrap_or(None)),
    }
}

fn find_link(walk: &Walk, name: &OsStr) -> Option<Found> {
    look_at(&walk.at, name).ok().filter(|found| found.kind() == FileType::Symlink)
}

fn is_roots(walk: &Walk) -> io::Result<bool> {
    let stat = fstat(&walk.at)?;
    Ok(stat.st_uid == 0 && !owner::is_writable_by_others(&stat))
}
