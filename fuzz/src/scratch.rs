// SPDX-License-Identifier: GPL-2.0-or-later
//! Files for readers that take a path. Every input gets an empty directory.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// A directory, gone when dropped.
pub struct Scratch(tempfile::TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("room for a directory"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Put a file there; `name` may have directories. One that cannot be a file is left out.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        let is_inside = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
        if is_inside && !name.contains('\0') {
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            let _ = made.and_then(|()| fs::write(&path, bytes));
        }
        path
    }
}
