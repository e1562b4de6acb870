// SPDX-License-Identifier: GPL-2.0-or-later
//! Files and result directories appear under their final name only when they are complete: they
//! are written next to it as `NAME.partial-<pid>`, synced, and renamed. Whatever goes wrong
//! before that, the drop of the guard removes the partial one.
//!
//! Rule: create the guards before the measurement starts, so that a target that cannot be
//! written is refused before anybody waits for it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail, ensure};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// What `remove_all` has to remove when the process is told to give up.
static PARTIALS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn partials() -> std::sync::MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remove every partial file and directory of this process.
pub fn remove_all() {
    for path in std::mem::take(&mut *partials()) {
        remove(&path);
    }
}

fn remove(path: &Path) {
    // A failure leaves a file that its name explains; there is nobody left to tell.
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// A partial file or directory that is removed unless it was committed.
#[derive(Debug)]
struct Partial(PathBuf);

impl Partial {
    fn next_to(target: &Path) -> anyhow::Result<Self> {
        let Some(name) = target.file_name() else {
            bail!("{}: not a name for a result; give a new name", target.display());
        };
        let mut partial = OsString::from(name);
        partial.push(format!(".partial-{}", std::process::id()));
        let path = target.with_file_name(partial);
        partials().insert(path.clone());
        Ok(Self(path))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if partials().remove(&self.0) {
            remove(&self.0);
        }
    }
}

/// The directory that holds `path`, as a path that can be opened.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Sync a directory and everything below it.
fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() { sync_all(&path)? } else { File::open(path)?.sync_all()? }
    }
    sync_directory(directory)
}

/// A result directory in the making.
#[derive(Debug)]
pub struct StagedDir {
    target: PathBuf,
    partial: Partial,
    replace: bool,
}

impl StagedDir {
    /// Make the partial directory. An existing `target` is refused unless `force` is given and
    /// it holds a result (or nothing).
    pub fn create(target: &Path, force: bool) -> anyhow::Result<Self> {
        let exists = target.symlink_metadata().is_ok();
        let shown = target.display();
        ensure!(
            !exists || force,
            "{shown} exists; choose another name, or replace it with --force"
        );
        ensure!(
            !exists || is_replaceable(target),
            "{shown} holds no result of irqpath, so --force does not replace it; \
             choose another name"
        );
        let target = if exists { fs::canonicalize(target)? } else { target.to_owned() };
        let partial = Partial::next_to(&target)?;
        fs::create_dir(&partial.0).with_context(|| {
            format!("{shown} cannot be created; choose a directory that you may write to")
        })?;
        Ok(Self { target, partial, replace: exists })
    }

    /// Create a file in it.
    pub fn file(&self, name: &str) -> anyhow::Result<File> {
        let path = self.partial.0.join(name);
        File::create(&path).with_context(|| full(&self.target.join(name)))
    }

    /// Create a directory in it.
    pub fn directory(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.partial.0.join(name);
        fs::create_dir(&path).with_context(|| full(&self.target.join(name)))?;
        Ok(path)
    }

