// SPDX-License-Identifier: GPL-2.0-or-later
//! Who the cgroups belong to that are targets. A number is looked up once: its name stays known when
//! the cgroup has gone, and one that was gone by then is not looked for again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use irqpath_model::{PathSummary, Unit};
use irqpath_system::Host;

/// How often the cgroups are gone through at most: there may be ten thousand.
const WALK_EVERY: Duration = Duration::from_secs(5);

/// Units of the cgroups that have rows now: there are no more than rows in the tables of the kernel.
#[derive(Debug)]
pub struct Units {
    host: Host,
    known: BTreeMap<u64, Option<Unit>>,
    last_walk: Option<Instant>,
}

impl Units {
    /// None is known yet.
    pub fn new(host: Host) -> Self {
        Self { host, known: BTreeMap::new(), last_walk: None }
    }

    /// All that is known.
    pub fn known(&self) -> &BTreeMap<u64, Option<Unit>> {
        &self.known
    }

    /// Looks up the cgroups of these paths that are new, forgets those that have no path any more, and
    /// returns all that is known.
    pub fn find_units(&mut self, paths: &[PathSummary]) -> &BTreeMap<u64, Option<Unit>> {
        let all: BTreeSet<u64> = paths.iter().filter_map(|path| path.key.cgroup).collect();
        self.known.retain(|id, _| all.contains(id));
        let new: BTreeSet<u64> =
            all.into_iter().filter(|id| !self.known.contains_key(id)).collect();
        let may_walk = self.last_walk.is_none_or(|walk| walk.elapsed() >= WALK_EVERY);
        if !new.is_empty() && may_walk {
            self.last_walk = Some(Instant::now());
            let found = self.host.cgroup_paths(&new);
            let unit = |id| (id, found.get(&id).map(|path| Unit::from_path(path)));
            self.known.extend(new.into_iter().map(unit));
        }
        &self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;

    use irqpath_model::{Names, Origin, PathKey, PathStats};

    fn path(cgroup: u64) -> PathSummary {
        let key = PathKey { cgroup: Some(cgroup), ..PathKey::others_of(Origin::Irq(36)) };
        PathSummary::new(PathStats::new(key), &Names::default())
    }

    /// A host with so many services, and the numbers of their cgroups.
    fn host(nr_services: usize) -> (tempfile::TempDir, Vec<u64>) {
        let root = tempfile::tempdir().unwrap();
        let mounts = root.path().join("proc/self");
        fs::create_dir_all(&mounts).unwrap();
        fs::write(mounts.join("mounts"), "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n").unwrap();
        let slice = root.path().join("sys/fs/cgroup/system.slice");
        let make = |nr| {
            let service = slice.join(format!("s{nr}.service"));
            fs::create_dir_all(&service).unwrap();
            fs::metadata(service).unwrap().ino()
        };
        let numbers = (0..nr_services).map(make).collect();
        (root, numbers)
    }

    #[test]
    fn among_ten_thousand_cgroups_each_has_its_name_and_is_forgotten_with_its_path() {
        let (root, numbers) = host(10_000);
        let mut units = Units::new(Host::new(root.path()));
        let paths: Vec<PathSummary> = numbers.iter().step_by(50).map(|id| path(*id)).collect();
        let known = units.find_units(&paths);
        assert_eq!(known.len(), 200);
        assert_eq!(known[&numbers[50]].as_ref().unwrap().name, "s50.service");
        assert!(known.values().all(Option::is_some), "all of them were found");
        assert_eq!(units.find_units(&paths[..3]).len(), 3, "no more than there are rows");
    }

    #[test]
    fn a_cgroup_that_vanished_before_it_was_looked_for_is_nobodys() {
        let (root, numbers) = host(2);
        fs::remove_dir(root.path().join("sys/fs/cgroup/system.slice/s1.service")).unwrap();
        let mut units = Units::new(Host::new(root.path()));
        let known = units.find_units(&[path(numbers[0]), path(numbers[1])]);
        assert_eq!((known[&numbers[0]].is_some(), &known[&numbers[1]]), (true, &None));
        // One that vanishes later keeps its name.
        fs::remove_dir(root.path().join("sys/fs/cgroup/system.slice/s0.service")).unwrap();
        assert!(units.find_units(&[path(numbers[0])])[&numbers[0]].is_some());
    }
}
