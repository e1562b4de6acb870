// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of what is not complete: nobody can guess them, and what still has one when the
//! process ends is removed.
//!
//! Rule: a name may have come to mean something else, as whoever owns the directory can rename
//! what lies in it. What is removed is what is open, and its name only while it leads there.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, fsync, openat, statat, unlinkat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::path::Arg;
use rustix::rand::{GetRandomFlags, getrandom};

use super::OutputError;

/// Directories in each other; a result has two.
const MAX_DEPTH: usize = 16;

/// What removing a result takes: a directory in it, and the list of its names. One that is
/// replaced is opened once more.
const SPARE: usize = 3;
/// What making one takes meanwhile: the directory, and the list of its names.
const TO_MAKE: usize = 2;

/// What [`remove_all`] has to remove when the process is told to give up.
static PARTIALS: Mutex<BTreeMap<u64, Arc<Named>>> = Mutex::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(0);

fn lock_partials() -> std::sync::MutexGuard<'static, BTreeMap<u64, Arc<Named>>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remove every partial file and directory of this process.
pub fn remove_all() {
    for named in std::mem::take(&mut *lock_partials()).into_values() {
        // A failure leaves a file that its name explains; there is nobody left to tell.
        let _ = named.remove_partial();
    }
}

/// Something open, and the name it was made under.
#[derive(Debug)]
pub(super) struct Named {
    pub directory: Arc<OwnedFd>,
    pub name: CString,
    /// The file or directory itself.
    pub open: OwnedFd,
    /// Descriptors that are closed when a directory is removed, as that takes some, and the limit
    /// of this process may be reached by then.
    pub spare: Mutex<Vec<OwnedFd>>,
}

impl Named {
    /// True while the name leads to it.
    pub fn is_there(&self) -> io::Result<bool> {
        is_same(&self.open, &self.directory, &self.name)
    }

    /// Remove it, with what is below it.
    pub fn remove_partial(&self) -> io::Result<()> {
        let is_directory = file_type(fstat(&self.open)?.st_mode) == FileType::Directory;
        if is_directory {
            self.close_spare();
            empty_directory(&self.open, MAX_DEPTH)?;
        }
        if self.is_there()? {
            let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            unlinkat(&self.directory, &self.name, flags)?;
        }
        Ok(())
    }

    pub fn close_spare(&self) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Sync it, with what is below it.
    pub fn sync_content(&self) -> io::Result<()> {
        sync_tree(&self.open, MAX_DEPTH)
    }
}

/// True if a name leads to what is open.
pub(super) fn is_same(open: &OwnedFd, directory: &OwnedFd, name: impl Arg) -> io::Result<bool> {
    let open = fstat(open)?;
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((found.st_dev, found.st_ino) == (open.st_dev, open.st_ino))
}

/// Why there is no partial file or directory.
#[derive(Debug)]
pub(super) enum NotMade {
    Io(io::Error),
    /// Somebody has put something else under the name.
    Interfered,
}

impl NotMade {
    pub fn with_target(self, target: &Path) -> OutputError {
        match self {
            Self::Io(error) => OutputError::walk_error(target)(error),
            Self::Interfered => OutputError::Interfered(target.to_owned()),
        }
    }
}

impl<E: Into<io::Error>> From<E> for NotMade {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// A file or directory that is removed unless it was given its name.
#[derive(Debug)]
pub(super) struct Partial {
    id: u64,
    pub named: Arc<Named>,
}

impl Partial {
    /// Make something under a random name with `make`, which must fail if there is such a name.
    pub fn new(
        directory: &Arc<OwnedFd>,
        make: impl Fn(&OwnedFd, &str) -> Result<OwnedFd, NotMade>,
    ) -> Result<Self, NotMade> {
        let nr_needed = SPARE + TO_MAKE;
        let spare = (0..nr_needed).map(|_| fcntl_dupfd_cloexec(directory, 0));
        let mut spare: Vec<OwnedFd> = spare.collect::<Result<_, _>>()?;
        spare.truncate(SPARE);
        loop {
            let name = format!(".irqpath-{}.partial", random_name()?);
            match make(directory, &name) {
                Err(NotMade::Io(e)) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Ok(Self::create_named(directory, &name, made?, spare)?),
            }
        }
    }

    fn create_named(
        directory: &Arc<OwnedFd>,
        name: &str,
        open: OwnedFd,
        mut spare: Vec<OwnedFd>,
    ) -> Result<Self, Errno> {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = name.into_c_str()?.into_owned();
        if file_type(fstat(&open)?.st_mode) != FileType::Directory {
            spare.clear();
        }
        let spare = Mutex::new(spare);
        let named = Arc::new(Named { directory: directory.clone(), name, open, spare });
        lock_partials().insert(id, named.clone());
        Ok(Self { id, named })
    }

    /// It has its final name now.
    pub fn mark_kept(&self) {
        lock_partials().remove(&self.id);
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(named) = lock_partials().remove(&self.id) {
            let _ = named.remove_partial();
        }
    }
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

/// Remove what is below a directory; links are removed, never followed.
fn empty_directory(directory: &OwnedFd, depth: usize) -> io::Result<()> {
    let depth = depth.checked_sub(1).ok_or(Errno::LOOP)?;
    for name in list_names(directory)? {
        let stat = statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if file_type(stat.st_mode) == FileType::Directory {
            empty_directory(&open_directory(directory, &name)?, depth)?;
            unlinkat(directory, &name, AtFlags::REMOVEDIR)?;
        } else {
            unlinkat(directory, &name, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn sync_tree(open: &OwnedFd, depth: usize) -> io::Result<()> {
    if file_type(fstat(open)?.st_mode) == FileType::Directory {
        let depth = depth.checked_sub(1).ok_or(Errno::LOOP)?;
        for name in list_names(open)? {
            let inner = openat(open, &name, READ | OFlags::NOFOLLOW, Mode::empty())?;
            sync_tree(&inner, depth)?;
        }
    }
    Ok(fsync(open)?)
}

fn file_type(mode: u32) -> FileType {
    FileType::from_raw_mode(mode)
}

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Open a directory, not what a link leads to, so that its names can be read.
pub(super) fn open_directory(directory: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = READ | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    openat(directory, name, flags, Mode::empty())
}

/// The names in a directory that was opened for reading.
pub(super) fn list_names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}
