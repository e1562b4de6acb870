// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[derive(Debug, Args)]
pub struct Merge {
    /// Result directories made by trace, bench, respond, jitter or lab run
    #[arg(required = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directories: Vec<PathBuf>,

    /// Directory of the campaign, which must not exist
    #[arg(short = 'o', long = "output", required = true, value_name = "OUT",
          value_hint = ValueHint::DirPath)]
    pub output: PathBuf,

    /// Print what was merged as JSON
    #[arg(long)]
    pub json: bool,
}
