// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath trace`. Flags follow rtla where rtla has them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use irqpath_model::CpuList;

use crate::output::args::ResultOutput;
use crate::values::{parse_duration, parse_microseconds};

/// How `trace` shows what it measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// Live table: sort, filter, open a path to see its stages and causes
    Top,
    /// Table of paths and their causes, printed at the end
    Once,
    /// Histogram per path, printed at the end
    Hist,
}

#[derive(Debug, Args)]
#[command(after_help = TRACE_EXAMPLES)]
pub struct Trace {
    /// How to show it [default: top on a terminal, once otherwise]
    #[arg(value_enum)]
    pub view: Option<View>,

    #[command(flatten)]
    pub what: What,

    #[command(flatten)]
    pub output: Output,

    #[command(flatten)]
    pub hist: Hist,

    /// Time between two refreshes of top
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1s",
          help_heading = "Live table (top)")]
    pub interval: Duration,
}

const TRACE_EXAMPLES: &str = "\
Examples:
  irqpath trace                               watch all paths until q is pressed
  irqpath trace once -d 10s -T 100            one table; exit 1 if a path took over 100 us
  irqpath trace once --irq eth0 -o result     only that interrupt; keep everything in result/
  irqpath trace once --replay run.rec         the same from a recording, without privileges

Exit codes: 0 done, 1 threshold exceeded, 2 could not run.";

#[derive(Debug, Args)]
#[command(next_help_heading = "What to trace")]
pub struct What {
    /// How long: 10s, 500ms, 1m; a plain number means seconds [default: 10s; top: until q]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Only paths whose interrupt or target was on one of these CPUs: 1,3,5-7
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// Only this interrupt: number, device name, or vector (36, eth0, LOC); repeatable
    #[arg(long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    /// Only paths to this task: thread or process id, or name; repeatable
    #[arg(long, value_name = "PID|COMM")]
    pub task: Vec<String>,

    /// Explain every path at least this long, its return to user space included; exit 1 if there is
    /// one that the hypervisor alone does not explain
    #[arg(short = 'T', long, value_name = "US", value_parser = parse_microseconds)]
    pub threshold: Option<u64>,

    /// Exit 1 also for paths that are over the threshold by the hypervisor's share alone
    #[arg(long, requires = "threshold")]
    pub with_hypervisor: bool,

    /// Do not follow the target to user space; avoids a tracing program in every system call
    #[arg(long)]
    pub no_user: bool,

    /// Size of the record buffer, MiB
    #[arg(long, value_name = "MiB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: Option<u32>,

    /// Take the events from this recording instead of the running kernel
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub replay: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    #[command(flatten)]
    pub result: ResultOutput,

    /// Write a trace for ui.perfetto.dev; without a value into DIR of -o
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    #[allow(clippy::option_option)]
    // clap's own word for an optional value of an optional flag
    pub perfetto: Option<Option<PathBuf>>,

    /// Write the numbers in OpenMetrics text format
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub openmetrics: Option<PathBuf>,

    /// Record all events, to look at them again with --replay
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub record: Option<PathBuf>,
}

/// Histogram shape, as rtla's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Histogram (hist)")]
pub struct Hist {
    /// Width of a bucket, us [default: chosen for each path]
    #[arg(short, long, value_name = "US", value_parser = parse_microseconds)]
    pub bucket_size: Option<u64>,

    /// Number of buckets; longer times share the last row [default: 256 with -b, else all]
    #[arg(short = 'E', long, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub entries: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn parse_trace(arguments: &[&str]) -> Trace {
        let all = ["irqpath", "trace"].iter().chain(arguments);
        match Cli::try_parse_from(all).unwrap().verb {
            Verb::Trace(trace) => *trace,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flags_may_stand_before_and_after_the_view() {
        for arguments in [["-d", "5s", "once"], ["once", "-d", "5s"]] {
            let t = parse_trace(&arguments);
            assert_eq!(t.view, Some(View::Once));
            assert_eq!(t.what.duration, Some(Duration::from_secs(5)));
        }
    }

    #[test]
    fn optional_values_have_their_defaults() {
        assert_eq!(parse_trace(&["once", "--json"]).output.result.json, Some("-".into()));
        assert_eq!(parse_trace(&["--json", "f.json"]).output.result.json, Some("f.json".into()));
        assert_eq!(parse_trace(&["--perfetto"]).output.perfetto, Some(None));
        assert_eq!(parse_trace(&["--perfetto", "f"]).output.perfetto, Some(Some("f".into())));
        assert_eq!(parse_trace(&["once"]).output.result.json, None);
        assert_eq!(parse_trace(&["-T", "50"]).what.threshold, Some(50_000));
        assert_eq!(parse_trace(&["-c", "0-2"]).what.cpus.unwrap().len(), 3);
    }
}
