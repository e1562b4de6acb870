// SPDX-License-Identifier: GPL-2.0-or-later
//! Files that QEMU inherits instead of opening them by name.
//!
//! QEMU may run as a user (see [`super::jail`]) who can enter none of our directories. Through
//! `/proc/self/fd/N` only the mode of the file itself counts.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use command_fds::CommandFdExt as _;

use super::VmError;
use super::disk::Disk;
use super::memory::Memory;

use crate::own;

const READABLE_BY_OTHERS: u32 = 0o004;

/// Open files for a QEMU that is about to be started.
#[derive(Debug, Default)]
pub struct Inherited(Vec<OwnedFd>);

impl Inherited {
    /// Adds a file and returns its number, which is the same in QEMU.
    pub fn add_fd(&mut self, fd: OwnedFd) -> i32 {
        let number = fd.as_raw_fd();
        self.0.push(fd);
        number
    }

    /// Adds a file in memory and returns the path by which QEMU opens it.
    pub fn add_memory(&mut self, memory: &Memory) -> Result<PathBuf, VmError> {
        let handle = memory.clone_handle().map_err(VmError::at("memory".as_ref(), "shared"))?;
        Ok(fd_path(self.add_fd(handle.into())))
    }

    /// Adds a disk that QEMU writes, and returns the path by which QEMU opens it.
    pub fn add_disk(&mut self, disk: &Disk) -> Result<PathBuf, VmError> {
        let handle = disk.clone_handle().map_err(VmError::at("disk".as_ref(), "shared"))?;
        Ok(fd_path(self.add_fd(handle.into())))
    }

    /// Adds a file of this host that QEMU only reads. Others may be forbidden to read it (umask);
    /// then QEMU gets a copy.
    pub fn add_file(&mut self, from: &Path) -> Result<PathBuf, VmError> {
        let read = |source| VmError::at(from, "read")(source);
        let file = own::open(from).map_err(read)?;
        if file.metadata().map_err(read)?.mode() & READABLE_BY_OTHERS != 0 {
            return Ok(fd_path(self.add_fd(file.into())));
        }
        self.add_memory(&copy_to_memory(from).map_err(read)?)
    }

    /// Leaves the files open in the process that `command` starts.
    pub fn hand_to(self, command: &mut Command) {
        command.preserved_fds(self.0);
    }
}

fn fd_path(fd: i32) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{fd}"))
}

fn copy_to_memory(from: &Path) -> io::Result<Memory> {
    Memory::with("copy", &own::read(from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_that_others_may_not_read_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o644] {
            let name = directory.path().join(format!("{mode:o}"));
            fs::write(&name, "the kernel").unwrap();
            fs::set_permissions(&name, fs::Permissions::from_mode(mode)).unwrap();
            let mut inherited = Inherited::default();
            let path = inherited.add_file(&name).unwrap();
            let seen = fs::metadata(&path).unwrap();
            assert_ne!(seen.mode() & READABLE_BY_OTHERS, 0, "{mode:o}");
            let mut cat = Command::new("cat");
            cat.arg(&path);
            inherited.hand_to(&mut cat);
            assert_eq!(cat.output().unwrap().stdout, b"the kernel", "{mode:o}");
        }
    }
}
