// SPDX-License-Identifier: GPL-2.0-or-later
//! A git work tree of Linux with our part in it: one commit with the source as Debian has it, one
//! with our new files, then one per patch.

use super::budget::measure;
use super::git::Git;
use super::{BASE_TAG, OVERLAY_SUBJECT, Place, copy_files, files_below};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes the work tree; the directory must not exist.
pub fn run(place: &Place, dir: &Path) -> Result<()> {
    run_quietly(place, dir)?;
    eprintln!(
        "{}: change it, commit (one patch each; new files in any), then \
         `cargo xtask kernel save {}`",
        dir.display(),
        dir.display()
    );
    Ok(())
}

/// The same without a word of what to do next.
pub fn run_quietly(place: &Place, dir: &Path) -> Result<()> {
    ensure!(!dir.exists(), "{} exists; name a new directory", dir.display());
    copy_source(&place.source()?, dir)?;
    commit_all(dir, &place.overlay(), &place.patches()?)
}

/// The same with nothing of the source but the files that patches change, and `more`: it takes seconds.
pub fn run_small(place: &Place, dir: &Path, more: &[&str]) -> Result<()> {
    let texts = super::texts(place)?;
    let mut files: Vec<PathBuf> = texts.iter().flat_map(|(_, text)| measure(text).files).collect();
    files.extend(more.iter().map(PathBuf::from));
    files.sort();
    files.dedup();
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    copy_files(&files, &place.source()?, dir)?;
    commit_all(dir, &place.overlay(), &place.patches()?)
}

fn copy_source(source: &Path, dir: &Path) -> Result<()> {
    let status = Command::new("cp")
        .args(["-a", "--reflink=auto", "--"])
        .arg(source)
        .arg(dir)
        .status()
        .context("cannot run cp")?;
    ensure!(status.success(), "copying {} failed", source.display());
    // What the lab's cache knows it by, and Debian's list of what its packaging does not keep,
    // which is everything.
    for file in ["inputs", ".gitignore"] {
        let path = dir.join(file);
        if path.exists() {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// The commits, in a directory with the source.
pub fn commit_all(dir: &Path, overlay: &Path, patches: &[PathBuf]) -> Result<()> {
    let git = Git { dir };
    git.run(["init", "--quiet"])?;
    git.run(["add", "--all", "--force", "."])?;
    git.run(["commit", "--quiet", "-m", "Linux, as Debian has it"])?;
    git.run(["tag", BASE_TAG])?;
    let files = files_below(overlay)?;
    for file in &files {
        let there = dir.join(file).exists();
        ensure!(!there, "{}: the source has it; it must be a patch", file.display());
    }
    copy_files(&files, overlay, dir)?;
    git.run(["add", "--all", "--force", "."])?;
    git.run(["commit", "--quiet", "-m", OVERLAY_SUBJECT])?;
    for patch in patches {
        let path = patch.to_string_lossy();
        git.run(["am", "--quiet", "-3", "--committer-date-is-author-date", &path])
            .with_context(|| format!("{} does not apply", patch.display()))?;
    }
    Ok(())
}
