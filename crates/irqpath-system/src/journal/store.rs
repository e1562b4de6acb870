// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of the journal: with which modes they are made, and whose content is acted on.
//!
//! A journal tells root what to write where. Its modes therefore do not follow the umask, and one
//! that somebody else owns or may write is refused whole.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use irqpath_files::input;
use rustix::fs::OFlags;

use super::JournalError;

/// `status` shows a journal to every user.
const FILE_MODE: u32 = 0o644;
pub(super) const DIRECTORY_MODE: u32 = 0o755;
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// The longest journal that is written: a hundred thousand tasks. A longer one is still read, or
/// whoever made it grow would have made a reset impossible.
pub(super) const MAX_JOURNAL: u64 = 32 << 20;

/// Makes a directory with this mode, and takes away what is more than that from one that is there.
pub(super) fn prepare_directory(path: &Path, mode: u32) -> Result<(), JournalError> {
    make_directory(path, mode).map_err(JournalError::write(path))?;
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let directory = opened.map_err(JournalError::write(path))?;
    let found = directory.metadata().map_err(JournalError::write(path))?;
    check_owner(path, found.uid())?;
    if found.mode() & 0o777 & !mode != 0 {
        let fixed = directory.set_permissions(Permissions::from_mode(found.mode() & mode));
        fixed.map_err(JournalError::write(path))?;
    }
    Ok(())
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(parent)?;
    }
    match DirBuilder::new().mode(mode).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// A journal that may be acted on, opened; `None` if there is none.
pub(super) fn open(path: &Path) -> Result<Option<BufReader<File>>, JournalError> {
    let file = match input::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(JournalError::read(path))?,
    };
    check_file(path, &file)?;
    Ok(Some(BufReader::new(file)))
}

/// Puts the next line into `line`, with its end if it has one. False at the end of the journal.
pub(super) fn next_line(
    path: &Path,
    file: &mut BufReader<File>,
    line: &mut Vec<u8>,
) -> Result<bool, JournalError> {
    line.clear();
    // No line is longer than the longest journal that is written.
    let read = file.take(MAX_JOURNAL + 1).read_until(b'\n', line);
    if read.map_err(JournalError::read(path))? as u64 > MAX_JOURNAL {
        return Err(untrusted_file(path, format!("has a line of more than {MAX_JOURNAL} bytes")));
    }
    Ok(!line.is_empty())
}

/// Opens a journal for more lines, and makes it if there is none.
pub(super) fn open_append(path: &Path) -> Result<File, JournalError> {
    let mut options = OpenOptions::new();
    options.append(true).mode(FILE_MODE).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = match options.clone().create_new(true).open(path) {
        Ok(file) => {
            let set = file.set_permissions(Permissions::from_mode(FILE_MODE));
            set.map_err(JournalError::write(path))?;
            file
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.open(path).map_err(JournalError::write(path))?
        }
        Err(error) => return Err(JournalError::write(path)(error)),
    };
    check_file(path, &file)?;
    Ok(file)
}

fn check_file(path: &Path, file: &File) -> Result<(), JournalError> {
    let found = file.metadata().map_err(JournalError::read(path))?;
    let mode = found.mode() & 0o7777;
    if !found.is_file() {
        return Err(untrusted_file(path, "is not a regular file".to_owned()));
    }
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Err(untrusted_file(path, format!("may be written by others (mode {mode:o})")));
    }
    check_owner(path, found.uid())
}

fn check_owner(path: &Path, uid: u32) -> Result<(), JournalError> {
    // Not the user who called sudo, whom other files are taken from: this one root obeys.
    let is_ours = uid == 0 || uid == rustix::process::geteuid().as_raw();
    if is_ours { Ok(()) } else { Err(untrusted_file(path, format!("belongs to uid {uid}"))) }
}

fn untrusted_file(path: &Path, reason: String) -> JournalError {
    JournalError::Untrusted { path: path.to_owned(), reason }
}
