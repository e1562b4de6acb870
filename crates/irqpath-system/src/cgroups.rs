// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of cgroups: of a thread, and by their number, which is that of their directory's inode.
//!
//! A walk goes on where it was stopped, because whoever asks has other things to do meanwhile. The
//! rule to know: what a walk did not find is gone only if it has seen everything.

use std::collections::{BTreeSet, VecDeque};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::io::Errno;

use crate::Host;

/// Directories that are looked at, those near the root first: who may make cgroups of his own makes
/// them far below, and hides nobody else's. A host has some hundred to ten thousand.
const MAX_LOOKED_AT: usize = 50_000;

/// A walk through the cgroups of version 2 in search of some.
#[derive(Debug)]
pub struct CgroupWalk {
    sought: BTreeSet<u64>,
    mounts: Vec<PathBuf>,
    /// Directories that are still to be looked at, each with the number of its mount.
    waiting: VecDeque<(usize, PathBuf)>,
    /// How many more may be looked at; those that wait count already.
    left: usize,
    has_seen_all: bool,
}

impl Host {
    /// The cgroup of a thread, from the root of the hierarchy: of version 2, or where systemd keeps
    /// its units beside version 1.
    pub(crate) fn cgroup_of(&self, tid: u32) -> Option<String> {
        let text = self.read_fact(&format!("proc/{tid}/cgroup"))?;
        let of = |line: &str| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            ["", "name=systemd"].contains(&controllers).then(|| path.to_owned())
        };
        text.lines().find_map(of)
    }

    /// Begins to look for these cgroups.
    pub fn seek_cgroups(&self, sought: BTreeSet<u64>) -> CgroupWalk {
        self.seek_within(sought, MAX_LOOKED_AT)
    }

    fn seek_within(&self, sought: BTreeSet<u64>, max: usize) -> CgroupWalk {
        let mut mounts: Vec<PathBuf> =
            self.cgroup_mounts().iter().map(|mount| self.path(mount)).collect();
        // Only the first of all cgroups lacks this file. A namespace hides what is above its own.
        let root = mounts.iter().find(|mount| !mount.join("cgroup.type").exists()).cloned();
        let has_seen_all = root.is_some();
        if let Some(root) = root {
            mounts = vec![root];
        }
        CgroupWalk {
            has_seen_all,
            waiting: mounts.iter().cloned().enumerate().collect(),
            left: max.saturating_sub(mounts.len()),
            sought,
            mounts,
        }
    }
}

impl CgroupWalk {
    /// Looks at so many directories more at most. Returns the cgroups that were found in them, with
    /// their paths from the root of the hierarchy on.
    pub fn go_on(&mut self, nr: usize) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        for _ in 0..nr {
            if self.is_over() {
                break;
            }
            let Some((mount, directory)) = self.waiting.pop_front() else { break };
            found.extend(self.look_at(mount, &directory));
        }
        found
    }

    /// True if all were found, or nothing is left to look at.
    pub fn is_over(&self) -> bool {
        self.sought.is_empty() || self.waiting.is_empty()
    }

    /// The cgroups that were not found yet.
    pub fn missing(&self) -> &BTreeSet<u64> {
        &self.sought
    }

    /// False if something could not be looked at: what was not found by the end may be there.
    pub fn has_seen_all(&self) -> bool {
        self.has_seen_all
    }

    fn look_at(&mut self, mount: usize, directory: &Path) -> Option<(u64, String)> {
        let facts = match fs::symlink_metadata(directory) {
            Ok(facts) => facts,
            Err(error) => {
                self.note_failure(&error);
                return None;
            }
        };
        // Two links are its own: nothing is below it. Reading its files takes most of the time.
        if facts.nlink() != 2
            && let Err(error) = self.add_subdirectories(mount, directory)
        {
            self.note_failure(&error);
        }
        let is_sought = self.sought.remove(&facts.ino());
        is_sought.then(|| (facts.ino(), path_below(&self.mounts[mount], directory)))
    }

    fn add_subdirectories(&mut self, mount: usize, directory: &Path) -> io::Result<()> {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            if self.left == 0 {
                self.has_seen_all = false;
                break;
            }
            self.left -= 1;
            self.waiting.push_back((mount, entry.path()));
        }
        Ok(())
    }

    /// One that was removed meanwhile is gone, and all below it.
    fn note_failure(&mut self, error: &io::Error) {
        let number = Errno::from_io_error(error);
        self.has_seen_all &= number.is_some_and(|n| [Errno::NOENT, Errno::NODEV].contains(&n));
    }
}

