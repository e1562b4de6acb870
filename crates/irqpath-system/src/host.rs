// SPDX-License-Identifier: GPL-2.0-or-later
//! The root under which everything is read, and the few ways of reading a kernel file.
//!
//! Kernel files are text without a promised encoding (a driver names its interrupt as it
//! likes), so text is read lossily. Lengths are bounded: a wrong mount must not eat the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::SystemError;

/// Longest file read as a whole. `/proc/interrupts` of 8192 CPUs and 700 lines fits.
const MAX_FILE: u64 = 64 << 20;

/// A machine: the real one, or a directory that looks like one.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    /// The machine whose `/proc`, `/sys`, `/dev` and `/boot` lie under `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// This machine: all paths are below `/`.
    pub fn real() -> Self {
        Self::new("/")
    }

    /// True if facts that are in no file may be asked of the running kernel.
    pub(crate) fn is_real(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where `relative` (`proc/interrupts`) lies on this host.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// A file or a device, to be read.
    pub(crate) fn open(&self, relative: &str) -> io::Result<File> {
        File::open(self.path(relative))
    }

    /// A whole file, bytes.
    pub(crate) fn read_bytes(&self, relative: &str) -> Result<Vec<u8>, SystemError> {
        let path = self.path(relative);
        let mut bytes = Vec::new();
        let read = self.open(relative).and_then(|f| f.take(MAX_FILE + 1).read_to_end(&mut bytes));
        match read {
            Err(source) => Err(SystemError::Read { path, source }),
            Ok(n) if n as u64 > MAX_FILE => Err(SystemError::TooLong { path, limit: MAX_FILE }),
            Ok(_) => Ok(bytes),
        }
    }

    /// A whole file, text.
    pub(crate) fn read(&self, relative: &str) -> Result<String, SystemError> {
        let bytes = self.read_bytes(relative)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file's trimmed text, if it can be read. For facts that may be left out.
    pub(crate) fn read_fact(&self, relative: &str) -> Option<String> {
        let text = self.read(relative).ok()?;
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// A file's number, if it can be read and is one.
    pub(crate) fn read_number(&self, relative: &str) -> Option<i64> {
        self.read_fact(relative)?.parse().ok()
    }

    /// Names in a directory, sorted; none if it cannot be read.
    pub(crate) fn names_in(&self, relative: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.path(relative)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Where cgroups of version 2 are mounted, without the leading slash.
    pub(crate) fn cgroup_mounts(&self) -> Vec<String> {
        let mounts = self.read_fact("proc/self/mounts").unwrap_or_default();
        let of_line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let place = (words.get(2) == Some(&"cgroup2")).then(|| words.get(1).copied())?;
            Some(place?.trim_start_matches('/').to_owned())
        };
        mounts.lines().filter_map(of_line).collect()
    }

    /// The kernel's name of this boot; empty if unknown.
    pub fn boot_id(&self) -> String {
        self.read_fact("proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    /// A name that nothing else has, made by the kernel; empty if it makes none.
    pub fn make_unique_name(&self) -> String {
        self.read_fact("proc/sys/kernel/random/uuid").unwrap_or_default()
    }

    /// The host's name; empty if unknown.
    pub fn host_name(&self) -> String {
        self.read_fact("proc/sys/kernel/hostname").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::SystemError;
    use crate::testing::Fake;

    #[test]
    fn a_missing_file_is_named_in_the_error() {
        let fake = Fake::new();
        let error = fake.host().read("proc/interrupts").unwrap_err();
        assert!(
            matches!(&error, SystemError::Read { path, .. } if path.ends_with("proc/interrupts"))
        );
        assert!(error.to_string().starts_with("cannot read /"), "{error}");
    }

    #[test]
    fn an_endless_file_is_refused() {
        let fake = Fake::new();
        std::fs::create_dir(fake.host().path("proc")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", fake.host().path("proc/interrupts")).unwrap();
        let error = fake.host().read("proc/interrupts").unwrap_err();
        assert!(matches!(error, SystemError::TooLong { .. }), "{error}");
    }

    #[test]
    fn facts_are_trimmed_and_lossy() {
        let fake = Fake::new().with_bytes("sys/model", b" Raspberry\xff Pi\0\n");
        assert_eq!(fake.host().read_fact("sys/model").unwrap(), "Raspberry\u{fffd} Pi");
        assert_eq!(fake.host().read_number("sys/model"), None);
        assert_eq!(fake.host().read_fact("sys/none"), None);
    }
}
