// SPDX-License-Identifier: GPL-2.0-or-later
//! Runs a campaign to its end: looks at what there is, has an engine run what is wanted, and looks
//! again.
//!
//! All knowledge is in the results. A campaign that was killed, or that is started again with other
//! units, goes on with those that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::engine::{Engine, Ran};
use super::error::CampaignError;
use super::place::{Placed, Site, Sites, place_wanted};
use super::settle::{Seen, Standing, settle};
use super::store::{Store, StoredRun};
use super::unit::{Batch, Unit};
use crate::experiment::Replaced;
use crate::{Progress, Unit as Amount};

/// Starts of a unit, beyond those that failed, after which nothing more is learned from it.
const MAX_STARTS: u32 = 12;
/// Most units of a batch: each of its tasks reads all of it, a kilobyte for each unit.
const MAX_BATCH: usize = 1000;
/// Between two looks at how many results there are: a second, and a millisecond for each task, since
/// each is a question to what may be a shared file system.
const GLANCE: Duration = Duration::from_secs(1);
const GLANCE_AT_TASK: Duration = Duration::from_millis(1);

pub struct Campaign<'a> {
    pub store: &'a Store,
    pub units: &'a [Unit],
    pub replaced: &'a Replaced,
    /// Share of the units that two workers run.
    pub verify_percent: u8,
    /// How often a unit may fail.
    pub attempts: u32,
    pub progress: &'a Progress,
    /// Decides where the engine has no other worker.
    pub arbiter: Option<&'a dyn Engine>,
}

/// How a campaign ended.
#[derive(Debug, Default)]
pub struct Report {
    /// For each unit the result that counts.
    pub settled: BTreeMap<usize, StoredRun>,
    /// Units of which two workers have the same bytes.
    pub verified: BTreeSet<usize>,
    /// Units that another worker should have run, and there is none.
    pub unverifiable: BTreeSet<usize>,
    /// Workers that were taken out, with the units that show it.
    pub wrong: BTreeMap<String, BTreeSet<usize>>,
    /// Units on which workers differ, each in agreement with itself.
    pub undecided: BTreeSet<usize>,
    /// Units without a result that counts, and why.
    pub open: BTreeMap<usize, String>,
    /// Results there were before.
    pub nr_earlier: usize,
    /// Tasks that were given to an engine.
    pub nr_started: usize,
    /// Of those, the ones without a result.
    pub nr_failed: usize,
    /// Results that were none.
    pub nr_damaged: usize,
    /// Directories that killed workers had left.
    pub nr_leftovers: usize,
    /// True if the engine did not wait.
    pub is_submitted: bool,
}

/// What happened to each unit since this start.
#[derive(Default)]
struct Tries {
    started: BTreeMap<usize, u32>,
    failed: BTreeMap<usize, (u32, String)>,
}

impl Tries {
    fn add_failure(&mut self, unit: usize, why: String) {
        let failed = self.failed.entry(unit).or_default();
        *failed = (failed.0 + 1, why);
    }

    /// Whether a unit may be started once more.
    fn may_start(&self, unit: usize, attempts: u32) -> bool {
        let failed = self.failed.get(&unit).map_or(0, |(nr, _)| *nr);
        let started = self.started.get(&unit).copied().unwrap_or_default();
        failed < attempts && started < attempts.saturating_add(MAX_STARTS)
    }

    fn explain(&self, unit: usize) -> String {
        match self.failed.get(&unit) {
            Some((nr, why)) => format!("failed {nr} times: {why}"),
            None => "it has not run".to_owned(),
        }
    }
}

