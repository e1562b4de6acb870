// SPDX-License-Identifier: GPL-2.0-or-later
//! The series on a source that is never written: a directory that gets copies of the files that
//! patches change, and links to all others where somebody compiles.

use super::budget::measure;
use super::{copy_files, files_below};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A directory on top of a source.
pub struct Copies<'a> {
    pub source: &'a Path,
    pub dir: &'a Path,
}

impl Copies<'_> {
    /// Everything of the source as links; the directory must not exist.
    pub fn link_all(&self) -> Result<()> {
        let source = std::path::absolute(self.source)?;
        let mut command = Command::new("cp");
        command.args(["-rs", "--"]).arg(source).arg(self.dir);
        ensure!(command.status().context("cannot run cp")?.success(), "linking the source failed");
        Ok(())
    }

    /// Adds our new files.
    pub fn lay_over(&self, overlay: &Path) -> Result<()> {
        copy_files(&files_below(overlay)?, overlay, self.dir)
    }

    /// Applies a patch as the lab does; returns what is wrong with it.
    pub fn apply(&self, path: &Path, text: &str) -> Result<Option<String>> {
        for file in measure(text).files {
            let copy = self.dir.join(&file);
            let is_link = copy.is_symlink();
            if is_link {
                fs::remove_file(&copy)?;
            }
            if is_link || !copy.exists() {
                fs::create_dir_all(copy.parent().context("a patch names no file")?)?;
                fs::copy(self.source.join(&file), &copy)
                    .with_context(|| format!("the source has no {}", file.display()))?;
            }
        }
        let output = Command::new("patch")
            .args(["-p1", "-N", "-s", "-F0", "-d"])
            .arg(self.dir)
            .stdin(fs::File::open(path)?)
            .output()
            .context("cannot run patch")?;
        let said = String::from_utf8_lossy(&output.stdout);
        Ok((!output.status.success()).then(|| format!("{} does not apply: {said}", path.display())))
    }
}