fn path_below(root: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    format!("/{}", below.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    const ROOT: &str = "sys/fs/cgroup";

    fn fake() -> Fake {
        Fake::new()
            .with_file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
            .with_file("sys/fs/cgroup/system.slice/ssh.service/cgroup.procs", "1\n")
            .with_file("sys/fs/cgroup/user.slice/cgroup.procs", "")
    }

    fn number(host: &Host, path: &str) -> u64 {
        fs::metadata(host.path(path)).unwrap().ino()
    }

    /// A walk to its end, and what it found.
    fn walk_to_the_end(mut walk: CgroupWalk) -> (CgroupWalk, Vec<(u64, String)>) {
        let found = walk.go_on(usize::MAX);
        assert!(walk.is_over());
        (walk, found)
    }

    #[test]
    fn paths_are_found_by_the_number_of_their_directory() {
        let fake = fake();
        let host = fake.host();
        let ssh = number(&host, "sys/fs/cgroup/system.slice/ssh.service");
        let root = number(&host, ROOT);
        let (walk, found) = walk_to_the_end(host.seek_cgroups([ssh, root, 1].into()));
        let want = [(root, "/".to_owned()), (ssh, "/system.slice/ssh.service".to_owned())];
        assert_eq!(found, want);
        assert_eq!((walk.missing(), walk.has_seen_all()), (&[1].into(), true));
    }

    #[test]
    fn a_walk_goes_on_where_it_was_stopped() {
        let fake = fake();
        let host = fake.host();
        let ssh = number(&host, "sys/fs/cgroup/system.slice/ssh.service");
        let mut walk = host.seek_cgroups([ssh].into());
        for _ in 0..3 {
            assert_eq!(walk.go_on(1), []);
            assert!(!walk.is_over());
        }
        assert_eq!(walk.go_on(1).len(), 1);
        assert!(walk.is_over() && walk.missing().is_empty());
        assert_eq!(walk.go_on(1), []);
    }

    #[test]
    fn what_was_not_found_is_gone_only_if_everything_was_seen() {
        let fake = fake();
        let host = fake.host();
        let (walk, _) = walk_to_the_end(host.seek_within([1].into(), 4));
        assert!(walk.has_seen_all());
        let (walk, _) = walk_to_the_end(host.seek_within([1].into(), 3));
        assert!(!walk.has_seen_all(), "it ended before the last of four directories");
        let mut walk = host.seek_cgroups([1].into());
        walk.go_on(1);
        fs::remove_dir_all(host.path("sys/fs/cgroup/user.slice")).unwrap();
        let (mut walk, _) = walk_to_the_end(walk);
        assert!(walk.has_seen_all(), "one that was removed meanwhile is gone");
        walk.note_failure(&Errno::NAMETOOLONG.into());
        assert!(!walk.has_seen_all());
    }

    #[test]
    fn a_namespace_shows_a_part() {
        let host = fake().with_file("sys/fs/cgroup/cgroup.type", "domain\n");
        let (walk, _) = walk_to_the_end(host.host().seek_cgroups([1].into()));
        assert!(!walk.has_seen_all());
        let (walk, _) = walk_to_the_end(Fake::new().host().seek_cgroups([1].into()));
        assert!(!walk.has_seen_all(), "nothing is mounted");
    }
}
