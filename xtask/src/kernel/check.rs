// SPDX-License-Identifier: GPL-2.0-or-later
//! Rules for the series: the hook budget, that every patch applies without fuzz after the ones
//! before it, that the kernel's own checkpatch has nothing to say, and what [`builds`] proves.

use super::budget::{ADDED, Extent, PATCHES, measure};
use super::copies::Copies;
use super::{Place, builds, files_below};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The file of a series that is no patch.
const COVER: &str = "0000-cover-letter.patch";

/// What checkpatch does not get to say about any file, and why.
const NOT_ABOUT: [&str; 10] = [
    // What stands for a check in a kernel without it takes the same arguments.
    "MACRO_ARG_UNUSED",
    // Who mails a patch signs it.
    "MISSING_SIGN_OFF",
    // MAINTAINERS gets its entry when the series is mailed.
    "FILE_PATH_CHANGES",
    // It does not know DEFINE_STATIC_KEY_FALSE as a definition.
    "EXPORT_SYMBOL",
    // A macro that makes a function pastes its argument where it likes.
    "MACRO_ARG_REUSE",
    // Tracepoints end lines in `TP_STRUCT__entry(` everywhere, and align as they like.
    "OPEN_ENDED_LINE",
    "PARENTHESIS_ALIGNMENT",
    // A thread with a FIFO priority yields to others of that priority, as yield() is defined.
    "YIELD",
    // compat.h serves the two releases of kernel/hooks; what is mailed is for one.
    "LINUX_VERSION_CODE",
    "CONSTANT_COMPARISON",
];

/// Applies all rules, without `quick` also those that compile; the exit code is 1 if one is broken.
pub fn run(place: &Place, quick: bool) -> Result<ExitCode> {
    let texts = super::texts(place)?;
    let mut broken = over_budget(&texts);
    match place.find_source()? {
        Some(source) => {
            broken.extend(applies(&source, &texts)?);
            broken.extend(checkpatch(&source, place, &texts)?);
            broken.extend(mailable(&source, place)?);
            if !quick {
                broken.extend(builds::run(place, &source, &texts)?);
            }
        }
        None => eprintln!(
            "skipped: applying, checkpatch and compiling, for Linux {} is not in the lab's cache; \
             `irqpath lab build --flavour irqpath` brings it",
            place.base
        ),
    }
    let added: usize = texts.iter().map(|(_, text)| measure(text).added).sum();
    eprintln!("{} patches, {added} added lines, {} broken rules", texts.len(), broken.len());
    Ok(super::said(&broken))
}

fn over_budget(texts: &[(PathBuf, String)]) -> Vec<String> {
    let extents: Vec<Extent> = texts.iter().map(|(_, text)| measure(text)).collect();
    let added: usize = extents.iter().map(|extent| extent.added).sum();
    let mut broken = Vec::new();
    if texts.len() > PATCHES {
        broken.push(format!("{} patches are more than {PATCHES}", texts.len()));
    }
    if added > ADDED {
        broken.push(format!("{added} added lines are more than {ADDED}"));
    }
    for ((path, _), extent) in texts.iter().zip(&extents) {
        for file in &extent.not_changed {
            let (path, file) = (path.display(), file.display());
            broken.push(format!("{path} makes or deletes {file}; new files are in kernel/overlay"));
        }
    }
    broken
}

/// The patches in order on copies of what they change, as the lab applies them.
fn applies(source: &Path, texts: &[(PathBuf, String)]) -> Result<Vec<String>> {
    let dir = tempfile::tempdir()?;
    let copies = Copies { source, dir: dir.path() };
    for (path, text) in texts {
        if let Some(wrong) = copies.apply(path, text)? {
            // Those after it stand on it.
            return Ok(vec![wrong]);
        }
    }
    Ok(Vec::new())
}

fn checkpatch(source: &Path, place: &Place, texts: &[(PathBuf, String)]) -> Result<Vec<String>> {
    let script = source.join("scripts/checkpatch.pl");
    ensure!(script.is_file(), "{} has no checkpatch", source.display());
    let overlay = place.overlay();
    let ours = files_below(&overlay)?.into_iter().map(|file| overlay.join(file));
    let mut broken = Vec::new();
    for (path, as_file) in
        ours.map(|path| (path, true)).chain(texts.iter().map(|(path, _)| (path.clone(), false)))
    {
        broken.extend(remarks(&script, &path, as_file)?);
    }
    Ok(broken)
}

/// The series that one would mail: each applies alone, and checkpatch says nothing of it.
fn mailable(source: &Path, place: &Place) -> Result<Vec<String>> {
    let dir = tempfile::tempdir()?;
    let out = dir.path().join("series");
    let mut broken = super::series::export(place, &out, super::series::NOBODY, false)?;
    for patch in files_below(&out)?.iter().filter(|patch| !patch.ends_with(COVER)) {
        broken.extend(remarks(&source.join("scripts/checkpatch.pl"), &out.join(patch), false)?);
    }
    Ok(broken)
}

/// What checkpatch says of a file or a patch.
fn remarks(script: &Path, path: &Path, as_file: bool) -> Result<Vec<String>> {
    let mut command = Command::new("perl");
    command.arg(script).args(["--strict", "--no-tree", "--terse", "--no-summary"]);
    command.arg("--ignore").arg(NOT_ABOUT.join(","));
    if as_file {
        command.arg("--file");
    }
    let output = command.arg(path).stdin(Stdio::null()).output().context("cannot run perl")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() || !said.is_empty(),
        "checkpatch could not read {}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(said.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
