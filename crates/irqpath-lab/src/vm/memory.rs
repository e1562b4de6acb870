// SPDX-License-Identifier: GPL-2.0-or-later
//! Files without a name, shared with QEMU: initramfs, console, results.
//!
//! They lie in memory and are gone with the last process that has them open, however it ends, so
//! nothing is left behind. QEMU opens them through `/proc/PID/fd/N` of this process.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};

/// A file in memory.
#[derive(Debug)]
pub struct Memory {
    file: File,
}

impl Memory {
    /// An empty file; the name is for people who look into `/proc`.
    pub fn new(name: &str) -> io::Result<Self> {
        let fd = memfd_create(format!("irqpath-{name}"), MemfdFlags::CLOEXEC)?;
        Ok(Self { file: File::from(fd) })
    }

    /// A file of zeroes.
    pub fn zeroed(name: &str, len: u64) -> io::Result<Self> {
        let memory = Self::new(name)?;
        memory.file.set_len(len)?;
        Ok(memory)
    }

    /// A file with this content.
    pub fn with(name: &str, data: &[u8]) -> io::Result<Self> {
        let memory = Self::new(name)?;
        memory.file.write_all_at(data, 0)?;
        Ok(memory)
    }

    /// Where another process of this user finds it while this one lives.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    /// A second handle, for a child's standard output.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// What lies at `range`; shorter if the file ends before.
    pub fn read(&self, from: u64, len: usize) -> io::Result<Vec<u8>> {
        let end = self.file.metadata()?.len();
        let len = usize::try_from(end.saturating_sub(from)).map_or(len, |left| left.min(len));
        let mut data = vec![0; len];
        let mut done = 0;
        while done < len {
            match self.file.read_at(&mut data[done..], from + done as u64)? {
                0 => break,
                n => done += n,
            }
        }
        data.truncate(done);
        Ok(data)
    }

    /// All of it, as text.
    pub fn text(&self) -> io::Result<String> {
        let data = self.read(0, usize::MAX)?;
        Ok(String::from_utf8_lossy(&data).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_write_what_is_read_here() {
        let memory = Memory::with("test", b"0123456789").unwrap();
        assert_eq!(memory.read(4, 3).unwrap(), b"456");
        assert_eq!(memory.read(8, 100).unwrap(), b"89");
        assert_eq!(memory.read(11, 1).unwrap(), b"");
        std::fs::write(memory.path(), "other").unwrap();
        assert_eq!(memory.text().unwrap(), "other");
    }

    #[test]
    fn zeroes_have_the_length_that_was_asked_for() {
        let memory = Memory::zeroed("test", 1 << 20).unwrap();
        assert_eq!(memory.read(0, usize::MAX).unwrap(), vec![0; 1 << 20]);
    }
}
