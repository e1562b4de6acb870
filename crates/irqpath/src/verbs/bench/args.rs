// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath bench`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use irqpath_model::bench::{Clock, Mechanism, UnknownWord, Wait};

use crate::output::args::ResultOutput;
use crate::values::parse_rate;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Bench {
    #[command(flatten)]
    pub what: BenchWhat,

    #[command(flatten)]
    pub looks: BenchLooks,

    #[command(flatten)]
    pub output: ResultOutput,
}

const EXAMPLES: &str = "\
Examples:
  irqpath bench --reps 1000                         softirq, tasklet and workqueue, 20 s each
  irqpath bench --mechanism workqueue --load 0,1,256 --causes -o result
  irqpath bench --mechanism none --clock all        what the clocks cost and how fine they are
  irqpath bench --raw copied/softirq --raw copied/workqueue --report r.html

Needs root and the kernel module intsight, except with --raw. Several values of --mechanism, --rate
and --load are measured one after the other, in all combinations.

Exit codes: 0 done, 2 could not run.";

#[derive(Debug, Args)]
#[command(next_help_heading = "What to measure")]
pub struct BenchWhat {
    /// Kinds of bottom half, or all
    #[arg(
        short,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "softirq,tasklet,workqueue"
    )]
    pub mechanism: Vec<AllOr<Mechanism>>,

    /// Runs of each benchmark
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50_000,
          value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub reps: u64,

    /// Interrupts per second, Hz
    #[arg(long, value_name = "HZ", value_delimiter = ',', default_value = "50",
          value_parser = parse_rate)]
    pub rate: Vec<u64>,

    /// What the triggering thread does between two runs: sleep, or spin
    #[arg(long, value_name = "HOW", default_value = "passive")]
    pub wait: Wait,

    /// Number of CPU-bound processes on the same CPU
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0",
          value_parser = clap::value_parser!(u32).range(0..=4096))]
    pub load: Vec<u32>,

    /// What raises the interrupt: irq_work, hrtimer, edu [default: as the module is set]
    #[arg(long, value_name = "NAME")]
    pub trigger: Option<String>,

    /// CPU of interrupts, bottom halves and load [default: the last CPU that irqpath may use]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u16>,

    /// Analyse a directory that was copied from a machine with intsight; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath,
          conflicts_with_all = ["mechanism", "reps", "rate", "wait", "load", "trigger", "cpu",
                                "tracepoints", "causes"])]
    pub raw: Vec<PathBuf>,

    /// The copies are from the lab's exact mode: cycle counters count instructions
    #[arg(long, requires = "raw")]
    pub exact: bool,
}

/// How to look at it.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to look at it")]
pub struct BenchLooks {
    /// Clocks to report, or all [default: the finest that the module stamps]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub clock: Vec<AllOr<Clock>>,

    /// Tracepoints to hook, all or none [default: the entries of interrupts]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tracepoints: Vec<String>,

    /// Hook every tracepoint that names a cause: explains slow runs, but adds time to each
    #[arg(long, conflicts_with = "tracepoints")]
    pub causes: bool,
}

/// A word, or `all` of those that the module has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllOr<T> {
    All,
    One(T),
}

impl<T: FromStr<Err = UnknownWord>> FromStr for AllOr<T> {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::One) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn parse_bench(arguments: &[&str]) -> Result<Bench, String> {
        let all = ["irqpath", "bench"].iter().chain(arguments);
        match Cli::try_parse_from(all).map_err(|e| e.to_string())?.verb {
            Verb::Bench(bench) => Ok(*bench),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_field() {
        let b = parse_bench(&[]).unwrap();
        let three = [Mechanism::Softirq, Mechanism::Tasklet, Mechanism::Workqueue];
        assert_eq!(b.what.mechanism, three.map(AllOr::One));
        assert_eq!((b.what.reps, b.what.rate, b.what.load), (50_000, vec![20_000], vec![0]));
        assert_eq!(b.what.wait, Wait::Passive);
    }

    #[test]
    fn lists_are_separated_by_commas() {
        let b = parse_bench(&["--load", "0,1,256", "--rate", "50,26.3,25.6", "--clock", "all"])
            .unwrap();
        assert_eq!(b.what.load, [0, 1, 256]);
        assert_eq!(b.what.rate, [20_000, 38_023, 39_063]);
        assert_eq!(b.looks.clock, [AllOr::All]);
    }

    #[test]
    fn what_is_refused() {
        for (arguments, part) in [
            (
                &["--mechanism", "magic"][..],
                "there is no mechanism 'magic'; there is: none softirq",
            ),
            (&["--rate", "0"], "runs per second"),
            (&["--wait", "nap"], "there is no way to wait 'nap'"),
            (&["--raw", "d", "--reps", "3"], "cannot be used with"),
            (&["--exact"], "--raw"),
            (&["--causes", "--tracepoints", "x"], "cannot be used with"),
            (&["--reps", "0"], "1..=10000000"),
        ] {
            let error = parse_bench(arguments).unwrap_err();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}
