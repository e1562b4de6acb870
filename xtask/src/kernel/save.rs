// SPDX-License-Identifier: GPL-2.0-or-later
//! From a work tree back to `kernel/overlay` and `kernel/hooks`.
//!
//! New files become the overlay, whichever commit added or changed them; what commits change in
//! files that the source has becomes one patch per commit. Files that went are removed.

use super::git::Git;
use super::{BASE_TAG, OVERLAY_SUBJECT, Place, copy_files, files_below};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// Writes the work tree's commits back.
pub fn run(place: &Place, dir: &Path) -> Result<()> {
    let git = Git { dir };
    let left = git.run(["status", "--porcelain", "--untracked-files=all"])?;
    ensure!(left.is_empty(), "commit or drop what is left in {}:\n{left}", dir.display());
    save_overlay(&git, &place.overlay())?;
    save_hooks(&git, &place.hooks())
}

fn save_overlay(git: &Git<'_>, overlay: &Path) -> Result<()> {
    let new = git.changed(BASE_TAG, "HEAD", "A")?;
    if overlay.is_dir() {
        for gone in files_below(overlay)?.iter().filter(|file| !new.contains(file)) {
            fs::remove_file(overlay.join(gone))?;
        }
    }
    copy_files(&new, git.dir, overlay)
}

fn save_hooks(git: &Git<'_>, hooks: &Path) -> Result<()> {
    let range = format!("{}..HEAD", overlay_commit(git)?);
    let old = git.changed(BASE_TAG, "HEAD", "M")?;
    fs::create_dir_all(hooks)?;
    for entry in fs::read_dir(hooks)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "patch") {
            fs::remove_file(path)?;
        }
    }
    // Without paths format-patch would take all.
    if !old.is_empty() {
        let out = std::path::absolute(hooks)?;
        git.format_patches(&range, &out, &old)?;
    }
    let names = files_below(hooks)?;
    let names = names.iter().map(|name| name.to_string_lossy());
    let mut series: Vec<_> = names.filter(|name| name.ends_with(".patch")).collect();
    series.push("".into()); // a final newline
    fs::write(hooks.join("series"), series.join("\n"))?;
    Ok(())
}

fn overlay_commit(git: &Git<'_>) -> Result<String> {
    let grep = format!("--grep=^{OVERLAY_SUBJECT}$");
    let range = format!("{BASE_TAG}..HEAD");
    let found = git.run(["log", "--format=%H", &grep, &range])?;
    found.lines().last().map(str::to_owned).with_context(|| {
        format!("{} has no commit `{OVERLAY_SUBJECT}`; is it from checkout?", git.dir.display())
    })
}
