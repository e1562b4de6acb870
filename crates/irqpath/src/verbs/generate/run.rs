// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath generate`: man pages and completions, from the definition of the command line.

use std::io;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::Shell;
use irqpath_files::input;
use irqpath_files::output::Directory;

use super::args::{Generate, Generated};
use crate::cli::Cli;

pub fn run(arguments: &Generate) -> anyhow::Result<ExitCode> {
    let scratch = tempfile::tempdir().context("no temporary directory can be made; set TMPDIR")?;
    let mut command = Cli::command();
    match arguments.what {
        Generated::Man => clap_mangen::generate_to(command, &scratch)?,
        Generated::Completions => {
            for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
                clap_complete::generate_to(shell, &mut command, "irqpath", scratch.path())?;
            }
        }
    }
    // The generators would write through links.
    let directory = Directory::open(&arguments.directory, true)?;
    for file in scratch.path().read_dir()? {
        let file = file?;
        let mut from = input::open(&file.path())?;
        directory.write(file.file_name(), |to| io::copy(&mut from, to).map(drop))?;
    }
    Ok(ExitCode::SUCCESS)
}
