// SPDX-License-Identifier: GPL-2.0-or-later
//! Files without a name, shared with QEMU: initramfs, console, results.
//!
//! They lie in memory and are gone with the last process that has them open, however it ends, so
//! nothing is left behind. QEMU [inherits](super::inherit) them.

use std::fs::File;
use std::io::{self, Seek as _};
use std::os::unix::fs::FileExt as _;

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

    /// Its length in bytes.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// A second handle, for a child.
    pub fn clone_handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// What lies at `range`; shorter if the file ends before.
    pub fn read_range(&self, from: u64, len: usize) -> io::Result<Vec<u8>> {
        let end = self.len()?;
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

    /// Copies all of it.
    pub fn copy_to(&self, to: &mut File) -> io::Result<()> {
        let mut from = self.file.try_clone()?;
        from.rewind()?;
        io::copy(&mut from, to).map(drop)
    }

    /// All of it, as text.
    pub fn read_text(&self) -> io::Result<String> {
        let data = self.read_range(0, usize::MAX)?;
        Ok(String::from_utf8_lossy(&data).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;

    #[test]
    fn others_write_what_is_read_here() {
        let memory = Memory::with("test", b"0123456789").unwrap();
        assert_eq!(memory.read_range(4, 3).unwrap(), b"456");
        assert_eq!(memory.read_range(8, 100).unwrap(), b"89");
        assert_eq!(memory.read_range(11, 1).unwrap(), b"");
        let handle = memory.clone_handle().unwrap();
        std::fs::write(format!("/proc/self/fd/{}", handle.as_raw_fd()), "other").unwrap();
        assert_eq!(memory.read_text().unwrap(), "other");
    }

    #[test]
    fn zeroes_have_the_length_that_was_asked_for() {
        let memory = Memory::zeroed("test", 1 << 20).unwrap();
        assert_eq!(memory.read_range(0, usize::MAX).unwrap(), vec![0; 1 << 20]);
    }
}
