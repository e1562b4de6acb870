// SPDX-License-Identifier: GPL-2.0-or-later
//! Locks of a cache: files that only its owner can open.
//!
//! `flock` works on any descriptor, also one that may only read. Whoever could open a lock could
//! keep the lab waiting for ever.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

use super::{CacheError, io_at};

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Hold the lock of this name until the file is dropped. Calls `wait` before it waits.
pub(super) fn take_lock(directory: &Path, name: &str, wait: impl Fn()) -> Result<File, CacheError> {
    let path = directory.join(name);
    let locks = open_directory(directory).map_err(io_at(directory, "write"))?;
    loop {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&locks, name, flags, Mode::from_raw_mode(FILE_MODE));
        let file = opened.map(File::from).map_err(|e| io_at(&path, "write")(e.into()))?;
        let found = file.metadata().map_err(io_at(&path, "read"))?;
        if !found.is_file() || found.mode() & 0o777 & !FILE_MODE != 0 {
            // Somebody else may have it open, and locked for ever.
            fs::remove_file(&path).map_err(io_at(&path, "remove"))?;
            continue;
        }
        lock_file(&file, &wait).map_err(|e| io_at(&path, "lock")(e.into()))?;
        if is_still_there(&file, &path) {
            return Ok(file);
        }
    }
}

fn open_directory(path: &Path) -> io::Result<File> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
    let directory = File::options().read(true).custom_flags(flags).open(path)?;
    if directory.metadata()?.mode() & 0o777 != DIRECTORY_MODE {
        directory.set_permissions(Permissions::from_mode(DIRECTORY_MODE))?;
    }
    Ok(directory)
}

fn lock_file(file: &File, wait: impl Fn()) -> rustix::io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => wait(),
        other => return other,
    }
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// False if the one who had the lock before put another file in the place of this one.
fn is_still_there(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}
