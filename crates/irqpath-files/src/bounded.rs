// SPDX-License-Identifier: GPL-2.0-or-later
//! Reading no more than a limit. It knows nothing of links and owners, which are decided with it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

/// The rest of an open file; `FileTooLarge` beyond `limit` bytes.
pub(crate) fn read_open(file: OwnedFd, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // What the system says about the size is not asked for: for files of /proc it is 0, and
    // sparse ones claim anything.
    let read = File::from(file).take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > limit {
        let text = format!("it has more than {limit} bytes, which no such file has");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// A file of text that root wrote, by its name: no link on the way is looked at.
pub(crate) fn read_roots_text(path: &str, limit: u64) -> io::Result<String> {
    let text = String::from_utf8(read_open(File::open(path)?.into(), limit)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text (UTF-8)"))
}
