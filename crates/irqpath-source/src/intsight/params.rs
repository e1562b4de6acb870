// SPDX-License-Identifier: GPL-2.0-or-later
//! The parameter files: read into a [`BenchConfig`], and written from one.

use std::io;
use std::path::Path;

use irqpath_files::input;
use irqpath_model::bench::BenchConfig;

use super::IntsightError;

/// Of a file of parameters; the longest is a matrix of a few rows.
const MAX_PARAMETER: u64 = 1 << 20;

/// A file's text without space around it; `None` if there is no such file.
pub(super) fn read_text(directory: &Path, file: &str) -> Result<Option<String>, IntsightError> {
    let path = directory.join(file);
    match input::read(&path, MAX_PARAMETER) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IntsightError::Read { path, source }),
    }
}

/// The same of a file that must be there.
pub(super) fn read_needed(directory: &Path, file: &str) -> Result<String, IntsightError> {
    read_text(directory, file)?.ok_or_else(|| IntsightError::Read {
        path: directory.join(file),
        source: io::ErrorKind::NotFound.into(),
    })
}

/// A file's number; `None` if there is no such file.
pub(super) fn read_number<N: std::str::FromStr>(
    directory: &Path,
    file: &str,
) -> Result<Option<N>, IntsightError> {
    let Some(text) = read_text(directory, file)? else { return Ok(None) };
    let malformed = || IntsightError::Malformed {
        path: directory.join(file),
        line: 1,
        reason: format!("'{}' is not such a number", text.chars().take(40).collect::<String>()),
    };
    text.parse().map(Some).map_err(|_| malformed())
}

fn needed_number(directory: &Path, file: &str) -> Result<u64, IntsightError> {
    read_number(directory, file)?.ok_or_else(|| IntsightError::Read {
        path: directory.join(file),
        source: io::ErrorKind::NotFound.into(),
    })
}

/// The words of a file; none if it is absent.
pub(super) fn read_words(directory: &Path, file: &str) -> Result<Vec<String>, IntsightError> {
    let text = read_text(directory, file)?.unwrap_or_default();
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// What the parameter files say.
pub(super) fn read(directory: &Path) -> Result<BenchConfig, IntsightError> {
    let word = |file| read_needed(directory, file);
    let mechanism = word("bottom_handler")?
        .parse()
        .map_err(|e| IntsightError::from_word(directory.join("bottom_handler"), &e))?;
    let wait = word("delay_type")?
        .parse()
        .map_err(|e| IntsightError::from_word(directory.join("delay_type"), &e))?;
    let delay_us = match read_number(directory, "delay_us")? {
        Some(us) => us,
        None => needed_number(directory, "delay_ms")?.saturating_mul(1000),
    };
    Ok(BenchConfig {
        mechanism,
        nr_reps: needed_number(directory, "reps")?,
        delay_us,
        wait,
        trigger: read_text(directory, "trigger")?.unwrap_or_default(),
        tracepoints: read_words(directory, "tracepoints")?,
        checkpoint_capacity: needed_number(directory, "checkpoint_capacity")?,
        nr_load: read_number(directory, "load")?,
        cpu: read_number(directory, "cpu")?,
    })
}

/// What to write into which file, in this order.
pub(super) fn list_writes(config: &BenchConfig) -> Vec<(&'static str, String)> {
    let mut writes = vec![
        ("bottom_handler", config.mechanism.name().to_owned()),
        ("reps", config.nr_reps.to_string()),
        ("delay_us", config.delay_us.to_string()),
        ("delay_type", config.wait.delay_type().to_owned()),
        ("checkpoint_capacity", config.checkpoint_capacity.to_string()),
        ("tracepoints", config.tracepoints.join(" ")),
    ];
    if !config.trigger.is_empty() {
        writes.push(("trigger", config.trigger.clone()));
    }
    writes
}
