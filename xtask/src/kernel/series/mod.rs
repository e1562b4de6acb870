// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel part as series that can be mailed: one a policy, each for the base alone.
//!
//! A series is a branch on the untouched source, made of the steps of `kernel/mail/series.toml`. A step
//! takes our patches and new files, and each of our files as the options up to there have it ([`strip`]).
//! So every step builds, Kconfig comes first, and nothing is written twice.

mod build;
mod manifest;
mod strip;
#[cfg(test)]
mod tests;

use super::git::Git;
use super::{BASE_TAG, Place, checkout, files_below};
use anyhow::{Context, Result, bail, ensure};
use build::Builder;
use manifest::{Manifest, Series, Step, names};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use strip::{State, empty_functions, rule_names};

/// Who sends and signs unless `--sign` says it.
pub const NOBODY: &str = "YOUR NAME <you@example.invalid>";
/// Says which functions have a second name.
const RULES: &str = "kernel/irqpath/faults.h";
/// Of all commits, so that two exports are the same.
const DATE: &str = "Sat, 28 Nov 2026 12:00:00 +0000";

/// Our part, and the tree in which branches are made of it.
struct Source<'a> {
    place: &'a Place,
    git: Git<'a>,
    manifest: Manifest,
    overlay: BTreeSet<PathBuf>,
    empty: BTreeMap<String, BTreeSet<String>>,
    rules: BTreeMap<String, String>,
    /// Commits of our patches, by name without number and ending.
    hooks: BTreeMap<String, String>,
    release: (u32, u32, u32),
    sender: &'a str,
}

/// A branch that grows.
#[derive(Default)]
struct Branch {
    options: BTreeSet<String>,
    present: BTreeSet<PathBuf>,
}

/// Writes all series to directories below `out`, each with a cover letter, and with `build` compiles what
/// each step touches; returns what is broken.
pub fn export(place: &Place, out: &Path, sender: &str, build: bool) -> Result<Vec<String>> {
    ensure!(!out.exists(), "{} exists; name a new directory", out.display());
    ensure!(is_address(sender), "'{sender}' is not of the form NAME <ADDRESS>");
    let scratch = tempfile::tempdir()?;
    let dir = scratch.path().join("linux");
    if build {
        checkout::run_quietly(place, &dir)?;
    } else {
        checkout::run_small(place, &dir, &["Makefile", "MAINTAINERS"])?;
    }
    let source = Source::new(place, &dir, sender)?;
    let mut broken = source.problems()?;
    for series in &source.manifest.series {
        let built = build.then(|| Builder::new(place, &dir, scratch.path())).transpose()?;
        broken.extend(source.branch(series, built.as_ref())?);
        let target = out.join(&series.name);
        source.write(series, &target)?;
        eprintln!("{}: {} patches and a cover letter", target.display(), series.steps.len());
    }
    Ok(broken)
}

fn is_address(text: &str) -> bool {
    let Some((name, rest)) = text.split_once(" <") else { return false };
    let address = rest.strip_suffix('>').unwrap_or_default();
    !name.trim().is_empty()
        && address.contains('@')
        && !text.chars().any(char::is_control)
        && !address.contains(['<', '>', ' '])
}

impl<'a> Source<'a> {
    fn new(place: &'a Place, dir: &'a Path, sender: &'a str) -> Result<Self> {
        let git = Git { dir };
        let (name, address) = sender.split_once(" <").context("a sender has an address")?;
        git.run(["config", "user.name", name])?;
        git.run(["config", "user.email", address.trim_end_matches('>')])?;
        let overlay: BTreeSet<PathBuf> = files_below(&place.overlay())?.into_iter().collect();
        let mut empty = BTreeMap::new();
        for header in overlay.iter().filter(|f| f.extension().is_some_and(|ext| ext == "h")) {
            empty_functions(&fs::read_to_string(place.overlay().join(header))?, &mut empty);
        }
        let rules = rule_names(&fs::read_to_string(place.overlay().join(RULES))?);
        let range = format!("{BASE_TAG}..HEAD");
        let log = git.run(["log", "--reverse", "--format=%H", &range])?;
        // The first one is that of the new files.
        let commits = log.lines().skip(1).map(str::to_owned);
        let patches = place.patches()?;
        let hooks = patches.iter().map(|path| hook_name(path)).zip(commits).collect();
        let release = release(&fs::read_to_string(dir.join("Makefile"))?)?;
        let manifest = Manifest::read(&place.kernel.join("mail/series.toml"))?;
        Ok(Self { place, git, manifest, overlay, empty, rules, hooks, release, sender })
    }

