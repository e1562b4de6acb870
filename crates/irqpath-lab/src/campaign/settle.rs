// SPDX-License-Identifier: GPL-2.0-or-later
//! Which results count, which units must run (again), and which workers are wrong. Pure: no clock,
//! no files, and the same runs always give the same answer, so a campaign that starts again goes on
//! where it was.
//!
//! An exact guest writes the same bytes on every worker. If two workers differ, one of them is
//! wrong, and the bytes that most workers have decide which. A worker that differs from itself is
//! wrong too. No result of a wrong worker counts, also where nobody compared it.

use std::collections::{BTreeMap, BTreeSet};

/// Runs of a unit after which a dispute is given up.
const MAX_DISPUTED: usize = 6;

/// A whole result of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen<'a> {
    /// Index of the unit.
    pub unit: usize,
    pub worker: &'a str,
    /// Of all bytes of the result.
    pub digest: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It has no result that counts.
    First,
    /// Another worker shall have the same bytes.
    Verify,
    /// Two workers differ.
    Dispute,
}

/// A unit to run, and where not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub unit: usize,
    pub why: Why,
    /// Workers that ran it, and those that are wrong.
    pub exclude: BTreeSet<String>,
}

/// Where a campaign stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// For each unit with a result that counts, the index of that run.
    pub settled: BTreeMap<usize, usize>,
    /// Units of which two workers have the same bytes.
    pub verified: BTreeSet<usize>,
    pub wanted: Vec<Wanted>,
    /// Workers that are taken out, and the units that showed it.
    pub wrong: BTreeMap<String, BTreeSet<usize>>,
    /// Units on which workers differ, each with itself in agreement.
    pub undecided: BTreeSet<usize>,
}

/// Judges all runs. `keys` are the identities of the units, `verify_percent` is the share of them
/// that two workers shall run.
pub fn settle(keys: &[String], runs: &[Seen<'_>], verify_percent: u8) -> Standing {
    let wrong = find_wrong_workers(runs);
    let mut trusted: Vec<Vec<Counted<'_>>> = vec![Vec::new(); keys.len()];
    for (at, run) in runs.iter().enumerate() {
        if run.unit < keys.len() && !wrong.contains_key(run.worker) {
            trusted[run.unit].push((at, *run));
        }
    }
    let out: BTreeSet<String> = wrong.keys().cloned().collect();
    let mut standing = Standing { wrong, ..Standing::default() };
    let mut chosen = choose_verified(keys, verify_percent);
    for (unit, runs) in trusted.iter().enumerate() {
        standing.settle_unit(unit, runs, &out);
    }
    // Before that, what is chosen may still come to cover a worker.
    let has_run = chosen.iter().all(|unit| standing.settled.contains_key(unit));
    if verify_percent > 0 && has_run {
        chosen.extend(standing.cover_workers(keys, &trusted, &chosen));
    }
    for unit in chosen {
        if standing.settled.contains_key(&unit) && !standing.verified.contains(&unit) {
            let ran = trusted[unit].iter().map(|(_, run)| run.worker.to_owned());
            let exclude = ran.chain(out.iter().cloned()).collect();
            standing.wanted.push(Wanted { unit, why: Why::Verify, exclude });
        }
    }
    standing
}

/// A result of a worker that is not wrong, with its index in all of them.
type Counted<'a> = (usize, Seen<'a>);

impl Standing {
    fn settle_unit(&mut self, unit: usize, runs: &[Counted<'_>], out: &BTreeSet<String>) {
        let workers: BTreeSet<&str> = runs.iter().map(|(_, run)| run.worker).collect();
        let digests: BTreeSet<&str> = runs.iter().map(|(_, run)| run.digest).collect();
        let want = |why| {
            let ran = workers.iter().map(|worker| (*worker).to_owned());
            Wanted { unit, why, exclude: ran.chain(out.iter().cloned()).collect() }
        };
        match digests.len() {
            0 => self.wanted.push(want(Why::First)),
            1 => {
                self.settled.insert(unit, runs[0].0);
                if workers.len() > 1 {
                    self.verified.insert(unit);
                }
            }
            _ if runs.len() >= MAX_DISPUTED => drop(self.undecided.insert(unit)),
            _ => self.wanted.push(want(Why::Dispute)),
        }
    }

    /// For every worker of which nothing was or will be compared, one of its units.
    fn cover_workers(
        &self,
        keys: &[String],
        runs: &[Vec<Counted<'_>>],
        chosen: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let is_compared = |unit: &usize| self.verified.contains(unit) || chosen.contains(unit);
        let mut of_worker: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (_, run) in runs.iter().flatten() {
            of_worker.entry(run.worker).or_default().insert(run.unit);
        }
        let uncovered = of_worker.into_values().filter(|units| !units.iter().any(is_compared));
        uncovered.filter_map(|units| units.into_iter().min_by_key(|unit| &keys[*unit])).collect()
    }
}

/// The units that two workers shall run: those of the lowest identities, which are as good as random
/// and the same every time. One at least, unless the share is 0.
fn choose_verified(keys: &[String], percent: u8) -> BTreeSet<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|unit| &keys[*unit]);
    order.truncate((keys.len() * usize::from(percent.min(100))).div_ceil(100));
    order.into_iter().collect()
}

/// Workers that are wrong, each with the units that show it. What a wrong worker says of other
/// units does not count, which may decide those.
fn find_wrong_workers(runs: &[Seen<'_>]) -> BTreeMap<String, BTreeSet<usize>> {
    let mut wrong: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    loop {
        let mut of_unit: BTreeMap<usize, Vec<Seen<'_>>> = BTreeMap::new();
        for run in runs.iter().filter(|run| !wrong.contains_key(run.worker)) {
            of_unit.entry(run.unit).or_default().push(*run);
        }
        let mut found = Vec::new();
        for (unit, runs) in &of_unit {
            found.extend(find_wrong_of(runs).into_iter().map(|worker| (worker, *unit)));
        }
        if found.is_empty() {
            return wrong;
        }
        for (worker, unit) in found {
            wrong.entry(worker.to_owned()).or_default().insert(unit);
        }
    }
}

/// Who is wrong on one unit.
fn find_wrong_of<'a>(runs: &[Seen<'a>]) -> BTreeSet<&'a str> {
    let mut said: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for run in runs {
        said.entry(run.worker).or_default().insert(run.digest);
    }
    let mut wrong: BTreeSet<&str> =
        said.iter().filter(|(_, digests)| digests.len() > 1).map(|(worker, _)| *worker).collect();
    let steady = || said.iter().filter(|(_, digests)| digests.len() == 1);
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for digest in steady().flat_map(|(_, digests)| digests) {
        *votes.entry(digest).or_default() += 1;
    }
    let most = votes.values().max().copied().unwrap_or_default();
    let mut leaders = votes.iter().filter(|(_, nr)| **nr == most);
    if let (Some((right, _)), None, 2..) = (leaders.next(), leaders.next(), most) {
        let differ = steady().filter(|(_, digests)| !digests.contains(right));
        wrong.extend(differ.map(|(worker, _)| *worker));
    }
    wrong
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
