// SPDX-License-Identifier: GPL-2.0-or-later
//! Which results are merged: reads each once, and leaves out what is damaged, there twice, or
//! contradicts another result of the same run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use irqpath_files::input;
use irqpath_model::RunIdentity;
use irqpath_model::merge::{Campaign, LeftOut, LeftOutWhy};
use irqpath_report::json::write_part;
use irqpath_report::parquet::{Table, TableReader};
use sha2::{Digest as _, Sha256};

use crate::verbs::result::{MAX_FILE, Stored, read_result};

/// The table of results of version 2, of either kind.
const OLD_TABLE: &str = "samples.parquet";
/// Longest commit or kernel as the name of a directory.
const MAX_PARTITION: usize = 200;

/// A result that will be merged.
#[derive(Debug)]
pub struct Planned {
    /// Its place in the list of directories.
    pub index: usize,
    pub run: RunIdentity,
    /// The name of its table file; empty if it has none.
    pub table: &'static str,
    digest: [u8; 32],
}

/// What is merged, by partition: the names of the directories `commit=` and `kernel=`.
pub type Partitions = BTreeMap<(String, String), Vec<Planned>>;

/// Reads every result once; `tick` is called after each.
pub fn plan_merge(
    directories: &[impl AsRef<Path>],
    campaign: &mut Campaign,
    mut tick: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Partitions> {
    let mut runs: BTreeMap<String, Planned> = BTreeMap::new();
    let mut contradictory: BTreeMap<String, usize> = BTreeMap::new();
    let shown = |index: usize| directories[index].as_ref().display().to_string();
    for (index, directory) in directories.iter().enumerate() {
        tick()?;
        let mut leave_out = |index: usize, why, message: String| {
            campaign.leave_out(LeftOut { directory: shown(index), why, message });
        };
        let planned = match examine_result(directory.as_ref(), index) {
            Ok(planned) => planned,
            Err(error) => {
                leave_out(index, LeftOutWhy::Unreadable, flatten(&error));
                continue;
            }
        };
        let id = planned.run.run_id.clone();
        let contradicts = |first: usize| {
            let (here, there) = (shown(index), shown(first));
            format!("{here} and {there} are both of run {id} and differ; one of them is wrong")
        };
        if let Some(&first) = contradictory.get(&id) {
            leave_out(index, LeftOutWhy::Contradiction, contradicts(first));
        } else if let Some(first) = runs.get(&id) {
            let there = first.index;
            if first.digest == planned.digest {
                let message = format!("{} is the same as {}", shown(index), shown(there));
                leave_out(index, LeftOutWhy::Duplicate, message);
                continue;
            }
            runs.remove(&id);
            let message = contradicts(there);
            leave_out(there, LeftOutWhy::Contradiction, message.clone());
            leave_out(index, LeftOutWhy::Contradiction, message);
            contradictory.insert(id, there);
        } else {
            runs.insert(id, planned);
        }
    }
    let mut partitions = Partitions::new();
    let mut planned: Vec<Planned> = runs.into_values().collect();
    planned.sort_by_key(|planned| planned.index);
    for planned in planned {
        let names = (encode_name(&planned.run.commit), encode_name(&planned.run.kernel));
        partitions.entry(names).or_default().push(planned);
    }
    Ok(partitions)
}

/// An error and its causes on one line.
fn flatten(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            let _ = write!(text, " ({cause})");
        }
    }
    text.replace('\n', " ")
}

/// Reads all of a result, and says what it is.
fn examine_result(directory: &Path, index: usize) -> anyhow::Result<Planned> {
    let stored = read_result(directory, MAX_FILE)?;
    let mut digest = Sha256::new();
    let mut measured = Vec::new();
    write_part(&mut measured, &stored.summary.measured)?;
    digest.update(&measured);
    let mut run = identify_run(&stored, &measured);
    let table = find_table(directory)?;
    if let Some((name, file)) = &table {
        let of_table = || format!("{}/{name}", directory.display());
        digest_file(file, &mut digest).with_context(of_table)?;
        let reader = TableReader::open(file.try_clone()?);
        let reader = reader.map_err(|e| anyhow!("{}: {e}", of_table()))?;
        let is_named = [Table::Paths.file_name(), Table::Lengths.file_name()];
        ensure!(
            *name == OLD_TABLE || **name == reader.table().file_name(),
            "{} has the rows of {}; restore the file",
            of_table(),
            is_named[usize::from(reader.table() == Table::Lengths)]
        );
        let is_same = reader.run_id().is_none_or(|id| id == stored.meta.run_id);
        ensure!(is_same, "{} is of another run than meta.json; restore the file", of_table());
        reader.check_rows().map_err(|e| anyhow!("{}: {e}", of_table()))?;
    }
    let table = table.map_or("", |(name, _)| name);
    for name in [&mut run.commit, &mut run.kernel] {
        let length = encode_name(name).len();
        ensure!(
            length <= MAX_PARTITION,
            "{}: its commit or kernel has a name of {length} characters, which no directory can \
             have; correct meta.json",
            directory.display()
        );
    }
    Ok(Planned { index, run, table, digest: digest.finalize().into() })
}

/// Which run it is. One of a version that did not tell is named by its content.
pub fn identify_run(stored: &Stored, measured: &[u8]) -> RunIdentity {
    let mut run = stored.meta.run_identity();
    if run.run_id.is_empty() {
        let mut digest = Sha256::new();
        for part in [run.host.as_bytes(), stored.meta.started_at.as_bytes(), measured] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        run.run_id.push_str("content-");
        for byte in &digest.finalize()[..16] {
            let _ = write!(run.run_id, "{byte:02x}");
        }
    }
    run
}

/// The table of a result, opened; `None` if it has none.
pub fn find_table(directory: &Path) -> anyhow::Result<Option<(&'static str, File)>> {
    for name in ["paths.parquet", "lengths.parquet", OLD_TABLE] {
        match input::open(&directory.join(name)) {
            Ok(file) => return Ok(Some((name, file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| {
                    format!("cannot read {}/{name}; check its permissions", directory.display())
                });
            }
        }
    }
    Ok(None)
}

fn digest_file(file: &File, digest: &mut Sha256) -> io::Result<()> {
    use std::io::{Seek as _, SeekFrom};
    let mut file = file.try_clone()?;
    let mut buffer = vec![0; 64 << 10];
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            n => digest.update(&buffer[..n]),
        }
    }
}

/// A value as readers of partitions expect it in the name of a directory.
fn encode_name(value: &str) -> String {
    if value.is_empty() {
        return "unknown".to_owned();
    }
    let mut name = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_names_of_directories_and_nothing_else() {
        for (value, name) in [
            ("6.12.1-rt", "6.12.1-rt"),
            ("fa7233a+", "fa7233a%2B"),
            ("", "unknown"),
            ("../../etc", "..%2F..%2Fetc"),
            ("a=b c", "a%3Db%20c"),
            ("\u{e9}", "%C3%A9"),
        ] {
            assert_eq!(encode_name(value), name);
        }
    }
}
