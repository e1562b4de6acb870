// SPDX-License-Identifier: GPL-2.0-or-later
//! The command lines of the verbs that read results back: `report`, `compare`, and `schema`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Debug, Args)]
pub struct Report {
    /// Result directories made by trace, bench, respond or jitter with -o
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directories: Vec<PathBuf>,

    /// Where to write it; with several directories each gets its own DIR/report.html
    #[arg(short = 'o', long = "output", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Instead of reports, write one trace of all captures for ui.perfetto.dev, each host a process
    #[arg(long, value_name = "FILE", conflicts_with = "output", value_hint = ValueHint::FilePath)]
    pub perfetto: Option<PathBuf>,

    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Two result directories; or all of A, with those of B behind --
    #[arg(required = true, value_name = "A", value_hint = ValueHint::DirPath)]
    pub a: Vec<PathBuf>,

    /// Result directories of B
    #[arg(last = true, value_name = "B", value_hint = ValueHint::DirPath)]
    pub b: Vec<PathBuf>,

    /// Find where a history of results changes; they are put into the order of their time
    #[arg(long)]
    pub history: bool,

    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Of what
    #[arg(value_enum, value_name = "WHAT", default_value = "document")]
    pub of: SchemaOf,

    /// Accepted as by every command: a schema is JSON already
    #[arg(long, hide = true)]
    pub json: bool,
}

/// A document that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// What trace --json prints: meta and summary in one document
    Document,
    /// meta.json of a result directory
    Meta,
    /// summary.json of a result directory
    Summary,
    /// What shield prints with --json
    Shield,
    /// What tune --json prints
    Tune,
    /// What policy prints with --json
    Policy,
    /// merge.json of a campaign, which merge --json prints, too
    Merge,
    /// What compare --json prints
    Compare,
    /// What compare --history --json prints
    History,
    /// Columns of the Parquet tables
    Tables,
    /// What record --json prints
    Record,
}
