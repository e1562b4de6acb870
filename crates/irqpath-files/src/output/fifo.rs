// SPDX-License-Identifier: GPL-2.0-or-later
//! A FIFO that is read from. Who may write to it is its owner's decision, so it has to have one who
//! is trusted, and a mode that leaves others out.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fchown, fstat, mknodat, openat};
use rustix::io::Errno;
use rustix::process::Uid;

use super::OutputError;
use super::directory::Directory;
use crate::owner;

const MODE: u32 = 0o600;

/// Open a FIFO, or make it for the calling user alone. No read from it waits, and it has no end.
///
/// # Errors
/// [`OutputError`]; also for what is no FIFO, belongs to somebody else, or can be written to by
/// everybody.
pub fn open_fifo(path: &Path) -> Result<File, OutputError> {
    let (directory, name) = Directory::split_target(path)?;
    let made = mknodat(&directory.fd, &name, FileType::Fifo, Mode::from_raw_mode(MODE), 0);
    match made {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(OutputError::walk_error(path)(io::Error::from(error))),
    }
    // Readable and writable: it has a writer for ever, and so no end.
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fifo = openat(&directory.fd, &name, flags, Mode::empty());
    let fifo = fifo.map_err(OutputError::io_error(path))?;
    let stat = fstat(&fifo).map_err(OutputError::io_error(path))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Fifo {
        return Err(OutputError::NoFifo(path.to_owned()));
    }
    if !owner::is_trusted(stat.st_uid) {
        return Err(OutputError::FileOfOther { path: path.to_owned(), owner: stat.st_uid });
    }
    if stat.st_mode & 0o002 != 0 {
        return Err(OutputError::OpenFifo(path.to_owned()));
    }
    if let (Ok(()), Some(uid)) = (made, owner::calling_user()) {
        fchown(&fifo, Some(Uid::from_raw(uid)), None).map_err(OutputError::io_error(path))?;
    }
    Ok(fifo.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

    #[test]
    fn only_a_fifo_that_strangers_cannot_write_to_is_opened() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        drop(open_fifo(&path("new")).unwrap());
        let made = fs::metadata(path("new")).unwrap();
        assert!(made.file_type().is_fifo());
        assert_eq!(made.mode() & 0o777, MODE);
        drop(open_fifo(&path("new")).expect("it is there already"));
        fs::set_permissions(path("new"), fs::Permissions::from_mode(0o622)).unwrap();
        let error = open_fifo(&path("new")).unwrap_err();
        assert!(matches!(error, OutputError::OpenFifo(_)), "{error}");
        fs::write(path("file"), "").unwrap();
        assert!(matches!(open_fifo(&path("file")).unwrap_err(), OutputError::NoFifo(_)));
        symlink(path("new"), path("link")).unwrap();
        assert!(open_fifo(&path("link")).is_err(), "a link is not followed");
    }

    #[test]
    fn a_strangers_fifo_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("fifo");
        drop(open_fifo(&path).unwrap());
        if std::os::unix::fs::chown(&path, Some(65_533), None).is_err() {
            eprintln!("skipped: gives a FIFO away, which only root can");
            return;
        }
        let error = open_fifo(&path).unwrap_err();
        assert!(matches!(error, OutputError::FileOfOther { owner: 65_533, .. }), "{error}");
    }
}
