// SPDX-License-Identifier: GPL-2.0-or-later
//! From a path to an open directory, component by component.
//!
//! The kernel's `protected_symlinks` is not enough: it looks at sticky directories only, may be
//! off, and knows nothing of links that a program resolves by itself. Here a link is opened,
//! its owner is taken from the open link, and its text is read from the same.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, mkdirat, openat,
    readlinkat,
};
use rustix::io::Errno;

use crate::{mounts, owner};

/// As many as the kernel follows.
const MAX_LINKS: usize = 40;

/// Why a path was not followed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum WalkError {
    /// A system call failed on the way.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Somebody else decides where this leads.
    #[error("the link {name} in it belongs to {owner}; give the path it leads to", name = .name.display(), owner = owner::describe_user(*.owner))]
    Link {
        /// Its name, without the directories before it.
        name: PathBuf,
        owner: u32,
    },
    /// Nobody knows who decides where this leads.
    #[error("the link {name} in it has no certain owner, as {mount} is mounted nosuid and /etc/fstab does not list it; give the path it leads to", name = .name.display(), mount = .mount.display())]
    Uncertain {
        /// Its name, without the directories before it.
        name: PathBuf,
        /// The mount it lies on.
        mount: PathBuf,
    },
}

impl From<Errno> for WalkError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl From<WalkError> for io::Error {
    fn from(error: WalkError) -> Self {
        match error {
            WalkError::Io(error) => error,
            link => Self::new(io::ErrorKind::PermissionDenied, link),
        }
    }
}

/// A place on the way.
pub(crate) struct Walk {
    /// An `O_PATH` descriptor of a directory.
    pub at: OwnedFd,
    nr_links: usize,
}

/// What a name is, opened with `O_PATH`; nothing can change what it refers to.
pub(crate) struct Found {
    pub fd: OwnedFd,
    pub stat: Stat,
}

impl Found {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// Look at a name, not at what it leads to.
pub(crate) fn look_at(at: impl AsFd, name: &OsStr) -> io::Result<Found> {
    let fd = openat(at, name, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = fstat(&fd)?;
    Ok(Found { fd, stat })
}

impl Walk {
    /// Begin where relative paths begin.
    pub fn from_here() -> io::Result<Self> {
        Ok(Self { at: openat(CWD, ".", PLACE | OFlags::DIRECTORY, Mode::empty())?, nr_links: 0 })
    }

    /// Go to a directory; with `make` the ones that are missing are made.
    pub fn enter_path(&mut self, path: &Path, make: bool) -> Result<(), WalkError> {
        let mut left = path_steps(path);
        while let Some(step) = left.pop() {
            match step {
                Step::Root => self.at = self.open_directory("/".as_ref())?,
                Step::Up => self.at = self.open_directory("..".as_ref())?,
                Step::Down(name) => {
                    let found = self.look_or_make(&name, make)?;
                    match found.kind() {
                        FileType::Directory => self.at = found.fd,
                        FileType::Symlink if is_proc(&found.fd)? => {
                            self.follow_link(&name, &found)?;
                            self.at = self.open_directory(&name)?;
                        }
                        FileType::Symlink => {
                            left.extend(path_steps(&self.follow_link(&name, &found)?));
                        }
                        _ => return Err(Errno::NOTDIR.into()),
                    }
                }
            }
        }
        Ok(())
    }

    fn open_directory(&self, name: &OsStr) -> io::Result<OwnedFd> {
        Ok(openat(&self.at, name, PLACE | OFlags::DIRECTORY, Mode::empty())?)
    }

    fn look_or_make(&self, name: &OsStr, make: bool) -> io::Result<Found> {
        match look_at(&self.at, name) {
            Err(e) if make && e.kind() == io::ErrorKind::NotFound => {
                match mkdirat(&self.at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => look_at(&self.at, name),
                    Err(e) => Err(e.into()),
                }
            }
            found => found,
        }
    }

    /// Where a link leads, if whoever made it is trusted.
    pub fn follow_link(&mut self, name: &OsStr, link: &Found) -> Result<PathBuf, WalkError> {
        if !owner::is_trusted(link.stat.st_uid) {
            return Err(WalkError::Link { name: name.into(), owner: link.stat.st_uid });
        }
        if let Some(mount) = mounts::find_doubtful(&link.fd)? {
            return Err(WalkError::Uncertain { name: name.into(), mount });
        }
        self.nr_links += 1;
        if self.nr_links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        let text = readlinkat(&link.fd, "", Vec::new())?;
        Ok(OsString::from_vec(text.into_bytes()).into())
    }
}

/// True below `/proc`, where the text of a link is a description: only the kernel can follow it.
pub(crate) fn is_proc(fd: impl AsFd) -> io::Result<bool> {
    Ok(fstatfs(fd)?.f_type == PROC_SUPER_MAGIC)
}

/// The directory of a path, and the name in it.
pub(crate) fn split_last(path: &Path) -> Option<(&Path, &OsStr)> {
    let name = path.file_name()?;
    Some((path.parent().unwrap_or(Path::new("")), name))
}

enum Step {
    Root,
    Up,
    Down(OsString),
}

/// The steps of a path, the last one first.
fn path_steps(path: &Path) -> Vec<Step> {
    let step = |component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}
