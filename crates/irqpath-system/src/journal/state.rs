// SPDX-License-Identifier: GPL-2.0-or-later
//! Small files beside the journals that outlive a boot: what somebody wants, not what was changed.
//!
//! Root acts on them, so they are trusted and made as journals are. One is replaced whole, under the
//! lock.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use super::{DIRECTORY, JournalError, LOCK_DIRECTORY, Lock, store};
use crate::Host;

/// The path of such a file, and its text if there is one.
pub(crate) fn read_text(
    host: &Host,
    name: &str,
    limit: u64,
) -> Result<(PathBuf, Option<String>), JournalError> {
    let path = host.path(DIRECTORY).join(name);
    let Some(file) = store::open(&path)? else { return Ok((path, None)) };
    let mut text = String::new();
    file.take(limit).read_to_string(&mut text).map_err(JournalError::read(&path))?;
    Ok((path, Some(text)))
}

/// Put a text in place of what was there, or remove the file. After a kill it is the old one or the
/// new one.
pub(crate) fn replace_text(
    host: &Host,
    name: &str,
    text: Option<&str>,
) -> Result<(), JournalError> {
    let directory = host.path(DIRECTORY);
    store::prepare_directory(&directory, store::DIRECTORY_MODE)?;
    let _lock = Lock::take_lock(&host.path(LOCK_DIRECTORY))?;
    let (path, staged) = (directory.join(name), directory.join(format!("{name}.new")));
    // What a kill left.
    let _ = fs::remove_file(&staged);
    let replaced = match text {
        None => match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        },
        Some(text) => {
            let mut file = store::open_append(&staged)?;
            file.write_all(text.as_bytes())
                .and_then(|()| file.sync_data())
                .and_then(|()| fs::rename(&staged, &path))
        }
    };
    replaced
        .and_then(|()| fs::File::open(&directory)?.sync_all())
        .map_err(JournalError::write(&path))
}