    /// Its final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Sync everything and give it its final name.
    pub fn commit(self) -> anyhow::Result<PathBuf> {
        let partial = &self.partial.0;
        sync_all(partial).with_context(|| full(&self.target))?;
        let flags = if self.replace { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match renameat_with(CWD, partial, CWD, &self.target, flags) {
            // After an exchange the old result has the partial name, and goes with it.
            Ok(()) if self.replace => {}
            Ok(()) => {
                partials().remove(partial);
            }
            // Some network file systems know no flags.
            Err(rustix::io::Errno::INVAL) => self.rename_without_flags()?,
            Err(e) => {
                return Err(anyhow::Error::from(io::Error::from(e)).context(format!(
                    "{} cannot be given its name; choose another one",
                    self.target.display()
                )));
            }
        }
        sync_directory(parent(&self.target)).with_context(|| full(&self.target))?;
        Ok(self.target.clone())
    }

    fn rename_without_flags(&self) -> anyhow::Result<()> {
        if self.replace {
            remove(&self.target);
        }
        fs::rename(&self.partial.0, &self.target).with_context(|| full(&self.target))?;
        partials().remove(&self.partial.0);
        Ok(())
    }
}

/// `--force` may replace a result directory or an empty one, never anything else.
fn is_replaceable(path: &Path) -> bool {
    let empty = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    empty || path.join("meta.json").is_file()
}

/// What to say when a write fails, most often because the file system is full.
pub fn full(path: &Path) -> String {
    format!("{} could not be written; free space or choose another place", path.display())
}

/// A single output file in the making. Devices and pipes are written directly: they have no
/// content that could be half-written, and must not be replaced by a file.
#[derive(Debug)]
pub struct StagedFile {
    target: PathBuf,
    partial: Option<Partial>,
}

impl StagedFile {
    /// Open it for writing.
    pub fn create(target: &Path) -> anyhow::Result<(Self, File)> {
        let advice = || {
            format!("{} cannot be written; choose a place that you may write to", target.display())
        };
        // A link stays a link: what it leads to is replaced.
        let resolved = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        match fs::metadata(&resolved) {
            Ok(m) if m.is_dir() => {
                bail!("{} is a directory; give the name of a file", target.display())
            }
            Ok(m) if !m.is_file() => {
                let file = OpenOptions::new().write(true).open(&resolved).with_context(advice)?;
                return Ok((Self { target: resolved, partial: None }, file));
            }
            _ => {}
        }
        let partial = Partial::next_to(&resolved)?;
        let file = File::create(&partial.0).with_context(advice)?;
        Ok((Self { target: resolved, partial: Some(partial) }, file))
    }

    /// Its final name.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Sync it and give it its final name. The writer must have been flushed.
    pub fn commit(self) -> anyhow::Result<PathBuf> {
        if let Some(partial) = &self.partial {
            File::open(&partial.0)
                .and_then(|f| f.sync_all())
                .and_then(|()| fs::rename(&partial.0, &self.target))
                .with_context(|| full(&self.target))?;
            partials().remove(&partial.0);
            sync_directory(parent(&self.target)).with_context(|| full(&self.target))?;
        }
        Ok(self.target.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_directory_appears_only_when_committed() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedDir::create(&root.path().join("r"), false).unwrap();
        staged.file("meta.json").unwrap().write_all(b"{}").unwrap();
        let inner = staged.directory("raw").unwrap();
        fs::write(inner.join("reps"), "1").unwrap();
        assert!(!root.path().join("r").exists());
        staged.commit().unwrap();
        assert_eq!(fs::read(root.path().join("r/raw/reps")).unwrap(), b"1");
        assert_eq!(names(root.path()), ["r"]);
        assert_eq!(fs::read(root.path().join("r/meta.json")).unwrap(), b"{}");
    }

    #[test]
    fn what_is_not_committed_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let staged = StagedDir::create(&root.path().join("r"), false).unwrap();
        staged.file("meta.json").unwrap();
        let (file, _) = StagedFile::create(&root.path().join("f")).unwrap();
        drop((staged, file));
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn an_existing_directory_is_replaced_only_by_force_and_only_if_it_is_a_result() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("r");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("diary.txt"), "dear").unwrap();
        let refused = StagedDir::create(&target, false).unwrap_err().to_string();
        assert!(refused.contains("--force"), "{refused}");
        let refused = StagedDir::create(&target, true).unwrap_err().to_string();
        assert!(refused.contains("no result of irqpath"), "{refused}");

        fs::write(target.join("meta.json"), "{}").unwrap();
        let staged = StagedDir::create(&target, true).unwrap();
        staged.file("new").unwrap();
        staged.commit().unwrap();
        assert_eq!(names(&target), ["new"]);
        assert_eq!(names(root.path()), ["r"]);
    }

    #[test]
    fn a_file_replaces_what_a_link_leads_to_and_never_a_device() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", root.path().join("link")).unwrap();
        let (staged, mut file) = StagedFile::create(&root.path().join("link")).unwrap();
        file.write_all(b"new").unwrap();
        staged.commit().unwrap();
        assert_eq!(fs::read(root.path().join("real")).unwrap(), b"new");
        assert!(root.path().join("link").symlink_metadata().unwrap().is_symlink());

        let (staged, _) = StagedFile::create(Path::new("/dev/null")).unwrap();
        assert!(staged.partial.is_none());
        assert!(StagedFile::create(root.path()).unwrap_err().to_string().contains("directory"));
    }
}