    fn problems(&self) -> Result<Vec<String>> {
        let hooks: Vec<String> = self.hooks.keys().cloned().collect();
        let mut found = self.manifest.problems(&self.overlay, &hooks);
        for series in &self.manifest.series {
            self.manifest.steps(series)?;
            let cover = self.cover(series);
            if !cover.is_file() {
                found.push(format!("{} has no {}", series.name, cover.display()));
            }
        }
        Ok(found)
    }

    fn cover(&self, series: &Series) -> PathBuf {
        self.place.kernel.join("mail").join(format!("{}.txt", series.name))
    }

    /// Makes the branch of a series; returns what does not build.
    fn branch(&self, series: &Series, build: Option<&Builder>) -> Result<Vec<String>> {
        self.git.run(["checkout", "--quiet", "--force", "-B", &series.name, BASE_TAG])?;
        let mut branch = Branch::default();
        let mut broken = Vec::new();
        for (name, step) in self.manifest.steps(series)? {
            for hook in &step.hooks {
                let commit =
                    self.hooks.get(hook).with_context(|| format!("{name}: no patch {hook}"))?;
                self.git.run(["cherry-pick", "--no-commit", commit]).with_context(|| {
                    format!("{}: {hook} does not apply without the others", series.name)
                })?;
            }
            branch.options.extend(step.options.iter().cloned());
            let kept = |file: &PathBuf| self.manifest.keeps(file);
            let taken =
                |file: &&PathBuf| step.files.iter().any(|entry| names(entry, file)) && !kept(file);
            branch.present.extend(self.overlay.iter().filter(taken).cloned());
            self.lay_over(&branch)?;
            self.maintain(&branch)?;
            self.commit(step)?;
            if let Some(build) = build {
                let said = build.step(&format!("{}: {name}", series.name))?;
                broken.extend(
                    said.iter().map(|line| format!("{}, step {name}: {line}", series.name)),
                );
            }
        }
        Ok(broken)
    }

    /// Writes every file that the branch has, as its options have it.
    fn lay_over(&self, branch: &Branch) -> Result<()> {
        let state = State {
            options: &branch.options,
            all: &self.overlay,
            present: &branch.present,
            empty: &self.empty,
            rules: &self.rules,
            release: self.release,
        };
        for file in &branch.present {
            let text = fs::read_to_string(self.place.overlay().join(file))?;
            let target = self.git.dir.join(file);
            fs::create_dir_all(target.parent().context("a file has a directory")?)?;
            let text = state.strip(file, &text);
            // A file that is the same keeps its time, and make what it made of it.
            if fs::read_to_string(&target).ok().as_deref() != Some(&text) {
                fs::write(&target, text)?;
            }
            let mode = fs::metadata(self.place.overlay().join(file))?.permissions();
            fs::set_permissions(&target, mode)?;
        }
        Ok(())
    }

    /// Enters what the branch has into MAINTAINERS.
    fn maintain(&self, branch: &Branch) -> Result<()> {
        let path = self.git.dir.join("MAINTAINERS");
        let base = self.git.run(["show", &format!("{BASE_TAG}:MAINTAINERS")])?;
        let entry = fs::read_to_string(self.place.kernel.join("mail/MAINTAINERS"))?;
        let text = enter(&base, &entry, self.sender, &branch.present)?;
        fs::write(path, text).context("cannot write MAINTAINERS")
    }

