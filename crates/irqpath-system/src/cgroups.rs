// SPDX-License-Identifier: GPL-2.0-or-later
//! Paths of cgroups by their number, which is that of their directory's inode.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::Host;

/// Directories that are looked at, those near the root first: who may make cgroups of his own makes
/// them far below, and hides nobody else's. A host has some hundred to ten thousand.
const MAX_LOOKED_AT: usize = 50_000;

impl Host {
    /// The paths of these cgroups of version 2, from the root of the hierarchy on. One that is gone, or
    /// that cannot be seen from here, is left out.
    pub fn cgroup_paths(&self, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
        let mut found = BTreeMap::new();
        let mut left = MAX_LOOKED_AT;
        for mount in self.cgroup_mounts() {
            let root = self.path(&mount);
            let mut waiting = VecDeque::from([root.clone()]);
            while let Some(directory) = waiting.pop_front() {
                if found.len() == wanted.len() || left == 0 {
                    return found;
                }
                left -= 1;
                if let Ok(facts) = fs::symlink_metadata(&directory)
                    && wanted.contains(&facts.ino())
                {
                    found.insert(facts.ino(), path_below(&root, &directory));
                }
                waiting.extend(subdirectories(&directory));
            }
        }
        found
    }
}

fn path_below(root: &Path, directory: &Path) -> String {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    format!("/{}", below.to_string_lossy())
}

/// Nothing if it has gone meanwhile.
fn subdirectories(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let directories = entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn paths_are_found_by_the_number_of_their_directory() {
        let fake = Fake::new()
            .with_file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
            .with_file("sys/fs/cgroup/system.slice/ssh.service/cgroup.procs", "1\n")
            .with_file("sys/fs/cgroup/user.slice/cgroup.procs", "");
        let host = fake.host();
        let number = |path: &str| fs::metadata(host.path(path)).unwrap().ino();
        let ssh = number("sys/fs/cgroup/system.slice/ssh.service");
        let root = number("sys/fs/cgroup");
        let found = host.cgroup_paths(&[ssh, root, 1].into());
        let want = [(ssh, "/system.slice/ssh.service".to_owned()), (root, "/".to_owned())];
        assert_eq!(found, want.into());
        assert!(Fake::new().host().cgroup_paths(&[1].into()).is_empty());
    }
}
