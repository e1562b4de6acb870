// SPDX-License-Identifier: GPL-2.0-or-later
//! Opening files that may come from a stranger.
//!
//! Only regular files are opened, and no open waits: a pipe would wait for its writer for ever,
//! `/dev/zero` has no end, and opening some devices does something. A size is a claim until the
//! bytes are there: memory grows with what was read, up to a limit that the caller names.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use crate::bounded::read_open;
use crate::walk::{Walk, look_at, split_last};

/// Open a regular file to read it.
///
/// # Errors
/// The system's; `InvalidInput` for anything but a regular file; `PermissionDenied` for a path
/// through a link that belongs to neither root nor the caller.
pub fn open(path: &Path) -> io::Result<File> {
    let mut walk = Walk::from_here()?;
    let mut path = path.to_owned();
    loop {
        let Some((directory, name)) = split_last(&path) else { return Err(no_file()) };
        walk.enter_path(directory, false)?;
        let found = look_at(&walk.at, name)?;
        if found.kind() != FileType::Symlink {
            return open_in(&walk.at, name).map(File::from);
        }
        path = walk.follow_link(name, &found)?;
    }
}

/// Read a regular file whole.
///
/// # Errors
/// As [`open`]; `FileTooLarge` for more than `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_open(open(path)?.into(), limit)
}

/// Read a regular file of text whole.
///
/// # Errors
/// As [`read`]; `InvalidData` for what is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, limit)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text (UTF-8)"))
}

/// Open a regular file in an open directory; a link is refused, whoever made it.
pub(crate) fn open_in(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Looked at before it is opened, as opening a device can do something; and after, as it may
    // be another one by then.
    if look_at(&directory, name)?.kind() != FileType::RegularFile {
        return Err(no_file());
    }
    let file = openat(directory, name, flags, Mode::empty())?;
    let is_file = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
    if is_file { Ok(file) } else { Err(no_file()) }
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}
