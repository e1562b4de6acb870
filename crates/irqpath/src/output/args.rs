// SPDX-License-Identifier: GPL-2.0-or-later
//! Where a measurement is written to. `trace` has more; `files` opens and fills it.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::{Args, ValueHint};

/// Standard output, where a file name is expected.
const STDOUT: &str = "-";

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ResultOutput {
    /// Keep everything in this directory: meta.json, summary.json, report.html and the samples
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,

    /// Replace DIR if it holds an earlier result
    #[arg(long, requires = "directory")]
    pub force: bool,

    /// Print meta and summary as JSON, to a file or (no value, or -) to standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-",
          value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub report: Option<PathBuf>,
}

impl ResultOutput {
    /// Refuse what cannot be, before anything is measured.
    pub fn check_targets(&self) -> anyhow::Result<()> {
        ensure!(
            !is_stdout(self.report.as_deref()),
            "only --json can write to standard output; give --report a file name"
        );
        Ok(())
    }
}

/// True if a file name stands for standard output.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|p| p.as_os_str() == STDOUT)
}
