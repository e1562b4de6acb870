// SPDX-License-Identifier: GPL-2.0-or-later
//! Who the cgroups belong to that are targets. A name stays known when its cgroup has gone.
//!
//! Ten thousand cgroups take longer to go through than events may wait, so it is done in parts
//! between them. The rule to know: an answer stands as long as the cgroup has a row. A series whose
//! labels changed would fall, and a scraper takes that for a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use irqpath_model::{Owner, PathSummary, Unit};
use irqpath_system::{CgroupWalk, Host};

/// How often a walk through the cgroups is begun at most.
const WALK_EVERY: Duration = Duration::from_secs(5);
/// A walk may take this long before a scrape is answered. Some hundred cgroups take less ...
const BEFORE_AN_ANSWER: Duration = Duration::from_millis(50);
/// ... and this long at each further look, ten times a second.
const AT_A_LOOK: Duration = Duration::from_millis(10);
/// Directories between two looks at the clock.
const NR_AT_ONCE: usize = 64;
/// Walks that could not see everything, until a cgroup that none of them found is given up.
const MAX_WALKS: u8 = 3;

/// Units of the cgroups that have rows now: there are no more than rows in the tables of the kernel.
#[derive(Debug)]
pub struct Units {
    host: Host,
    known: BTreeMap<u64, Owner>,
    /// The others, and how many walks missed them.
    unknown: BTreeMap<u64, u8>,
    walk: Option<CgroupWalk>,
    last_walk: Option<Instant>,
    walk_every: Duration,
}

