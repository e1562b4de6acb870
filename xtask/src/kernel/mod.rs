// SPDX-License-Identifier: GPL-2.0-or-later
//! `cargo xtask kernel`: the kernel part of irqpath, between this tree and a work tree of Linux.
//!
//! Here it is kept as `kernel/overlay` (new files at their real paths) and `kernel/hooks/BASE`
//! (`series`, and one patch per change of existing files). [`checkout`] makes a git work tree of
//! it, [`save`] writes that back, byte for byte the same if nothing was changed, [`series`] makes
//! the series that one would mail, [`check`] holds the rules. The source is Debian's, from the
//! lab's cache; nothing is ever written there.

mod budget;
mod builds;
mod check;
mod checkout;
mod copies;
mod git;
mod kbuild;
mod said;
mod save;
mod series;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The release that the hooks are for unless `--base` says otherwise.
const BASE: &str = "6.12";
/// Subject of the commit with the new files in a work tree.
const OVERLAY_SUBJECT: &str = "irqpath: New files";
/// Tag of the untouched source in a work tree.
const BASE_TAG: &str = "irqpath-base";

const USAGE: &str = "\
usage: cargo xtask kernel COMMAND [--base 6.12|7.x] [--source DIR]

  checkout DIR   a git work tree: the source, our new files, our patches
  save DIR       write a work tree's commits back to kernel/overlay and kernel/hooks
  export OUT     the series of kernel/mail, as one would mail them: a directory each, with a cover
                 letter; --sign 'NAME <ADDRESS>' is their sender; with --build every step of each
                 is compiled
  check          the budget is kept, patches apply, checkpatch --strict is clean; each patch builds
                 alone, sparse is clean, nothing changes without CONFIG_IRQPATH (not with --quick)
";

/// Where things are.
struct Place {
    /// `kernel/` of this tree.
    kernel: PathBuf,
    base: String,
    source: Option<PathBuf>,
}

impl Place {
    fn overlay(&self) -> PathBuf {
        self.kernel.join("overlay")
    }

    fn hooks(&self) -> PathBuf {
        self.kernel.join("hooks").join(&self.base)
    }

    /// The unpacked source: as asked for, else what the lab has in its cache.
    fn source(&self) -> Result<PathBuf> {
        self.find_source()?.with_context(|| {
            format!(
                "no unpacked source of Linux {}; run `irqpath lab build --flavour irqpath` or \
                 `irqpath-7.x` once, or give --source DIR",
                self.base
            )
        })
    }

    fn find_source(&self) -> Result<Option<PathBuf>> {
        if let Some(source) = &self.source {
            return Ok(Some(source.clone()));
        }
        let sources = cache().join("sources");
        if !sources.is_dir() {
            return Ok(None);
        }
        // All releases of a series such as 7.x have one directory of hooks.
        let prefix = match self.base.strip_suffix('x') {
            Some(major) => format!("linux-source-{major}"),
            None => format!("linux-source-{}-", self.base),
        };
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&sources)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let complete = path.join("inputs").is_file() && path.join("Makefile").is_file();
            if name.starts_with(&prefix) && complete {
                found.push(path);
            }
        }
        Ok(found.into_iter().max())
    }

    /// The fragment of the configuration that has what this base has otherwise.
    fn own_fragment(&self) -> Option<&str> {
        self.base.ends_with('x').then_some(self.base.as_str())
    }

    /// The patches of `series`, in order.
    fn patches(&self) -> Result<Vec<PathBuf>> {
        let series = self.hooks().join("series");
        let text = std::fs::read_to_string(&series)
            .with_context(|| format!("cannot read {}", series.display()))?;
        let names = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
        Ok(names.map(|name| self.hooks().join(name)).collect())
    }
}

/// The lab's cache, as the lab finds it.
fn cache() -> PathBuf {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("IRQPATH_CACHE").unwrap_or_else(|| {
        let home = || set("HOME").unwrap_or_default().join(".cache");
        set("XDG_CACHE_HOME").unwrap_or_else(home).join("irqpath")
    })
}

/// Runs the command.
pub fn run(args: &[String]) -> Result<ExitCode> {
    let mut place =
        Place { kernel: crate::tree::root().join("kernel"), base: BASE.to_owned(), source: None };
    let mut words = Vec::new();
    let (mut quick, mut build) = (false, false);
    let mut sender = series::NOBODY.to_owned();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--base" => place.base.clone_from(value()?),
            "--quick" => quick = true,
            "--build" => build = true,
            "--sign" => sender.clone_from(value()?),
            "--source" => place.source = Some(value()?.into()),
            flag if flag.starts_with('-') => bail!("kernel does not know {flag}\n{USAGE}"),
            word => words.push(word),
        }
    }
    match words.as_slice() {
        ["checkout", dir] => checkout::run(&place, Path::new(dir)),
        ["save", dir] => save::run(&place, Path::new(dir)),
        ["export", out] => {
            return Ok(said(&series::export(&place, Path::new(out), &sender, build)?));
        }
        ["check"] => return check::run(&place, quick),
        _ => bail!("{USAGE}"),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what is broken, and says it by the exit code.
fn said(broken: &[String]) -> ExitCode {
    for text in broken {
        eprintln!("FAIL {text}");
    }
    ExitCode::from(u8::from(!broken.is_empty()))
}

/// The patches of the base and their texts.
fn texts(place: &Place) -> Result<Vec<(PathBuf, String)>> {
    let read = |path: PathBuf| Ok(std::fs::read_to_string(&path).map(|text| (path, text))?);
    place.patches()?.into_iter().map(read).collect()
}

/// All files below a directory, sorted, relative to it.
fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in
            std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies files, given relative to `from`, to the same places below `to`.
fn copy_files(files: &[PathBuf], from: &Path, to: &Path) -> Result<()> {
    for file in files {
        let target = to.join(file);
        std::fs::create_dir_all(target.parent().unwrap_or(to))?;
        std::fs::copy(from.join(file), &target)
            .with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
