// SPDX-License-Identifier: GPL-2.0-or-later
//! One lock for everything that changes this host. The kernel releases it when its holder ends,
//! however that happens, so there is nothing to clean up after a kill.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::JournalError;

/// A change of a large host takes less; the watch holds the lock only while it repairs.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// The lock, held until dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    pub(super) fn take(path: &Path) -> Result<Self, JournalError> {
        Self::take_within(path, PATIENCE)
    }

    pub(super) fn take_within(path: &Path, patience: Duration) -> Result<Self, JournalError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let mut file = options.open(path).map_err(JournalError::write(path))?;
        let started = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            let error = io::Error::from(error);
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(JournalError::write(path)(error));
            }
            if started.elapsed() > patience {
                let holder = fs::read_to_string(path).unwrap_or_default().trim().to_owned();
                return Err(JournalError::Locked { holder });
            }
            thread::sleep(PAUSE);
        }
        // For the message above only; nothing depends on it.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Self(file))
    }
}
