// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath generate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

#[derive(Debug, Args)]
pub struct Generate {
    /// What to generate
    #[arg(value_enum)]
    pub what: Generated,

    /// Where to put it
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// Man pages
    Man,
    /// Completions for bash, zsh and fish
    Completions,
}
