// SPDX-License-Identifier: GPL-2.0-or-later
//! One file per verb. A verb takes its arguments and returns the exit code.

mod bench;
mod check;
mod compare;
mod generate;
mod jitter;
mod lab;
mod policy;
mod report;
mod respond;
mod schema;
mod shield;
mod trace;
mod tune;

use std::process::ExitCode;

use crate::cli::{Cli, Verb};

/// Do what the command line says.
pub fn run(arguments: Cli) -> anyhow::Result<ExitCode> {
    match arguments.verb {
        Verb::Trace(arguments) => trace::run(&arguments),
        Verb::Tune(arguments) => tune::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
        Verb::Respond(arguments) => respond::run(&arguments),
        Verb::Jitter(arguments) => jitter::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Shield(arguments) => shield::run(&arguments),
        Verb::Policy(arguments) => policy::run(&arguments),
        Verb::Lab(arguments) => lab::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Generate(arguments) => generate::run(&arguments),
    }
}
