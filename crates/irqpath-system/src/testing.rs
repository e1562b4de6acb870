// SPDX-License-Identifier: GPL-2.0-or-later
//! Machines made of files, for tests.

use crate::Host;

/// A temporary root; removed when dropped.
pub struct Fake(tempfile::TempDir);

impl Fake {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Add a file of text.
    pub fn file(self, relative: &str, text: &str) -> Self {
        self.bytes(relative, text.as_bytes())
    }

    /// Add a file of bytes.
    pub fn bytes(self, relative: &str, bytes: &[u8]) -> Self {
        let path = self.0.path().join(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub fn host(&self) -> Host {
        Host::new(self.0.path())
    }
}
