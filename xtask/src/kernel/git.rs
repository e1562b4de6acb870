// SPDX-License-Identifier: GPL-2.0-or-later
//! git in a work tree of Linux, so that its output depends on the commits alone.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A git work tree.
pub struct Git<'a> {
    pub dir: &'a Path,
}

impl Git<'_> {
    /// Runs git and returns what it printed.
    pub fn run<I: IntoIterator<Item = S>, S: AsRef<std::ffi::OsStr>>(
        &self,
        args: I,
    ) -> Result<String> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.dir).args(["-c", "core.hooksPath=/dev/null"]);
        command.args(["-c", "commit.gpgSign=false", "-c", "core.autocrlf=false"]);
        command.args(["-c", "core.abbrev=12"]);
        command.args(args).env("LC_ALL", "C");
        // Only the patches leave the tree, and they have authors of their own: a machine on which git
        // does not know its user will do. What is configured goes before.
        if std::env::var_os("EMAIL").is_none() {
            command.env("EMAIL", "xtask@localhost");
        }
        let output = command.output().context("cannot run git")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "git failed in {}:\n{text}{said}", self.dir.display());
        Ok(text)
    }

    /// Paths that differ between two commits in the way of `filter` (A added, M modified).
    pub fn changed(&self, from: &str, to: &str, filter: &str) -> Result<Vec<PathBuf>> {
        let filter = format!("--diff-filter={filter}");
        let names = self.run(["diff", "--no-renames", "--name-only", "-z", &filter, from, to])?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
    }

    /// Writes commits as a numbered series, with the frame of a cover letter. Who wrote them stays.
    pub fn format_series(&self, range: &str, out: &Path) -> Result<()> {
        let mut args: Vec<std::ffi::OsString> = [
            "format-patch",
            "--quiet",
            "--cover-letter",
            "--numbered",
            "--zero-commit",
            "--no-signature",
            "--no-base",
            "--no-attach",
            "--no-thread",
            "--no-encode-email-headers",
            "--no-renames",
            "--stat=80",
            "--subject-prefix=RFC PATCH",
            "-o",
        ]
        .map(Into::into)
        .to_vec();
        args.extend([out.into(), range.into()]);
        self.run(args).map(drop)
    }

    /// Writes commits as patches that are the same wherever and whenever this is done.
    pub fn format_patches(&self, range: &str, out: &Path, paths: &[PathBuf]) -> Result<()> {
        let mut args: Vec<std::ffi::OsString> = [
            "format-patch",
            "--quiet",
            "--zero-commit",
            "--no-signature",
            "--no-numbered",
            "--no-base",
            "--no-attach",
            "--no-thread",
            "--no-encode-email-headers",
            "--full-index",
            "--diff-algorithm=histogram",
            "--no-renames",
            "--subject-prefix=PATCH",
            "-o",
        ]
        .map(Into::into)
        .to_vec();
        args.push(out.into());
        args.push(range.into());
        args.push("--".into());
        args.extend(paths.iter().map(Into::into));
        self.run(args).map(drop)
    }
}
