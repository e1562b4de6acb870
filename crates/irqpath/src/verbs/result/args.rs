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

    /// Print what was written as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Result directory of the first run
    #[arg(value_hint = ValueHint::DirPath)]
    pub a: PathBuf,

    /// Result directory of the second run
    #[arg(value_hint = ValueHint::DirPath)]
    pub b: PathBuf,

    /// Print the table as JSON
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
}
