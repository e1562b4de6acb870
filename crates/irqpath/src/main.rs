// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath`: joins every interrupt to the task it woke and names the cause of every slow path.
//!
//! The binary only connects: sources deliver events, the analysis turns them into a summary,
//! the exporters show it. `cli` is the whole command line; each verb has its file in `commands`.
//! Exit codes: 0 done, 1 threshold exceeded or drift, 2 could not run (one line on stderr says why).

mod bench;
mod cli;
mod cli_bench;
mod cli_lab;
mod cli_policy;
mod cli_respond;
mod cli_result;
mod cli_shield;
mod cli_tune;
mod columns;
mod commands;
mod determinism;
mod meta;
mod names;
mod out;
mod outputs;
mod page;
mod progress;
mod recording;
mod results;
mod select;
mod session;
mod shown;
mod signals;
mod sinks;
mod stored;
mod subjects;
mod top;
mod values;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match cli::parse() {
        Ok(arguments) => arguments,
        Err(error) => return out::refuse(&error),
    };
    match signals::outlive_file_limits().and_then(|()| commands::run(arguments)) {
        Ok(code) => code,
        Err(error) => out::fail(&error),
    }
}
