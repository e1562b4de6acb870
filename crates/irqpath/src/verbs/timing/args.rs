// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath respond` and `irqpath jitter`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use irqpath_model::{CpuList, ResponseSource, Scheduling};

use crate::output::args::ResultOutput;
use crate::values::{parse_duration, parse_frequency, parse_microseconds};

#[derive(Debug, Args)]
#[command(after_help = RESPOND_EXAMPLES)]
pub struct Respond {
    #[command(flatten)]
    pub what: RespondWhat,

    #[command(flatten)]
    pub task: Task,

    #[command(flatten)]
    pub output: ResultOutput,
}

const RESPOND_EXAMPLES: &str = "\
Examples:
  irqpath respond                                 a timer, 2048 times a second, for a minute
  irqpath respond --cpus 2-3 -d 10m -o result     one task on each of these CPUs
  irqpath respond -T 100                          end at the first over 100 us and say why, exit 1
  irqpath respond --source hpet -f 1000           the HPET's own counter tells how late

Exit codes: 0 done, 1 threshold exceeded, 2 could not run.";

/// What to wait for.
#[derive(Debug, Args)]
#[command(next_help_heading = "What to wait for")]
pub struct RespondWhat {
    /// timer (clock_nanosleep), timerfd, rtc, hpet, or device (intsight)
    #[arg(short, long, value_name = "NAME", default_value = "timer")]
    pub source: ResponseSource,

    /// Interrupts per second, Hz
    #[arg(short, long, value_name = "HZ", default_value = "2048", value_parser = parse_frequency)]
    pub frequency: f64,

    /// Another device than /dev/rtc0, /dev/hpet or /dev/intsight
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub device: Option<PathBuf>,

    /// End at the first response longer than this, name its cause; exit 1
    #[arg(short = 'T', long, value_name = "US", value_parser = parse_microseconds)]
    pub threshold: Option<u64>,

    /// Trace, and explain the slowest responses; on with -T
    #[arg(long)]
    pub causes: bool,

    /// Do not trace with -T: responses are slightly faster, but unexplained
    #[arg(long, conflicts_with = "causes")]
    pub no_causes: bool,
}

/// The task that measures.
#[derive(Debug, Args)]
#[command(next_help_heading = "The task that measures")]
pub struct Task {
    /// How long: 10s, 500ms, 1m; a plain number means seconds
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, default_value = "60s")]
    pub duration: Duration,

    /// One task on each of these CPUs: 1,3,5-7 [default: the last that irqpath may use]
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// Its priority: 80 or f:80 for FIFO, r:80 for round robin, o:0 for an ordinary task
    #[arg(short, long, value_name = "PRIO", default_value = "f:80", allow_hyphen_values = true)]
    pub priority: Scheduling,

    /// Keep idle CPUs from sleeping deeper than they can leave in this time, us (as cyclictest
    /// does with 0); without it power management stays as it is
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(i32).range(0..))]
    pub dma_latency: Option<i32>,
}

#[derive(Debug, Args)]
#[command(after_help = JITTER_EXAMPLES)]
pub struct Jitter {
    #[command(flatten)]
    pub what: JitterWhat,

    #[command(flatten)]
    pub task: Task,

    #[command(flatten)]
    pub output: ResultOutput,
}

const JITTER_EXAMPLES: &str = "\
Examples:
  irqpath jitter --cpus 3                         a loop of about a second, again and again
  irqpath jitter --sines 40000000 --ideal 1.0012s the loop of another run, against its ideal
  irqpath jitter --continuous --cpus 2-3 -T 2     what interrupts these CPUs for 2 us and more

Exit codes: 0 done, 1 an interruption was as long as -T, 2 could not run.";

#[derive(Debug, Args)]
#[command(next_help_heading = "What to do")]
pub struct JitterWhat {
    /// Approximate length of one loop
    #[arg(long = "loop", value_name = "TIME", value_parser = parse_duration, default_value = "1s")]
    pub length: Duration,

    /// Sines in a loop, to repeat the loop of another run [default: as many as --loop takes]
    #[arg(long, value_name = "N", conflicts_with = "length",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub sines: Option<u64>,

    /// Length of an undisturbed loop [default: the shortest loop of this run]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "sines")]
    pub ideal: Option<Duration>,

    /// Read the clock in a tight loop instead, and list the interruptions
    #[arg(long, conflicts_with_all = ["length", "sines", "ideal"])]
    pub continuous: bool,

    /// Interruptions at least this long count [default: 5]; if given, exit 1 if there is one
    #[arg(short = 'T', long, value_name = "US", value_parser = parse_microseconds,
          requires = "continuous")]
    pub threshold: Option<u64>,

    /// Interruptions to list for each CPU, the longest
    #[arg(long, value_name = "N", default_value_t = 20, requires = "continuous")]
    pub list: usize,

    /// Do not trace: interruptions have no causes
    #[arg(long, requires = "continuous")]
    pub no_causes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser as _;

    fn parse_verb(arguments: &[&str]) -> Result<Verb, String> {
        let all = ["irqpath"].iter().chain(arguments);
        Cli::try_parse_from(all).map(|cli| cli.verb).map_err(|e| e.to_string())
    }

    #[test]
    fn the_defaults_are_those_of_the_documents_test() {
        let Ok(Verb::Respond(r)) = parse_verb(&["respond"]) else { panic!() };
        assert_eq!((r.what.source, r.what.frequency), (ResponseSource::Timer, 2048.0));
        assert_eq!((r.task.priority, r.task.duration.as_secs()), (Scheduling::fifo(80), 60));
        assert_eq!(r.task.dma_latency, None);
        let Ok(Verb::Jitter(j)) = parse_verb(&["jitter"]) else { panic!() };
        assert_eq!((j.what.length.as_secs(), j.what.continuous), (1, false));
    }

    #[test]
    fn what_is_refused() {
        for (arguments, part) in [
            (&["respond", "--source", "sundial"][..], "there is: timer timerfd rtc hpet device"),
            (&["respond", "-f", "0"], "interrupts per second"),
            (&["respond", "-p", "100"], "write f:80 or 80 for FIFO"),
            (&["respond", "--causes", "--no-causes"], "cannot be used with"),
            (&["respond", "--dma-latency=-1"], "invalid value"),
            (&["respond", "-c", "x"], "write lists as 1,3,5-7"),
            (&["jitter", "-T", "5"], "--continuous"),
            (&["jitter", "--ideal", "1s"], "--sines"),
            (&["jitter", "--continuous", "--loop", "2s"], "cannot be used with"),
            (&["jitter", "--sines", "0"], "0 is not in 1.."),
        ] {
            let error = parse_verb(arguments).unwrap_err();
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}