impl Units {
    /// None is known yet.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            known: BTreeMap::new(),
            unknown: BTreeMap::new(),
            walk: None,
            last_walk: None,
            walk_every: WALK_EVERY,
        }
    }

    /// All that is known.
    pub fn known(&self) -> &BTreeMap<u64, Owner> {
        &self.known
    }

    /// Takes over the cgroups of these paths, forgets those that have no path any more, and returns
    /// all that is known. Of the others, the names come later.
    pub fn find_units(&mut self, paths: &[PathSummary]) -> &BTreeMap<u64, Owner> {
        let all: BTreeSet<u64> = paths.iter().filter_map(|path| path.key.cgroup).collect();
        self.known.retain(|id, _| all.contains(id));
        self.unknown.retain(|id, _| all.contains(id));
        let new = all.into_iter().filter(|id| !self.known.contains_key(id));
        for id in new {
            self.unknown.entry(id).or_insert(0);
        }
        self.walk_within(BEFORE_AN_ANSWER);
        &self.known
    }

    /// Goes on with the search for names, for a moment.
    pub fn go_on(&mut self) {
        self.walk_within(AT_A_LOOK);
    }

    fn walk_within(&mut self, time: Duration) {
        let begin = Instant::now();
        while let Some(mut walk) = self.walk.take().or_else(|| self.begin_walk()) {
            for (id, path) in walk.go_on(NR_AT_ONCE) {
                self.learn(id, Owner::Unit(Unit::from_path(&path)));
            }
            if walk.is_over() {
                self.judge_missing(&walk);
            } else {
                self.walk = Some(walk);
            }
            if begin.elapsed() >= time {
                break;
            }
        }
    }

    fn begin_walk(&mut self) -> Option<CgroupWalk> {
        let is_due = self.last_walk.is_none_or(|begin| begin.elapsed() >= self.walk_every);
        if self.unknown.is_empty() || !is_due {
            return None;
        }
        self.last_walk = Some(Instant::now());
        Some(self.host.seek_cgroups(self.unknown.keys().copied().collect()))
    }

    /// Nothing for one whose row was given back during the walk.
    fn learn(&mut self, id: u64, owner: Owner) {
        if self.unknown.remove(&id).is_some() {
            self.known.insert(id, owner);
        }
    }

    fn judge_missing(&mut self, walk: &CgroupWalk) {
        for id in walk.missing() {
            let Some(nr_walks) = self.unknown.get_mut(id) else { continue };
            *nr_walks += 1;
            let is_last = *nr_walks >= MAX_WALKS;
            if walk.has_seen_all() {
                self.learn(*id, Owner::Gone);
            } else if is_last {
                self.learn(*id, Owner::Unseen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

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

    fn service(root: &tempfile::TempDir, nr: usize) -> PathBuf {
        root.path().join(format!("sys/fs/cgroup/system.slice/s{nr}.service"))
    }

    /// Walks begin at once, and end.
    fn units(root: &tempfile::TempDir) -> Units {
        Units { walk_every: Duration::ZERO, ..Units::new(Host::new(root.path())) }
    }

    fn look(units: &mut Units, paths: &[PathSummary]) -> BTreeMap<u64, Owner> {
        units.find_units(paths);
        while units.walk.is_some() {
            units.go_on();
        }
        units.known().clone()
    }

    fn name(owner: &Owner) -> &str {
        match owner {
            Owner::Unit(unit) => &unit.name,
            Owner::Gone => "(gone)",
            Owner::Unseen => "(unseen)",
        }
    }

    #[test]
    fn among_ten_thousand_cgroups_each_has_its_name_and_is_forgotten_with_its_path() {
        let (root, numbers) = host(10_000);
        let mut units = units(&root);
        let paths: Vec<PathSummary> = numbers.iter().step_by(50).map(|id| path(*id)).collect();
        let known = look(&mut units, &paths);
        assert_eq!(known.len(), 200);
        assert_eq!(name(&known[&numbers[50]]), "s50.service");
        assert!(known.values().all(|owner| matches!(owner, Owner::Unit(_))), "all were found");
        assert_eq!(units.find_units(&paths[..3]).len(), 3, "no more than there are rows");
    }

    #[test]
    fn a_look_ends_in_time_and_the_next_one_goes_on() {
        let (root, numbers) = host(1_000);
        let mut units = units(&root);
        units.unknown.insert(*numbers.last().unwrap(), 0);
        let mut nr_looks = 0;
        while units.known.is_empty() {
            units.walk_within(Duration::ZERO);
            nr_looks += 1;
            assert!(nr_looks <= 1_000 / NR_AT_ONCE + 1, "{units:?}");
        }
        assert!(nr_looks > 1, "there is more than one look can do");
        assert!(units.walk.is_none() && units.unknown.is_empty(), "it ends where all were found");
    }

    #[test]
    fn a_cgroup_that_vanished_before_it_was_looked_for_is_nobodys() {
        let (root, numbers) = host(2);
        fs::remove_dir(service(&root, 1)).unwrap();
        let mut units = units(&root);
        let known = look(&mut units, &[path(numbers[0]), path(numbers[1])]);
        assert_eq!(name(&known[&numbers[0]]), "s0.service");
        assert_eq!(known[&numbers[1]], Owner::Gone);
        // One that vanishes later keeps its name.
        fs::remove_dir(service(&root, 0)).unwrap();
        let known = look(&mut units, &[path(numbers[0])]);
        assert_eq!(name(&known[&numbers[0]]), "s0.service");
    }

    #[test]
    fn a_cgroup_that_could_not_be_seen_is_looked_for_again_and_then_given_up() {
        let (root, numbers) = host(2);
        // As in a namespace: some of the hierarchy is hidden.
        fs::write(root.path().join("sys/fs/cgroup/cgroup.type"), "domain\n").unwrap();
        let hidden = root.path().join("hidden");
        fs::rename(service(&root, 0), &hidden).unwrap();
        let paths = [path(numbers[0]), path(numbers[1]), path(1)];
        let mut units = Units::new(Host::new(root.path()));
        let known = look(&mut units, &paths);
        assert_eq!((known.len(), name(&known[&numbers[1]])), (1, "s1.service"), "not yet known");
        fs::rename(&hidden, service(&root, 0)).unwrap();
        assert_eq!(look(&mut units, &paths).len(), 1, "walks are not begun that often");
        units.walk_every = Duration::ZERO;
        units.walk_within(Duration::ZERO);
        assert_eq!(name(&units.known()[&numbers[0]]), "s0.service");
        assert!(!units.known().contains_key(&1), "{units:?}");
        let known = look(&mut units, &paths);
        assert_eq!(known[&1], Owner::Unseen);
        assert!(units.unknown.is_empty(), "nothing is looked for any more: {units:?}");
    }
}
