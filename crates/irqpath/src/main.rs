// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath`: joins every interrupt to the task it woke and names the cause of every slow path.
//!
//! The binary only connects: sources deliver events, the analysis turns them into a summary, the
//! exporters show it. `cli` is the whole command line, `verbs` has a folder for each verb, `output`
//! every way out, `host` what is asked of this machine.
//! Exit codes: 0 done, 1 threshold exceeded or drift, 2 could not run (one line on stderr says why).

mod cli;
mod host;
mod output;
mod session;
mod values;
mod verbs;

use std::process::ExitCode;

use cli::Verb;
use output::console;

fn main() -> ExitCode {
    let arguments = match cli::parse_arguments() {
        Ok(arguments) => arguments,
        Err(error) => return console::report_refusal(&error),
    };
    match host::signals::outlive_file_limits().and_then(|()| run_verb(arguments.verb)) {
        Ok(code) => code,
        Err(error) => console::report_error(&error),
    }
}

fn run_verb(verb: Verb) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Trace(arguments) => verbs::trace::run(&arguments),
        Verb::Agent(arguments) => verbs::agent::run(&arguments),
        Verb::Record(arguments) => verbs::record::run(&arguments),
        Verb::Tune(arguments) => verbs::tune::run(&arguments),
        Verb::Bench(arguments) => verbs::bench::run(&arguments),
        Verb::Respond(arguments) => verbs::timing::run_respond(&arguments),
        Verb::Jitter(arguments) => verbs::timing::run_jitter(&arguments),
        Verb::Report(arguments) => verbs::result::run_report(&arguments),
        Verb::Compare(arguments) => verbs::result::run_compare(&arguments),
        Verb::Merge(arguments) => verbs::merge::run(&arguments),
        Verb::Check(arguments) => verbs::check::run(&arguments),
        Verb::Shield(arguments) => verbs::shield::run(&arguments),
        Verb::Policy(arguments) => verbs::policy::run(&arguments),
        Verb::Lab(arguments) => verbs::lab::run(&arguments),
        Verb::Schema(arguments) => verbs::result::run_schema(&arguments),
        Verb::Generate(arguments) => verbs::generate::run(&arguments),
    }
}
