// SPDX-License-Identifier: GPL-2.0-or-later
//! A Unix socket at a path. A confined process cannot remove the file of its socket at its end, so
//! the next one replaces it.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};

/// Listens at a path, with this mode of its file. Replaces a socket of this user to which nobody
/// listens any more, and nothing else.
///
/// # Errors
/// If somebody listens there, or a file is in the way.
pub fn bind_socket(path: &Path, mode: u32) -> io::Result<UnixListener> {
    match bind_with_mode(path, mode) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_abandoned(path) => {
            fs::remove_file(path)?;
            bind_with_mode(path, mode)
        }
        other => other,
    }
}

/// By the umask of the process: a mode that is set afterwards, by name, could meet another file.
fn bind_with_mode(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let before = umask(Mode::from_raw_mode(!mode & 0o777));
    let socket = UnixListener::bind(path);
    umask(before);
    socket
}

fn is_abandoned(path: &Path) -> bool {
    let ours = path
        .symlink_metadata()
        .is_ok_and(|file| file.file_type().is_socket() && file.uid() == geteuid().as_raw());
    let is_refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
    ours && UnixStream::connect(path).is_err_and(is_refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_replaced_only_if_nobody_listens() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("agent.sock");
        let first = bind_socket(&path, 0o660).unwrap();
        assert!(bind_socket(&path, 0o660).is_err(), "the first one listens");
        drop(first);
        let _second = bind_socket(&path, 0o660).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o660);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "a file").unwrap();
        assert!(bind_socket(&path, 0o660).is_err(), "a file of somebody is not removed");
    }
}
