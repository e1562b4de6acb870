// SPDX-License-Identifier: GPL-2.0-or-later
//! `kernel/mail/series.toml`: which patches and new files make which step of which series.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// In the order in which they would be mailed.
    pub series: Vec<Series>,
    /// By name.
    pub step: BTreeMap<String, Step>,
    /// New files that no series brings, and why.
    pub kept: Vec<Kept>,
}

/// One series of patches.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Names the directory of patches and `kernel/mail/NAME.txt`, the text of its cover letter.
    pub name: String,
    /// Subject of the cover letter.
    pub title: String,
    /// Names of steps; each is a patch.
    pub steps: Vec<String>,
}

/// One patch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Of the patch; that of its only hook unless it is here.
    pub subject: Option<String>,
    #[serde(default)]
    pub body: String,
    /// Patches of `kernel/hooks/BASE`, without number and ending.
    #[serde(default)]
    pub hooks: Vec<String>,
    /// Files of `kernel/overlay`, or directories with a slash at the end.
    #[serde(default)]
    pub files: Vec<String>,
    /// Our options that Kconfig knows from here on, without `CONFIG_`.
    #[serde(default)]
    pub options: Vec<String>,
}

/// Files that are not mailed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub files: Vec<String>,
    /// Patches of `kernel/hooks/BASE`, as in a step.
    #[serde(default)]
    pub hooks: Vec<String>,
    pub why: String,
}

impl Manifest {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("in {}", path.display()))
    }

    /// True if no series brings the file.
    pub fn keeps(&self, file: &Path) -> bool {
        self.kept.iter().flat_map(|kept| &kept.files).any(|entry| names(entry, file))
    }

    /// The steps of a series, in order.
    pub fn steps<'a>(&'a self, series: &'a Series) -> Result<Vec<(&'a str, &'a Step)>> {
        let find = |name: &'a String| {
            let step = self.step.get(name);
            let step = step.with_context(|| format!("{}: no step {name}", series.name))?;
            ensure!(
                step.subject.is_some() || (step.hooks.len() == 1 && step.files.is_empty()),
                "step {name} needs a subject"
            );
            Ok((name.as_str(), step))
        };
        series.steps.iter().map(find).collect()
    }

    /// What is in no step and not kept on purpose, and what is named and not there.
    pub fn problems(&self, files: &BTreeSet<PathBuf>, hooks: &[String]) -> Vec<String> {
        let used: BTreeSet<&String> = self.series.iter().flat_map(|s| &s.steps).collect();
        let steps = || self.step.values();
        let named: BTreeSet<&String> = steps()
            .flat_map(|step| &step.files)
            .chain(self.kept.iter().flat_map(|kept| &kept.files))
            .collect();
        let named_hooks: BTreeSet<&String> = steps()
            .flat_map(|step| &step.hooks)
            .chain(self.kept.iter().flat_map(|kept| &kept.hooks))
            .collect();
        let mut found = Vec::new();
        for name in self.step.keys().filter(|name| !used.contains(name)) {
            found.push(format!("no series has the step {name}"));
        }
        for file in files.iter().filter(|file| !named.iter().any(|name| names(name, file))) {
            found.push(format!("{} is in no step", file.display()));
        }
        for name in named.iter().filter(|name| !files.iter().any(|file| names(name, file))) {
            found.push(format!("{name} is in a step and not in kernel/overlay"));
        }
        for hook in hooks.iter().filter(|hook| !named_hooks.contains(hook)) {
            found.push(format!("{hook} is in no step"));
        }
        for name in named_hooks.iter().filter(|name| !hooks.contains(name)) {
            found.push(format!("{name} is in a step and not in kernel/hooks"));
        }
        for kept in self.kept.iter().filter(|kept| kept.why.trim().is_empty()) {
            found.push(format!("{:?} are not mailed, and nobody says why", kept.files));
        }
        found
    }
}

/// True if an entry of `files` means the file.
pub fn names(entry: &str, file: &Path) -> bool {
    match entry.strip_suffix('/') {
        Some(dir) => file.starts_with(dir),
        None => Path::new(entry) == file,
    }
}
