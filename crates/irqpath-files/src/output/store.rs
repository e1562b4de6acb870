// SPDX-License-Identifier: GPL-2.0-or-later
//! A directory of numbered results (`0001-label`) within a budget of disk: the oldest go once a new
//! one is there. One that fails costs none of them, so the new one is beyond the budget meanwhile.
//!
//! Rule: what is removed was made by this process, or has the name and the `meta.json` of such a
//! result and belongs to this user; and its name still leads to the directory that was judged. Its
//! `meta.json` goes last, so that one whose removal was cut short is still known.

use std::collections::VecDeque;
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, fstat, statat, unlinkat};
use rustix::process::geteuid;

use super::directory::Directory;
use super::partial::{is_same, list_names, open_directory};
use super::result::{META, disk_usage, read_meta};
use super::{OutputError, StagedDir};
use crate::owner;

/// Names that a directory may have; it is looked through once.
const MAX_NAMES: usize = 100_000;
/// Results that are kept at most, whatever their sizes.
const MAX_KEPT: usize = 9_999;

/// The directory, and what is in it.
#[derive(Debug)]
pub struct Store {
    directory: Directory,
    budget: u64,
    /// Oldest first.
    kept: VecDeque<Kept>,
    next: u32,
    nr_dropped: u64,
}

#[derive(Debug)]
struct Kept {
    nr: u32,
    name: String,
    nr_bytes: u64,
    /// Device and inode.
    id: (u64, u64),
}

impl Store {
    /// Open one, or make it. Results that are there count as far as `is_ours` knows their
    /// `meta.json`.
    ///
    /// # Errors
    /// [`OutputError`], also if others can write to the directory.
    pub fn open(path: &Path, budget: u64, is_ours: fn(&[u8]) -> bool) -> Result<Self, OutputError> {
        let directory = Directory::open(path, true)?;
        let io = |error: io::Error| OutputError::io_error(path)(error);
        let stat = fstat(&directory.fd).map_err(OutputError::io_error(path))?;
        if owner::is_writable_by_others(&stat) {
            return Err(OutputError::Shared(path.to_owned()));
        }
        let open = open_directory(&directory.fd, ".").map_err(OutputError::io_error(path))?;
        let names = list_names(&open).map_err(io)?;
        if names.len() > MAX_NAMES {
            return Err(OutputError::Crowded(path.to_owned()));
        }
        let mut store = Self { directory, budget, kept: VecDeque::new(), next: 1, nr_dropped: 0 };
        for name in names {
            let Some((nr, name)) = parse_name(&name) else { continue };
            store.next = store.next.max(nr.saturating_add(1));
            store.kept.extend(store.judge_entry(nr, name, is_ours));
        }
        store.kept.make_contiguous().sort_by_key(|kept| kept.nr);
        Ok(store)
    }

    /// What is there, if it is such a result of this user.
    fn judge_entry(&self, nr: u32, name: &str, is_ours: fn(&[u8]) -> bool) -> Option<Kept> {
        let open = open_directory(&self.directory.fd, name).ok()?;
        let stat = fstat(&open).ok()?;
        let ours = stat.st_uid == geteuid().as_raw()
            && read_meta(&open).is_ok_and(|bytes| is_ours(&bytes));
        let nr_bytes = disk_usage(&open).ok()?;
        let id = (stat.st_dev, stat.st_ino);
        ours.then(|| Kept { nr, name: name.to_owned(), nr_bytes, id })
    }

    /// Bytes that the results take.
    pub fn nr_bytes(&self) -> u64 {
        self.kept.iter().map(|kept| kept.nr_bytes).sum()
    }

    /// How many results there are.
    pub fn nr_kept(&self) -> usize {
        self.kept.len()
    }

    /// The number of the oldest one.
    pub fn oldest(&self) -> Option<u32> {
        self.kept.front().map(|kept| kept.nr)
    }

    /// How many have gone for the sake of others.
    pub fn nr_dropped(&self) -> u64 {
        self.nr_dropped
    }

    /// What the results may take together.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Begin the next result. A label has letters and dashes only.
    ///
    /// # Errors
    /// [`OutputError`].
    pub fn begin_result(&mut self, label: &str) -> Result<(u32, StagedDir), OutputError> {
        let nr = self.next;
        let staged = StagedDir::create_below(&self.directory, &format!("{nr:04}-{label}"))?;
        self.next = nr.saturating_add(1);
        Ok((nr, staged))
    }

    /// Drop the oldest until the others are within the budget. The newest stays.
    ///
    /// # Errors
    /// [`OutputError::Full`] if one cannot be removed, which counts as there no longer.
    pub fn drop_excess(&mut self) -> Result<(), OutputError> {
        let mut dropped = Ok(());
        while self.kept.len() > MAX_KEPT || self.nr_bytes() > self.budget {
            if self.kept.len() <= 1 {
                break;
            }
            let Some(oldest) = self.kept.pop_front() else { break };
            self.nr_dropped += 1;
            dropped = dropped.and(self.remove_result(&oldest));
        }
        dropped
    }

