// SPDX-License-Identifier: GPL-2.0-or-later
//! What experiments leave on disk: a result directory for each variant, and the reproduction table.
//!
//! Only this module reads and writes the table. As `reproduction.json` it has a line for each
//! experiment, in the directory of a run as in `docs/`, so that a new result changes its own line.

mod collect;
mod directory;
mod pictures;
mod rows;
mod table;

pub use collect::collect_results;
pub use directory::{store_remains, store_variant, variant_directory};
pub use rows::{copy_unit, read_row, store_rows, store_unit};
pub use table::tabulate_experiment;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use irqpath_files::input;
use irqpath_files::output::{Directory, OutputError};
use irqpath_model::{Made, Reproduced, Reproduction};
use irqpath_report::{html, json, markdown, reproduction};

use super::definition::Definition;
use super::run::{Options, VariantRun};

/// The table's file in a directory of results.
pub const TABLE: &str = "reproduction.json";
/// Of a table, bytes; that of all experiments has 700 kB.
const MAX_TABLE: u64 = 12 << 20;

/// Why results cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("{} is not a table that irqpath lab has written: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file is no table.
    #[error("{} is not a table that irqpath lab has written: {source}", path.display())]
    Syntax { path: PathBuf, source: serde_json::Error },
    /// The directory refused a file.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Reads the table that a run left in a directory, or the one in a file.
pub fn read_table(place: &Path) -> Result<Reproduction, ResultsError> {
    let path = if place.is_file() { place.to_owned() } else { place.join(TABLE) };
    match input::read(&path, MAX_TABLE) {
        Ok(text) => {
            serde_json::from_slice(&text).map_err(|source| ResultsError::Syntax { path, source })
        }
        Err(source) => Err(ResultsError::Read { path, source }),
    }
}

/// The experiments of the table in a directory; none if there is no table.
fn read_earlier(directory: &Path) -> Result<Vec<Reproduced>, ResultsError> {
    if !directory.join(TABLE).exists() {
        return Ok(Vec::new());
    }
    Ok(read_table(directory)?.experiments)
}

/// Writes the table as JSON, without the places of the machine that made it.
pub fn write_table(out: &mut impl Write, table: &Reproduction) -> io::Result<()> {
    let command = markdown::without_places(&table.command);
    let head = Reproduction { command, experiments: Vec::new(), ..table.clone() };
    let mut text = Vec::new();
    json::write_part(&mut text, &head)?;
    let open = text.strip_suffix(b"]}").expect("experiments are the last field");
    out.write_all(open)?;
    writeln!(out)?;
    let mut experiments = table.experiments.iter().peekable();
    while let Some(experiment) = experiments.next() {
        let mut experiment = experiment.clone();
        if let Some(made) = &mut experiment.made {
            made.command = markdown::without_places(&made.command);
        }
        let end = if experiments.peek().is_some() { "," } else { "" };
        json::write_part(&mut *out, &experiment)?;
        writeln!(out, "{end}")?;
    }
    writeln!(out, "]}}")
}

/// Writes the table as HTML with the pictures of the runs, which are those of its first
/// experiments.
pub fn write_page(
    table: &Reproduction,
    runs: &[Vec<VariantRun>],
    directory: &Directory,
    name: &str,
) -> Result<(), OutputError> {
    directory.write(name, |page| {
        let mut drawn = Vec::new();
        for (experiment, runs) in table.experiments.iter().zip(runs) {
            for run in runs.iter().filter(|run| run.draw.number == 0) {
                drawn.extend(pictures::draw_pictures(experiment, run)?);
            }
        }
        html::write_reproduction(page, table, &drawn)
    })
}

/// The results of one run of the lab, stored as each variant ends: whoever stops a run of hours
/// keeps what was done by then.
pub struct Results<'a> {
    definitions: &'a [&'a Definition],
    options: &'a Options,
    made: &'a Made,
    directory: &'a Directory,
    started_at: String,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// By the index of the experiment.
    experiments: BTreeMap<usize, Reproduced>,
    /// Directories that are written, by experiment, variant and draw.
    stored: BTreeSet<(usize, String, u32)>,
    /// What could not be written.
    error: Option<ResultsError>,
}

impl<'a> Results<'a> {
    /// Results of these definitions, to be stored in a directory.
    ///
    /// # Errors
    /// If the directory has a table that cannot be read: that is to be known before hours of work.
    pub fn begin(
        definitions: &'a [&'a Definition],
        options: &'a Options,
        made: &'a Made,
        directory: &'a Directory,
        started_at: String,
    ) -> Result<Self, ResultsError> {
        read_earlier(directory.path())?;
        Ok(Self { definitions, options, made, directory, started_at, found: Mutex::default() })
    }

    /// Stores an experiment by its index, as far as it has run. What cannot be written is the error
    /// of [`Results::finish`].
    pub fn store_experiment(&self, index: usize, runs: &[VariantRun]) {
        let definition = self.definitions[index];
        let reproduced = tabulate_experiment(definition, runs, self.options, self.made);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.experiments.insert(index, reproduced);
        let stored = runs.iter().try_for_each(|run: &VariantRun| {
            let which = (index, run.variant.name.clone(), run.draw.number);
            if found.stored.contains(&which) {
                return Ok(());
            }
            let (command, at) = (&self.made.command, &self.started_at);
            store_variant(definition, run, self.directory, command, at)?;
            found.stored.insert(which);
            Ok(())
        });
        let stored = stored.map_err(|error: OutputError| ResultsError::from(error));
        let stored = stored.and_then(|()| self.store_table(&self.make_table(&found), &[]));
        found.error = found.error.take().or(stored.err());
    }

    /// Writes the table of all experiments with their pictures, and returns it.
    pub fn finish(self, runs: &[Vec<VariantRun>]) -> Result<Reproduction, ResultsError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = found.error.take() {
            return Err(error);
        }
        let table = self.make_table(&found);
        self.store_table(&table, runs)?;
        Ok(table)
    }

    fn make_table(&self, found: &Found) -> Reproduction {
        let mut table = Reproduction::new(&self.made.irqpath_version, self.made.command.clone());
        table.experiments = found.experiments.values().cloned().collect();
        table
    }

    fn store_table(
        &self,
        table: &Reproduction,
        runs: &[Vec<VariantRun>],
    ) -> Result<(), ResultsError> {
        let _lock = self.directory.lock()?;
        store_merged(self.directory, self.definitions, table, runs)
    }
}

