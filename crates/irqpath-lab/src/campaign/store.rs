// SPDX-License-Identifier: GPL-2.0-or-later
//! A campaign's directory: what workers read and write, and all that is kept between two starts.
//!
//! ```text
//! batches/7.json             units for an engine, written before it starts them
//! units/IDENTITY/7-0/        the result of task 0 of batch 7: unit.json, row.json, and files
//! units/IDENTITY/.*.partial  a result in the making, or what a killed worker left
//! damaged/                   what was found under the name of a result and is none
//! logs/7-0.log               what the task said
//! ```
//!
//! A result appears under its name when it is complete, and a task has one name, so that a task which
//! an engine starts twice counts once.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use irqpath_files::input;
use irqpath_files::output::{Directory, Lock, StagedDir};
use irqpath_files::tree;

use super::error::CampaignError;
use super::settle::Seen;
use super::unit::{Batch, Unit, clean_worker};
use crate::experiment::{MANIFEST, Manifest};
use crate::own;

const UNITS: &str = "units";
const BATCHES: &str = "batches";
const LOGS: &str = "logs";
const DAMAGED: &str = "damaged";
/// What a result in the making ends with; `irqpath_files` gives the name.
const PARTIAL: &str = ".partial";
/// Digits of an identity in a name.
const DIGITS: usize = 16;
/// Of a batch's file, bytes: a unit has one kilobyte.
const MAX_BATCH: u64 = 256 << 20;
/// Of a log, bytes from its end that are looked at.
const TAIL: u64 = 4096;

/// The directory of a campaign. Who else could write there could forge results.
#[derive(Debug, Clone)]
pub struct Store {
    directory: Directory,
}

/// A whole result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// Index of the unit.
    pub unit: usize,
    pub worker: String,
    pub digest: String,
    pub wall_ms: u64,
    pub bytes: u64,
    pub path: PathBuf,
}

impl StoredRun {
    pub fn as_seen(&self) -> Seen<'_> {
        Seen { unit: self.unit, worker: &self.worker, digest: &self.digest }
    }
}

/// What was found and is no result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub runs: Vec<StoredRun>,
    /// What was set aside: the unit, and what is wrong.
    pub damaged: Vec<(usize, String)>,
}

impl Store {
    /// Opens a campaign's directory, and makes it with `make`.
    pub fn open(path: &Path, make: bool) -> Result<Self, CampaignError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let directory = Directory::open(&path, make)?;
        for part in [UNITS, BATCHES, LOGS] {
            directory.create_directory(part)?;
        }
        tree::check_tree(&path, &[BATCHES]).map_err(CampaignError::Unsafe)?;
        Ok(Self { directory })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Keeps other campaigns of this user out of the directory.
    pub fn lock(&self) -> Result<Lock, CampaignError> {
        Ok(self.directory.lock()?)
    }

