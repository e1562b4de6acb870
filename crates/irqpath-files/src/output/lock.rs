// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps two processes of one user from writing into the same directory at the same time.
//!
//! `flock` works on any descriptor, also one that may only read. Whoever may list a directory
//! could lock it and keep its owner waiting for ever. So the lock is a file that only its owner
//! can open, in `/run/irqpath` or, for other users than root, in `$XDG_RUNTIME_DIR/irqpath`. It
//! is named after the directory's device and inode, and goes with the lock.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, mkdir, open, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A directory that no other process of this user writes to meanwhile.
#[derive(Debug)]
pub struct Lock {
    file: OwnedFd,
    /// Where it lies, and its name; none if the directory itself is locked.
    named: Option<(OwnedFd, String)>,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is held: whoever waits for it sees that it is gone, and makes another.
        if let Some((directory, name)) = &self.named
            && is_there(&self.file, directory, name)
        {
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
    }
}

/// Where this user's locks lie.
pub(super) fn lock_place() -> Option<PathBuf> {
    place_of(geteuid().is_root(), std::env::var_os("XDG_RUNTIME_DIR"))
}

fn place_of(is_root: bool, runtime: Option<OsString>) -> Option<PathBuf> {
    if is_root {
        return Some("/run/irqpath".into());
    }
    let runtime = PathBuf::from(runtime.filter(|path| Path::new(path).is_absolute())?);
    Some(runtime.join("irqpath"))
}

/// Wait for the lock of an open directory. Where there is no place for locks (a read-only `/run`,
/// or an `$XDG_RUNTIME_DIR` that `su` left from another user) it is the directory itself.
pub(super) fn take_lock(directory: impl AsFd, place: Option<&Path>) -> io::Result<Lock> {
    let place = place.map(open_place).transpose().or_else(|error| match error {
        Errno::ROFS | Errno::NOENT | Errno::ACCESS => Ok(None),
        other => Err(other),
    })?;
    let Some(place) = place else {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = openat(directory, ".", flags, Mode::empty())?;
        wait_for_lock(&file)?;
        return Ok(Lock { file, named: None });
    };
    let Stat { st_dev, st_ino, .. } = fstat(directory)?;
    let name = format!("output-{st_dev:x}-{st_ino:x}");
    loop {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&place, &name, flags, Mode::from_raw_mode(FILE_MODE))?;
        wait_for_lock(&file)?;
        if is_there(&file, &place, &name) {
            return Ok(Lock { file, named: Some((place, name)) });
        }
    }
}

/// The directory of the locks, which is made if it is missing.
fn open_place(path: &Path) -> Result<OwnedFd, Errno> {
    match mkdir(path, Mode::from_raw_mode(DIRECTORY_MODE)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = open(path, flags, Mode::empty())?;
    let found = fstat(&place)?;
    if found.st_uid != geteuid().as_raw() {
        return Err(Errno::PERM);
    }
    if found.st_mode & 0o777 != DIRECTORY_MODE {
        fchmod(&place, Mode::from_raw_mode(DIRECTORY_MODE))?;
    }
    Ok(place)
}

fn wait_for_lock(file: &OwnedFd) -> Result<(), Errno> {
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn is_there(file: &OwnedFd, directory: &OwnedFd, name: &str) -> bool {
    let named = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let held = fstat(file);
    matches!((held, named), (Ok(a), Ok(b)) if (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
    use std::sync::mpsc::{self, Receiver};
    use std::thread;
    use std::time::Duration;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// Takes the lock on another thread.
    fn taken(directory: &Path, place: &Path) -> Receiver<Lock> {
        let (sender, receiver) = mpsc::channel();
        let (directory, place) = (File::open(directory).unwrap(), place.to_owned());
        thread::spawn(move || sender.send(take_lock(&directory, Some(&place)).unwrap()));
        receiver
    }

    #[test]
    fn a_strangers_lock_on_the_directory_delays_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let stranger = File::open(dir.path()).unwrap();
        flock(&stranger, FlockOperation::NonBlockingLockExclusive).unwrap();
        let lock = taken(dir.path(), &place).recv_timeout(Duration::from_secs(30));
        let lock = lock.expect("it waits for the stranger");
        let files: Vec<_> = fs::read_dir(&place).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!((files.len(), mode(&place), mode(&files[0])), (1, 0o700, 0o600));
        drop(lock);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn two_of_one_user_wait_for_each_other_and_not_for_other_directories() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = dir.path().join("run");
        let first = taken(dir.path(), &place).recv().unwrap();
        let second = taken(dir.path(), &place);
        assert!(second.recv_timeout(Duration::from_millis(200)).is_err());
        taken(other.path(), &place).recv_timeout(Duration::from_secs(30)).unwrap();
        drop(first);
        drop(second.recv_timeout(Duration::from_secs(30)).unwrap());
        taken(dir.path(), &place).recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn a_place_that_others_can_open_is_closed_and_a_strangers_or_a_link_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (place, link) = (dir.path().join("run"), dir.path().join("link"));
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
        let directory = File::open(dir.path()).unwrap();
        drop(take_lock(&directory, Some(&place)).unwrap());
        assert_eq!(mode(&place), 0o700);
        symlink(&place, &link).unwrap();
        assert!(take_lock(&directory, Some(&link)).is_err());
        let nowhere = dir.path().join("missing/run");
        assert!(take_lock(&directory, Some(&nowhere)).unwrap().named.is_none());
        if chown(&place, Some(65_533), None).is_err() {
            eprintln!("skipped: gives the place of locks away, which only root can");
            return;
        }
        let error = take_lock(&directory, Some(&place)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn each_user_has_a_place_that_others_cannot_enter() {
        let place = |is_root, runtime: Option<&str>| place_of(is_root, runtime.map(Into::into));
        assert_eq!(place(true, Some("/run/user/1")), Some("/run/irqpath".into()));
        assert_eq!(place(false, Some("/run/user/1")), Some("/run/user/1/irqpath".into()));
        assert_eq!((place(false, Some("here")), place(false, None)), (None, None));
    }
}
