// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads result directories back. What is inside the files is judged by `irqpath_report::json`;
//! this file says which directory it was, and tells a wrong directory from a damaged one.

use std::io;
use std::path::Path;

use anyhow::anyhow;
use irqpath_files::input;
use irqpath_model::{Meta, Summary};
use irqpath_report::json::{self, JsonError};

/// Of a file of JSON, bytes. The largest that was measured, with every path table full, has 5 MB;
/// decoded it can take a dozen times as much memory.
pub const MAX_FILE: u64 = 12 << 20;
/// Of one of two files that are held at the same time.
pub const MAX_OF_TWO: u64 = MAX_FILE / 2;

/// What is stored about one measurement.
#[derive(Debug)]
pub struct Stored {
    /// `meta.json`.
    pub meta: Meta,
    /// `summary.json`.
    pub summary: Summary,
}

/// Read `meta.json` and `summary.json` of a result directory, of at most `limit` bytes each.
pub fn read_result(directory: &Path, limit: u64) -> anyhow::Result<Stored> {
    Ok(Stored {
        meta: read_file(directory, "meta.json", limit, json::read_meta)?,
        summary: read_file(directory, "summary.json", limit, json::read_summary)?,
    })
}

/// Read `meta.json` alone.
pub fn read_meta(directory: &Path) -> anyhow::Result<Meta> {
    read_file(directory, "meta.json", MAX_FILE, json::read_meta)
}

fn read_file<T>(
    directory: &Path,
    name: &str,
    limit: u64,
    parse: fn(&[u8]) -> Result<T, JsonError>,
) -> anyhow::Result<T> {
    let read = input::read(&directory.join(name), limit);
    let bytes = read.map_err(|e| unreadable_error(directory, name, e))?;
    parse(&bytes).map_err(|e| anyhow!("{}: {e}", directory.display()))
}

fn unreadable_error(directory: &Path, name: &str, error: io::Error) -> anyhow::Error {
    let shown = directory.display();
    match error.kind() {
        io::ErrorKind::NotFound if directory.is_dir() => {
            anyhow!(
                "{shown} is not a result directory, it has no {name}; give one that trace -o made"
            )
        }
        io::ErrorKind::NotFound => {
            anyhow!("there is no {shown}; give a directory that trace -o made")
        }
        io::ErrorKind::NotADirectory => {
            anyhow!("{shown} is not a directory; give one that trace -o made")
        }
        _ => anyhow::Error::from(error)
            .context(format!("cannot read {shown}/{name}; check its permissions")),
    }
}