    /// Give a result its name. [`Store::drop_excess`] then drops others for it.
    ///
    /// # Errors
    /// [`OutputError`]; nothing is left of it then.
    pub fn commit_result(&mut self, nr: u32, staged: StagedDir) -> Result<PathBuf, OutputError> {
        let path = staged.commit()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let open = open_directory(&self.directory.fd, name.as_str());
        let open = open.map_err(OutputError::io_error(&path))?;
        let stat = fstat(&open).map_err(OutputError::io_error(&path))?;
        let nr_bytes = disk_usage(&open).map_err(OutputError::io_error(&path))?;
        self.kept.push_back(Kept { nr, name, nr_bytes, id: (stat.st_dev, stat.st_ino) });
        Ok(path)
    }

    fn remove_result(&self, kept: &Kept) -> Result<(), OutputError> {
        let path = self.directory.child_path(kept.name.as_ref())?;
        self.remove_checked(kept).map_err(OutputError::io_error(&path))
    }

    fn remove_checked(&self, kept: &Kept) -> io::Result<()> {
        let name = kept.name.as_str();
        let open = match open_directory(&self.directory.fd, name) {
            // Its user was quicker.
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            open => open?,
        };
        let stat = fstat(&open)?;
        if (stat.st_dev, stat.st_ino) != kept.id {
            return Ok(());
        }
        remove_files(&open)?;
        if is_same(&open, &self.directory.fd, name)? {
            unlinkat(&self.directory.fd, name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }
}

/// A result is flat; what a user has put into it besides stays, and keeps the directory.
fn remove_files(open: &OwnedFd) -> io::Result<()> {
    let meta = |name: &CStr| name.to_bytes() == META.as_bytes();
    let mut names = list_names(open)?;
    names.sort_by_key(|name| meta(name));
    for name in names {
        let stat = statat(open, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            unlinkat(open, &name, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// `0012-label`.
fn parse_name(name: &CStr) -> Option<(u32, &str)> {
    let name = name.to_str().ok()?;
    let (nr, label) = name.split_once('-')?;
    let is_number = nr.len() >= 4 && nr.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    (is_number && is_label && !label.is_empty()).then_some(())?;
    Some((nr.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn is_ours(bytes: &[u8]) -> bool {
        bytes.starts_with(b"ours")
    }

    fn add_result(store: &mut Store, kib: usize) -> PathBuf {
        let (nr, staged) = store.begin_result("signal").unwrap();
        staged.create_file(META).unwrap().write_all(b"ours").unwrap();
        staged.create_file("data").unwrap().write_all(&vec![7; kib << 10]).unwrap();
        let path = store.commit_result(nr, staged).unwrap();
        store.drop_excess().unwrap();
        path
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_go_for_the_newest() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("captures");
        let mut store = Store::open(&place, 300 << 10, is_ours).unwrap();
        for _ in 0..5 {
            add_result(&mut store, 100);
            assert!(store.nr_bytes() <= store.budget());
        }
        assert_eq!(names(&place), ["0004-signal", "0005-signal"]);
        assert_eq!((store.nr_kept(), store.oldest(), store.nr_dropped()), (2, Some(4), 3));
        let (_, failed) = store.begin_result("signal").unwrap();
        failed.create_file("data").unwrap().write_all(&vec![7; 250 << 10]).unwrap();
        drop(failed);
        assert_eq!(names(&place), ["0004-signal", "0005-signal"], "nothing goes for what fails");
        // The next process goes on where this one ended.
        let mut next = Store::open(&place, 300 << 10, is_ours).unwrap();
        assert_eq!(next.nr_kept(), 2);
        assert!(add_result(&mut next, 150).ends_with("0006-signal"));
        assert_eq!(names(&place), ["0005-signal", "0006-signal"]);
    }

    #[test]
    fn what_only_looks_like_a_result_is_never_removed() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("captures");
        for other in ["0001-thesis", "2024-results", "0003-signal", "notes"] {
            fs::create_dir_all(place.join(other)).unwrap();
            fs::write(place.join(other).join("data"), vec![1; 200 << 10]).unwrap();
        }
        fs::write(place.join("0003-signal").join(META), "of another program").unwrap();
        symlink("/", place.join("0004-link")).unwrap();
        let mut store = Store::open(&place, 150 << 10, is_ours).unwrap();
        assert_eq!(store.nr_kept(), 0);
        let first = add_result(&mut store, 100);
        assert!(first.ends_with("2025-signal"), "{}", first.display());
        add_result(&mut store, 100);
        let want =
            ["0001-thesis", "0003-signal", "0004-link", "2024-results", "2026-signal", "notes"];
        assert_eq!(names(&place), want);
    }

    #[test]
    fn what_took_the_place_of_a_result_stays() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("captures");
        let mut store = Store::open(&place, 150 << 10, is_ours).unwrap();
        let first = add_result(&mut store, 100);
        fs::rename(&first, place.join("mine")).unwrap();
        fs::create_dir(&first).unwrap();
        fs::write(first.join("precious"), "x").unwrap();
        add_result(&mut store, 100);
        assert!(first.join("precious").exists() && place.join("mine/data").exists());
    }

    #[test]
    fn a_directory_that_others_write_to_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("captures");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
        let error = Store::open(&place, 1, is_ours).unwrap_err();
        assert!(matches!(error, OutputError::Shared(_)), "{error}");
    }
}
