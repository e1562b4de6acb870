// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line. Everything that a person can type is defined here, and the man pages and
//! completions are generated from it (`irqpath generate`). Flags follow rtla where rtla has them.

use clap::{Parser, Subcommand};

use crate::verbs::agent::args::Agent;
use crate::verbs::bench::args::Bench;
use crate::verbs::check::args::Check;
use crate::verbs::generate::args::Generate;
use crate::verbs::lab::args::Lab;
use crate::verbs::merge::args::Merge;
use crate::verbs::policy::args::Policy;
use crate::verbs::record::args::Record;
use crate::verbs::result::args::{Compare, Report, Schema};
use crate::verbs::shield::args::Shield;
use crate::verbs::timing::args::{Jitter, Respond};
use crate::verbs::trace::args::Trace;
use crate::verbs::tune::args::Tune;

/// Follow every interrupt to the task it woke, and name what made it slow
#[derive(Debug, Parser)]
#[command(name = "irqpath", version, disable_help_subcommand = true, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 threshold exceeded or drift found, 2 could not run.";

/// The verbs that exist.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Trace interrupts from their raise to the task they wake, with the cause of every slow path
    Trace(Box<Trace>),
    /// Trace all the time, and serve the numbers to Prometheus
    Agent(Agent),
    /// Keep the last seconds of everything, and write them when something happens
    Record(Box<Record>),
    /// Learn which interrupt serves which real-time task, and give its thread the right priority
    Tune(Box<Tune>),
    /// Measure how long softirqs, tasklets, work items and other bottom halves take
    Bench(Box<Bench>),
    /// Measure how late a task runs after the periodic interrupt that it waits for
    Respond(Box<Respond>),
    /// Measure how evenly a CPU computes, or list what interrupts it
    Jitter(Box<Jitter>),
    /// Make report.html again from result directories
    Report(Report),
    /// Compare results, with what their samples can show; or find changes in a history
    Compare(Compare),
    /// Join the results of a campaign into partitioned Parquet tables
    Merge(Merge),
    /// Find settings of this host that delay interrupts, and how to fix them
    Check(Check),
    /// Keep CPUs free of tasks and interrupts that were not placed there, with an exact undo
    Shield(Box<Shield>),
    /// Switch the policies of the irqpath kernel, and see what they did
    Policy(Policy),
    /// Run experiments in guests where one instruction takes one nanosecond
    Lab(Lab),
    /// Print the JSON schema of results
    Schema(Schema),
    /// Write man pages or shell completions (for packagers)
    #[command(hide = true)]
    Generate(Generate),
}

/// Read the arguments of this process.
pub fn parse_arguments() -> Result<Cli, clap::Error> {
    Cli::try_parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn only_verbs_that_exist_are_offered() {
        let verbs: Vec<_> =
            Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        assert_eq!(
            verbs,
            [
                "trace", "agent", "record", "tune", "bench", "respond", "jitter", "report",
                "compare", "merge", "check", "shield", "policy", "lab", "schema", "generate"
            ]
        );
    }

    /// Of the verbs that people type: generate is for packages.
    #[test]
    fn the_readme_and_the_list_of_pages_have_every_verb() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for page in ["README.md", "docs/README.md"] {
            let text = std::fs::read_to_string(root.join(page)).expect("a page of this tree");
            for verb in Cli::command().get_subcommands().map(clap::Command::get_name) {
                let is_named = text.contains(&format!("irqpath {verb}"));
                assert!(is_named || verb == "generate", "{page} lacks `irqpath {verb}`");
            }
        }
    }
}
