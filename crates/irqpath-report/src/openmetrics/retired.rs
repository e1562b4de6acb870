// SPDX-License-Identifier: GPL-2.0-or-later
//! What was counted in rows that were given back, so that nothing ever falls.
//!
//! Several rows may be one series: those of two cgroups of one unit, or of names that look alike. If
//! another row of the series is still there, the counts stay in it, as a scraper would take a fall for
//! a restart. Otherwise the series ends, and its counts go on in sums by origin and carrier.

use std::collections::{BTreeMap, HashSet};

use irqpath_model::{Names, Origin, PathKey, PathStats, PathSummary, Via};

use super::families::Labels;
use super::{Units, label_path};

/// Sums by origin and carrier; further ones share the origin's.
const MAX_SUMS: usize = 512;

/// The counts of all rows that were given back.
#[derive(Debug, Clone, Default)]
pub struct Retired {
    /// Of series that go on.
    beside: BTreeMap<Labels, PathStats>,
    /// Of series that ended.
    ended: BTreeMap<(Origin, Via), PathStats>,
    nr_rows: u64,
}

impl Retired {
    /// Takes over rows that were given back; `live` are those that are left.
    pub fn add_rows(
        &mut self,
        rows: Vec<PathStats>,
        live: &[PathSummary],
        (names, units): (&Names, &Units),
    ) {
        let live: HashSet<Labels> =
            live.iter().filter_map(|path| label_path(path, units)).collect();
        for row in rows {
            self.nr_rows += 1;
            let labels = label_path(&PathSummary::new(row.clone(), names), units);
            match labels {
                Some(labels) if live.contains(&labels) => merge_into(&mut self.beside, labels, row),
                Some(labels) => {
                    let earlier = self.beside.remove(&labels);
                    earlier.into_iter().chain([row]).for_each(|row| self.end(row));
                }
                None => self.end(row),
            }
        }
    }

    fn end(&mut self, mut row: PathStats) {
        let mut sum = (row.key.origin, row.key.via);
        if self.ended.len() >= MAX_SUMS && !self.ended.contains_key(&sum) {
            sum.1 = Via::empty();
        }
        row.key = PathKey { via: sum.1, ..PathKey::others_of(sum.0) };
        merge_into(&mut self.ended, sum, row);
    }

    /// Counts that belong to series of paths which are still there.
    pub fn beside(&self, names: &Names) -> Vec<PathSummary> {
        self.beside.values().map(|row| PathSummary::new(row.clone(), names)).collect()
    }

    /// Sums of the series that ended.
    pub fn ended(&self, names: &Names) -> Vec<PathSummary> {
        self.ended.values().map(|row| PathSummary::new(row.clone(), names)).collect()
    }

    /// Rows that were given back.
    pub fn nr_rows(&self) -> u64 {
        self.nr_rows
    }
}

fn merge_into<K: Ord>(sums: &mut BTreeMap<K, PathStats>, key: K, row: PathStats) {
    match sums.get_mut(&key) {
        Some(sum) => sum.merge_with(&row),
        None => drop(sums.insert(key, row)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Comm, Owner, Unit};

    fn row(comm: &str, cgroup: Option<u64>, nr: u64) -> PathStats {
        let key = PathKey {
            comm: Comm::from(comm),
            cgroup,
            folded: false,
            via: Via::WORK,
            ..PathKey::others_of(Origin::Irq(36))
        };
        let mut stats = PathStats::new(key);
        (0..nr).for_each(|_| stats.total.record_ns(1_000));
        stats
    }

    fn counts(paths: &[PathSummary]) -> Vec<u64> {
        paths.iter().map(|path| path.histogram.len()).collect()
    }

    #[test]
    fn a_series_that_ends_goes_on_in_the_sum_of_its_origin() {
        let (mut retired, names, units) = (Retired::default(), Names::default(), Units::default());
        let live = [PathSummary::new(row("stays", None, 1), &names)];
        for nr in [3, 4] {
            retired.add_rows(vec![row("goes", None, nr)], &live, (&names, &units));
        }
        assert_eq!(counts(&retired.ended(&names)), [7]);
        assert_eq!((counts(&retired.beside(&names)), retired.nr_rows()), (vec![], 2));
    }

    #[test]
    fn a_series_of_two_cgroups_does_not_fall_until_both_are_gone() {
        let (mut retired, names) = (Retired::default(), Names::default());
        let unit = Owner::Unit(Unit::from_path("/system.slice/a.service"));
        let units = Units::from([(1, unit.clone()), (2, unit)]);
        let live = [PathSummary::new(row("", Some(2), 1), &names)];
        retired.add_rows(vec![row("", Some(1), 5)], &live, (&names, &units));
        assert_eq!(counts(&retired.beside(&names)), [5]);
        assert!(retired.ended(&names).is_empty());
        retired.add_rows(vec![row("", Some(2), 2)], &[], (&names, &units));
        assert_eq!(counts(&retired.ended(&names)), [7]);
        assert!(retired.beside(&names).is_empty());
    }

    #[test]
    fn sums_are_bounded() {
        let (mut retired, names, units) = (Retired::default(), Names::default(), Units::default());
        for nr in 0..2 * MAX_SUMS as u32 {
            let mut one = row("x", None, 1);
            one.key.via = Via::from_bits_retain(nr + 1);
            retired.add_rows(vec![one], &[], (&names, &units));
        }
        let ended = retired.ended(&names);
        assert_eq!(ended.len(), MAX_SUMS + 1);
        assert_eq!(counts(&ended).iter().sum::<u64>(), 2 * MAX_SUMS as u64);
    }
}
