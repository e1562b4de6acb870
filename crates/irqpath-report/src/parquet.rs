// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables of measurements as Parquet files, for DuckDB and whatever else reads them.
//!
//! A result directory has one of two: `paths.parquet` with every path that was traced, or
//! `lengths.parquet` with the length of every repetition in the lab. `irqpath merge` writes both
//! again for a whole campaign, and three more. [`tables`] is the only list of tables and columns.
//! Every table begins with the five columns that say which run a row is of.
//!
//! A change that readers cannot follow raises [`TABLES_VERSION`], which each file has under the
//! key [`VERSION_KEY`]; `docs/tables.md` describes the columns, and `irqpath schema tables` prints
//! them.

pub mod histograms;
mod lengths;
mod pages;
mod reader;
mod table;
pub mod tables;
mod writer;

pub use lengths::{Length, LengthLabels, write_lengths};
pub use reader::{ReadError, TableReader, is_guarded};
pub use table::{Cell, TableWriter};
pub use tables::Table;
pub use writer::SampleWriter;

/// Version of the columns. 2 had `samples.parquet` for both kinds of rows, without the columns
/// that say which run a row is of.
pub const TABLES_VERSION: u32 = 3;

/// Key of the file's metadata that holds the version.
pub const VERSION_KEY: &str = "irqpath.schema_version";
/// Key of the file's metadata that holds the name of the table.
pub const TABLE_KEY: &str = "irqpath.table";
/// Key of the file's metadata that holds the run, where all rows are of one.
pub const RUN_KEY: &str = "irqpath.run_id";

/// Rows per row group: what the writer keeps in memory.
pub const ROW_GROUP_ROWS: usize = 8 * 1024;

/// Writing failed below: disk full, closed pipe.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the samples: {0}")]
pub struct SamplesError(#[from] parquet::errors::ParquetError);
