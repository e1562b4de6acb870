// SPDX-License-Identifier: GPL-2.0-or-later
//! `samples.parquet`: every path record of a measurement, one row each.
//!
//! Label columns say what the path was, then every point has two nullable columns: `<point>_ns`
//! (`CLOCK_MONOTONIC`) and `<point>_cpu`. The columns are listed once, in `columns`; the writer
//! and the reader both follow that list by name. A change that old readers cannot follow raises
//! `SCHEMA_VERSION`, which is stored as the key `irqpath.schema_version` of the file.

mod columns;
mod digest;
mod lengths;
mod reader;
mod writer;

pub(crate) use columns::end_to_word;

pub use lengths::{Length, write_lengths};
pub use reader::{SampleReader, read_samples};
pub use writer::SampleWriter;

/// Key of the file's metadata that holds the schema version.
pub const VERSION_KEY: &str = "irqpath.schema_version";

/// Key of the file's metadata that holds length and digest of the pages.
pub const DIGEST_KEY: &str = "irqpath.pages_sha256";

/// Rows per row group: what the writer keeps in memory, and the reader after it.
pub const ROW_GROUP_ROWS: usize = 8 * 1024;

/// Why samples could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// Writing failed below: disk full, closed pipe.
    #[error("samples could not be written: {0}")]
    Write(String),
    /// The bytes are not Parquet, or are damaged.
    #[error("samples are damaged ({0}); measure again, or restore the file")]
    Corrupt(String),
    /// Parquet, but not ours.
    #[error("this Parquet file does not hold irqpath samples ({VERSION_KEY} is absent)")]
    Foreign,
    /// Made by a newer irqpath.
    #[error(
        "samples have format {found}, this irqpath reads up to {supported}; use a newer irqpath"
    )]
    Newer {
        /// Version in the file.
        found: u32,
        /// Newest version understood here.
        supported: u32,
    },
}