    fn commit(&self, step: &Step) -> Result<()> {
        self.git.run(["add", "--all", "--force", "."])?;
        let text = match (&step.subject, step.hooks.as_slice()) {
            (Some(subject), _) => format!("{subject}\n\n{}", step.body.trim()),
            (None, [hook]) => self.git.run(["log", "-1", "--format=%B", &self.hooks[hook]])?,
            (None, _) => bail!("a step without a subject has one patch"),
        };
        let text = format!("{}\n\nSigned-off-by: {}", text.trim(), self.sender);
        let author = format!("--author={}", self.sender);
        let date = format!("--date={DATE}");
        self.git.run(["commit", "--quiet", &author, &date, "-m", &text]).map(drop)
    }

    /// The patches of the branch that is checked out, and its cover letter.
    fn write(&self, series: &Series, target: &Path) -> Result<()> {
        fs::create_dir_all(target)?;
        let target = std::path::absolute(target)?;
        self.git.format_series(&format!("{BASE_TAG}..HEAD"), &target)?;
        let letter = target.join("0000-cover-letter.patch");
        let text = fs::read_to_string(&letter)?;
        let (major, minor, patch) = self.release;
        let base = format!("This applies to Debian's linux-source of {major}.{minor}.{patch}.");
        let cover = fs::read_to_string(self.cover(series))?.trim().to_owned() + "\n\n" + &base;
        let text = text
            .replace("*** SUBJECT HERE ***", &series.title)
            .replace("*** BLURB HERE ***", &cover);
        // Its time is that of the export; the patches have another one.
        let date = text.lines().find(|line| line.starts_with("Date: ")).unwrap_or_default();
        let text = text.replacen(date, &format!("Date: {DATE}"), 1);
        fs::write(&letter, text).context("cannot write the cover letter")
    }
}

/// A patch's name without its number and ending.
fn hook_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    stem.split_once('-').map_or(stem.as_ref(), |(_, name)| name).to_owned()
}

/// The release that the Makefile of a source names.
fn release(makefile: &str) -> Result<(u32, u32, u32)> {
    let number = |name: &str| {
        let line = makefile.lines().find_map(|line| line.strip_prefix(name)?.split_once('='));
        line.and_then(|(_, number)| number.trim().parse().ok())
            .with_context(|| format!("the source's Makefile has no {name}"))
    };
    Ok((number("VERSION")?, number("PATCHLEVEL")?, number("SUBLEVEL")?))
}

/// Our entry in MAINTAINERS, with the files that are there, in its place by the alphabet.
fn enter(base: &str, entry: &str, sender: &str, present: &BTreeSet<PathBuf>) -> Result<String> {
    let title = entry.lines().next().context("the entry of MAINTAINERS has no title")?;
    let is_there = |line: &str| {
        let Some(pattern) = line.strip_prefix("F:\t") else { return true };
        let prefix = pattern.trim_end_matches('*');
        present.iter().any(|file| file.to_string_lossy().starts_with(prefix))
    };
    let kept = entry.lines().filter(|line| is_there(line));
    let entry: String = kept.map(|line| line.replace("SENDER", sender) + "\n").collect();
    // Not every part of the list is sorted: after the entry that comes last before ours.
    let mut blocks: Vec<&str> = base.split("\n\n").collect();
    let is_entry = |block: &&str| block.lines().nth(1).is_some_and(|line| line.contains(":\t"));
    let entries = blocks.iter().enumerate().filter(|(_, block)| is_entry(block));
    let before = entries.filter(|(_, block)| block.lines().next().is_some_and(|t| t < title));
    let last = before.max_by_key(|(_, block)| block.lines().next());
    let (at, _) = last.context("MAINTAINERS has no list")?;
    blocks.insert(at + 1, entry.trim_end());
    Ok(blocks.join("\n\n"))
}