/// Puts a table into that of the directory, into which other runs may write as well, in all four
/// forms.
fn store_merged(
    directory: &Directory,
    definitions: &[&Definition],
    table: &Reproduction,
    runs: &[Vec<VariantRun>],
) -> Result<(), ResultsError> {
    let earlier = read_earlier(directory.path())?;
    let all = &merge_earlier(table, &earlier, definitions);
    directory.write(TABLE, |mut file| write_table(&mut file, all))?;
    directory.write("reproduction.txt", |file| reproduction::write_text(file, all))?;
    directory.write("reproduction.md", |file| markdown::write_page(file, all))?;
    Ok(write_page(all, runs, directory, "reproduction.html")?)
}

/// What has just been run, with what was there before: it replaces its own variants.
fn merge_earlier(
    table: &Reproduction,
    earlier: &[Reproduced],
    definitions: &[&Definition],
) -> Reproduction {
    let is_new = |id: &str| table.experiments.iter().any(|experiment| experiment.id == id);
    let mut all = table.clone();
    for new in &mut all.experiments {
        let old = earlier.iter().find(|old| old.id == new.id);
        let definition = definitions.iter().find(|definition| definition.id == new.id);
        if let Some((definition, old)) = definition.zip(old) {
            *new = collect::merge_variants(definition, new, old);
        }
    }
    all.experiments.extend(earlier.iter().filter(|old| !is_new(&old.id)).cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_replaces_its_own_experiments_of_the_table_and_no_others() {
        let named = |id: &str, title: &str| Reproduced {
            id: id.to_owned(),
            title: title.to_owned(),
            ..Reproduced::default()
        };
        let mut table = Reproduction::new("0", vec![]);
        table.experiments = vec![named("b", "new")];
        let all = merge_earlier(&table, &[named("a", "old"), named("b", "old")], &[]);
        let found: Vec<(&str, &str)> =
            all.experiments.iter().map(|e| (e.id.as_str(), e.title.as_str())).collect();
        assert_eq!(found, [("b", "new"), ("a", "old")]);
    }

    /// Each has begun before the other has written.
    #[test]
    fn two_runs_into_one_directory_keep_what_the_other_found() {
        let directory = tempfile::tempdir().unwrap();
        let (made, options) = (Made::default(), Options::default());
        let output = Directory::open(directory.path(), false).unwrap();
        let begin = || Results::begin(&[], &options, &made, &output, String::new()).unwrap();
        let (one, other) = (begin(), begin());
        for (results, id) in [(&one, "a"), (&other, "b"), (&one, "a")] {
            let mut table = Reproduction::new("0", vec![]);
            table.experiments = vec![Reproduced { id: id.to_owned(), ..Reproduced::default() }];
            results.store_table(&table, &[]).unwrap();
        }
        let all = read_earlier(directory.path()).unwrap();
        let mut found: Vec<&str> = all.iter().map(|e| e.id.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, ["a", "b"]);
    }

    #[test]
    fn a_table_is_read_as_it_was_written_but_for_places() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let ran = |id: &str, command: &str| Reproduced {
            id: id.to_owned(),
            made: Some(Made { command: words(command), ..Default::default() }),
            ..Reproduced::default()
        };
        let mut table = Reproduction::new("0.1.0", words("/opt/irqpath lab list"));
        table.experiments = vec![
            ran("one", "/opt/irqpath lab run one -o /srv/results"),
            ran("two", "irqpath lab run two"),
        ];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.json");
        let mut text = Vec::new();
        write_table(&mut text, &table).unwrap();
        std::fs::write(&path, &text).unwrap();
        table.command = words("irqpath lab list");
        table.experiments[0] = ran("one", "irqpath lab run one");
        assert_eq!(read_table(&path).unwrap(), table);
        assert_eq!(String::from_utf8(text).unwrap().lines().count(), 4);
    }

    #[test]
    fn what_is_no_table_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(read_earlier(directory.path()).unwrap().is_empty());
        let error = read_table(directory.path()).unwrap_err().to_string();
        assert!(error.contains("reproduction.json is not a table that"), "{error}");
        std::fs::write(directory.path().join(TABLE), "{}").unwrap();
        let error = read_earlier(directory.path()).unwrap_err().to_string();
        assert!(error.contains("has written: missing field"), "{error}");
    }
}