    /// Every whole result of these units; what is none is set aside.
    pub fn read_runs(&self, units: &[Unit]) -> Result<Found, CampaignError> {
        let mut found = Found::default();
        for (index, unit) in units.iter().enumerate() {
            let key = unit.identity.key();
            let place = self.path().join(UNITS).join(&key[..DIGITS]);
            for name in list_names(&place)? {
                if name.starts_with('.') {
                    continue;
                }
                let path = place.join(&name);
                match Manifest::check(&path, &key) {
                    Ok(manifest) => found.runs.push(StoredRun {
                        unit: index,
                        digest: manifest.digest(),
                        bytes: manifest.sum_bytes(),
                        // It goes into lists of nodes.
                        worker: clean_worker(&manifest.worker),
                        wall_ms: manifest.wall_ms,
                        path,
                    }),
                    Err(damage) => {
                        self.set_aside(&path, &format!("{}-{name}", &key[..DIGITS]))?;
                        found.damaged.push((index, format!("{name}: {damage}")));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Gives what is no result a name that no unit has; nothing is lost.
    fn set_aside(&self, path: &Path, name: &str) -> Result<(), CampaignError> {
        let place = self.directory.create_directory(DAMAGED)?;
        let free = (0..).map(|nr| place.path().join(format!("{name}.{nr}")));
        let target = free.into_iter().find(|target| fs::symlink_metadata(target).is_err());
        let target = target.unwrap_or_default();
        own::rename(path, &target).map_err(CampaignError::at("set aside", path))
    }

    /// Removes what killed workers left of these units, and returns how many. Only for when no
    /// worker runs.
    pub fn remove_leftovers(&self, units: &[Unit]) -> Result<usize, CampaignError> {
        let mut nr = 0;
        for unit in units {
            let place = self.path().join(UNITS).join(&unit.identity.key()[..DIGITS]);
            let names = list_names(&place)?;
            let partial = |name: &&String| name.starts_with('.') && name.ends_with(PARTIAL);
            for name in names.iter().filter(partial) {
                Directory::open(&place, false)?.remove_file(name)?;
                nr += 1;
            }
        }
        Ok(nr)
    }

    /// The number of the next batch.
    pub fn next_number(&self) -> Result<u32, CampaignError> {
        let names = list_names(&self.path().join(BATCHES))?;
        let numbers = names.iter().filter_map(|name| name.strip_suffix(".json")?.parse().ok());
        Ok(numbers.max().map_or(0, |last: u32| last.saturating_add(1)))
    }

    pub fn write_batch(&self, batch: &Batch) -> Result<(), CampaignError> {
        let text = serde_json::to_vec(batch).unwrap_or_default();
        let place = self.directory.create_directory(BATCHES)?;
        Ok(place.write(format!("{}.json", batch.number), |file| file.write_all(&text))?)
    }

    pub fn read_batch(&self, number: u32) -> Result<Batch, CampaignError> {
        let path = self.path().join(BATCHES).join(format!("{number}.json"));
        let text = input::read(&path, MAX_BATCH).map_err(CampaignError::at("read", &path))?;
        serde_json::from_slice(&text).map_err(|source| CampaignError::Batch { path, source })
    }

    /// Where a task of a batch says what happens.
    pub fn log_path(&self, batch: u32, task: usize) -> PathBuf {
        self.path().join(LOGS).join(format!("{batch}-{task}.log"))
    }

    /// The last line that a task said; empty if it said nothing.
    pub fn read_last_word(&self, batch: u32, task: usize) -> String {
        read_tail(&self.log_path(batch, task))
            .map(|text| {
                let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
                last.unwrap_or_default().to_owned()
            })
            .unwrap_or_default()
    }

    /// Where the result of a task is, or will be.
    pub fn run_path(&self, unit: &Unit, batch: u32, task: usize) -> PathBuf {
        let key = unit.identity.key();
        self.path().join(UNITS).join(&key[..DIGITS]).join(format!("{batch}-{task}"))
    }

    /// A result in the making.
    pub fn stage_run(
        &self,
        unit: &Unit,
        batch: u32,
        task: usize,
    ) -> Result<StagedDir, CampaignError> {
        let key = unit.identity.key();
        self.directory.create_directory(UNITS)?.create_directory(&key[..DIGITS])?;
        Ok(StagedDir::create(&self.run_path(unit, batch, task), false, |_| false)?)
    }
}

/// Writes the list of what a result consists of; the result is complete then.
pub fn complete_run(
    staged: &StagedDir,
    unit: &Unit,
    worker: &str,
    wall_ms: u64,
) -> Result<(), CampaignError> {
    let write = || {
        let place = staged.directory().current_path();
        let manifest = Manifest::describe(&place, &unit.identity.key(), worker, wall_ms)?;
        let mut file = staged.create_file(MANIFEST).map_err(io::Error::other)?;
        file.write_all(&manifest.to_json())
    };
    write().map_err(CampaignError::at("write", staged.target()))
}

/// The names in a directory, sorted; none if there is no directory.
fn list_names(directory: &Path) -> Result<Vec<String>, CampaignError> {
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(CampaignError::at("read", directory))?,
    };
    let name = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let mut names: Vec<String> = entries
        .map(name)
        .collect::<Result<_, _>>()
        .map_err(CampaignError::at("read", directory))?;
    // Numbers in their order: the first result of a unit is the first that was made.
    names.sort_by_cached_key(|name| (name.len(), name.clone()));
    Ok(names)
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = input::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