impl Campaign<'_> {
    /// Runs until nothing is wanted that can be had.
    pub fn run(&self, engine: &dyn Engine) -> Result<Report, CampaignError> {
        let _lock = self.store.lock()?;
        let mut report = Report::default();
        if engine.finish_earlier(self.store)? {
            report.nr_leftovers = self.store.remove_leftovers(self.units)?;
        }
        let mut tries = Tries::default();
        let mut is_first = true;
        self.progress.begin_step("units", Some(self.units.len() as u64), Amount::Steps);
        loop {
            let (standing, runs) = self.look(&mut report, &mut tries)?;
            if std::mem::take(&mut is_first) {
                report.nr_earlier = runs.len();
            }
            let placed = self.place(engine, &standing, &tries)?;
            let is_done = placed.groups.is_empty() || report.is_submitted;
            if is_done && placed.is_stuck {
                let wrong: Vec<&str> = standing.wrong.keys().map(String::as_str).collect();
                return Err(CampaignError::NoWorker(wrong.join(", ")));
            }
            if is_done {
                self.progress.clear_line();
                // Of a unit that was killed at its limit, too.
                if !report.is_submitted {
                    report.nr_leftovers += self.store.remove_leftovers(self.units)?;
                }
                return Ok(self.finish(report, standing, placed, &runs, &tries));
            }
            let start = |site| match (site, self.arbiter) {
                (Site::Arbiter, Some(arbiter)) => arbiter,
                _ => engine,
            };
            for site in [Site::Engine, Site::Arbiter] {
                let groups = placed.groups.iter().filter(|((at, _), _)| *at == site);
                let groups: Vec<_> =
                    groups.map(|((_, out), units)| (out, units.as_slice())).collect();
                if !groups.is_empty() {
                    self.start_groups(start(site), &groups, &mut report, &mut tries)?;
                }
            }
        }
    }

    /// Reads and judges all results.
    fn look(
        &self,
        report: &mut Report,
        tries: &mut Tries,
    ) -> Result<(Standing, Vec<StoredRun>), CampaignError> {
        let found = self.store.read_runs(self.units)?;
        for (unit, what) in found.damaged {
            report.nr_damaged += 1;
            let label = self.units[unit].label();
            self.progress.print_note(&format!("{label}: set aside a result: {what}"));
            tries.add_failure(unit, what);
        }
        let keys: Vec<String> = self.units.iter().map(|unit| unit.identity.key()).collect();
        let seen: Vec<Seen<'_>> = found.runs.iter().map(StoredRun::as_seen).collect();
        let standing = settle(&keys, &seen, self.verify_percent);
        for (worker, units) in &standing.wrong {
            if !report.wrong.contains_key(worker) {
                let units: Vec<String> = units.iter().map(|u| self.units[*u].label()).collect();
                let units = units.join(", ");
                let text = format!("worker {worker} is taken out: its bytes differ for {units}");
                self.progress.print_note(&text);
            }
        }
        report.wrong.clone_from(&standing.wrong);
        self.progress.set_done(standing.settled.len() as u64);
        Ok((standing, found.runs))
    }

    fn place(
        &self,
        engine: &dyn Engine,
        standing: &Standing,
        tries: &Tries,
    ) -> Result<Placed, CampaignError> {
        let wanted = standing.wanted.iter();
        let wanted = wanted.filter(|wanted| tries.may_start(wanted.unit, self.attempts)).cloned();
        let arbiter = self.arbiter.map_or(Ok(Vec::new()), Engine::list_workers)?;
        let workers = engine.list_workers()?;
        let sites = Sites { engine: &workers, arbiter: &arbiter };
        Ok(place_wanted(wanted, &standing.wrong.keys().cloned().collect(), sites))
    }

    /// Writes batches for groups of units, has them run, and notes which have no result.
    fn start_groups(
        &self,
        engine: &dyn Engine,
        groups: &[(&BTreeSet<String>, &[usize])],
        report: &mut Report,
        tries: &mut Tries,
    ) -> Result<(), CampaignError> {
        let most = engine.max_tasks()?.min(MAX_BATCH);
        let mut batches: Vec<(Batch, Vec<usize>)> = Vec::new();
        let first = self.store.next_number()?;
        for (exclude, units) in groups {
            for units in units.chunks(most) {
                let batch = Batch {
                    number: first + batches.len() as u32,
                    exclude: (*exclude).clone(),
                    replaced: self.replaced.clone(),
                    units: units.iter().map(|unit| self.units[*unit].clone()).collect(),
                };
                self.store.write_batch(&batch)?;
                batches.push((batch, units.to_vec()));
            }
        }
        let (batches, units): (Vec<Batch>, Vec<Vec<usize>>) = batches.into_iter().unzip();
        report.nr_started += units.iter().map(Vec::len).sum::<usize>();
        if self.run_watched(engine, &batches)? == Ran::Submitted {
            report.is_submitted = true;
            return Ok(());
        }
        for (batch, units) in batches.iter().zip(&units) {
            for (task, unit) in units.iter().enumerate() {
                *tries.started.entry(*unit).or_default() += 1;
                if !self.store.run_path(&batch.units[task], batch.number, task).exists() {
                    report.nr_failed += 1;
                    self.note_failure(batch, task, *unit, tries);
                }
            }
        }
        Ok(())
    }

    fn note_failure(&self, batch: &Batch, task: usize, unit: usize, tries: &mut Tries) {
        let said = self.store.read_last_word(batch.number, task);
        let why = if said.is_empty() { "it was killed and said nothing".to_owned() } else { said };
        let label = batch.units[task].label();
        self.progress.print_note(&format!("{label}: no result: {why}"));
        tries.add_failure(unit, why);
    }

    /// Shows how many results there are while an engine runs.
    fn run_watched(&self, engine: &dyn Engine, batches: &[Batch]) -> Result<Ran, CampaignError> {
        let is_there = |batch: &Batch, task: usize| {
            self.store.run_path(&batch.units[task], batch.number, task).exists()
        };
        let count = || {
            let in_batch = |batch: &Batch| {
                (0..batch.units.len()).filter(|task| is_there(batch, *task)).count() as u64
            };
            batches.iter().map(in_batch).sum::<u64>()
        };
        let nr_tasks: usize = batches.iter().map(|batch| batch.units.len()).sum();
        self.progress.begin_step("units", Some(nr_tasks as u64), Amount::Steps);
        let period = GLANCE + GLANCE_AT_TASK * u32::try_from(nr_tasks).unwrap_or(u32::MAX);
        let (done, ended) = mpsc::channel();
        thread::scope(|scope| {
            let worker = scope.spawn(move || {
                let ran = engine.run(self.store, batches);
                drop(done);
                ran
            });
            while ended.recv_timeout(period) == Err(mpsc::RecvTimeoutError::Timeout) {
                self.progress.set_done(count());
            }
            let _: Result<(), mpsc::RecvError> = ended.recv();
            worker.join().unwrap_or(Ok(Ran::Ended))
        })
    }

    fn finish(
        &self,
        mut report: Report,
        standing: Standing,
        placed: Placed,
        runs: &[StoredRun],
        tries: &Tries,
    ) -> Report {
        for unit in 0..self.units.len() {
            if standing.undecided.contains(&unit) {
                let text = "workers differ, and each repeats its own bytes".to_owned();
                report.open.insert(unit, text);
            } else if !standing.settled.contains_key(&unit) {
                report.open.insert(unit, tries.explain(unit));
            }
        }
        let wanted = standing.wanted.iter().map(|wanted| wanted.unit);
        report.unverifiable = placed.unverifiable;
        report.unverifiable.extend(wanted.filter(|unit| standing.settled.contains_key(unit)));
        let settled = standing.settled.into_iter();
        report.settled = settled.map(|(unit, run)| (unit, runs[run].clone())).collect();
        report.verified = standing.verified;
        report.undecided = standing.undecided;
        report
    }
}
