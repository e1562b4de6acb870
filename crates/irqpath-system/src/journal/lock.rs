// SPDX-License-Identifier: GPL-2.0-or-later
//! One lock for everything that changes this host. The kernel releases it when its holder ends,
//! however that happens, so there is nothing to clean up after a kill.
//!
//! `flock` works on any descriptor, also one that may only read. So nobody else may open the file,
//! or they could keep root from undoing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::{JournalError, store};

/// A change of a large host takes less; the watch holds the lock only while it repairs.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The lock, held until dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    pub(super) fn take_lock(directory: &Path) -> Result<Self, JournalError> {
        Self::take_within(directory, PATIENCE)
    }

    pub(super) fn take_within(directory: &Path, patience: Duration) -> Result<Self, JournalError> {
        store::prepare_directory(directory, DIRECTORY_MODE)?;
        let path = directory.join("lock");
        let started = Instant::now();
        loop {
            let mut file = open(&path).map_err(JournalError::write(&path))?;
            if !is_private(&file).map_err(JournalError::write(&path))? {
                // Somebody else may have it open, and locked for ever.
                fs::remove_file(&path).map_err(JournalError::write(&path))?;
                continue;
            }
            wait_for_lock(&file, &path, started, patience)?;
            if is_still_there(&file, &path) {
                // For the error message only; nothing depends on it.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return Ok(Self(file));
            }
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).mode(FILE_MODE);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path)
}

fn is_private(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    let mine = found.uid() == rustix::process::geteuid().as_raw();
    Ok(found.is_file() && mine && found.mode() & 0o777 & !FILE_MODE == 0)
}

/// False if the one who had the lock before put another file in the place of this one.
fn is_still_there(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

fn wait_for_lock(
    mut file: &File,
    path: &Path,
    started: Instant,
    patience: Duration,
) -> Result<(), JournalError> {
    while let Err(error) = flock(file, FlockOperation::NonBlockingLockExclusive) {
        let error = io::Error::from(error);
        if error.kind() == io::ErrorKind::Interrupted {
            continue;
        }
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(JournalError::write(path)(error));
        }
        if started.elapsed() > patience {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            return Err(JournalError::Locked { holder: holder.trim().to_owned() });
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}
