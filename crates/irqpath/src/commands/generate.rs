// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath generate`: man pages and completions, from the definition of the command line.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::{Cli, Generate, Generated};

/// Run it.
pub fn run(arguments: &Generate) -> anyhow::Result<ExitCode> {
    let directory = &arguments.directory;
    let advice = || format!("{} cannot be written; give a directory of yours", directory.display());
    std::fs::create_dir_all(directory).with_context(advice)?;
    let mut command = Cli::command();
    match arguments.what {
        Generated::Man => {
            clap_mangen::generate_to(command, directory).with_context(advice)?;
        }
        Generated::Completions => {
            for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
                clap_complete::generate_to(shell, &mut command, "irqpath", directory)
                    .with_context(advice)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
