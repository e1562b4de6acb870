// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath record`. Flags follow `trace`, and rtla where it has them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use irqpath_model::{CpuList, Point};
use jiff::Timestamp;

use super::actions::Step;
use super::limits::Rate;
use super::triggers::Asked;
use crate::values::{parse_duration, parse_microseconds};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Record {
    /// Write captures below this directory, each as a result directory NNNN-TRIGGER
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,

    /// How long to record [default: until a signal ends it]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub duration: Option<Duration>,

    /// Start to record at this time, as other hosts do: 2026-05-04T12:00:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_wall_time)]
    pub at: Option<Timestamp>,

    /// Print what was recorded as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub when: When,

    #[command(flatten)]
    pub what: What,

    #[command(flatten)]
    pub bounds: Bounds,
}

const EXAMPLES: &str = "\
Examples:
  irqpath record -o DIR -T 500                  a path took over 500 us
  irqpath record -o DIR --stage switch_in:200   a task waited 200 us for its CPU
  irqpath record -o DIR --trigger socket:/run/app.sock    the application says so
  irqpath report DIR/0001-threshold             a capture is a result directory
  irqpath trace once --replay DIR/0001-threshold/trace.rec     with a recording

SIGUSR1 makes a capture by hand. SIGINT or SIGTERM end the recorder.
Exit codes: 0 done, 2 could not run.";

#[derive(Debug, Args)]
#[command(next_help_heading = "When to capture")]
pub struct When {
    /// When a path took at least this long, its return to user space included
    #[arg(short = 'T', long, value_name = "US", value_parser = parse_microseconds)]
    pub threshold: Option<u64>,

    /// When this stage of a path took so long: switch_in:200; repeatable
    #[arg(long, value_name = "NAME:US", value_parser = parse_stage)]
    pub stage: Vec<(Point, u64)>,

    /// When something else happens: a line on fifo:PATH or socket:PATH, a program at
    /// usdt:BIN:PROVIDER:NAME or uprobe:BIN:FUNCTION, or shield (an interrupt line on an isolated
    /// CPU); repeatable
    #[arg(long, value_name = "WHAT")]
    pub trigger: Vec<Asked>,

    /// One more capture when the recorder ends
    #[arg(long)]
    pub at_end: bool,

    /// What to do then, in order: trace (write a capture), signal,num=N,pid=PID|parent,
    /// shell,command=COMMAND, continue (go on recording); repeatable [default: trace and continue]
    #[arg(long, value_name = "ACTION")]
    pub on_threshold: Vec<Step>,

    /// At most so many captures in so much time; what comes beyond is counted
    #[arg(long, value_name = "N/TIME", default_value = "6/min")]
    pub at_most: Rate,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What to keep")]
pub struct What {
    /// Only paths whose interrupt or target was on one of these CPUs: 1,3,5-7
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// Only paths of this interrupt: number, device name, or vector (36, eth0, LOC); repeatable
    #[arg(long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    /// Only paths to this task: thread or process id, or name; repeatable
    #[arg(long, value_name = "PID|COMM")]
    pub task: Vec<String>,

    /// Do not follow the target to user space; avoids a tracing program in every system call
    #[arg(long)]
    pub no_user: bool,

    /// Keep the kernel stack of who blocked a path for at least this long, us
    #[arg(long, value_name = "US", num_args = 0..=1, default_missing_value = "100",
          value_parser = parse_microseconds)]
    pub stacks: Option<u64>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Bounds")]
pub struct Bounds {
    /// How much time before a trigger a capture has
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s")]
    pub keep: Duration,

    /// How much time after it
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "100ms")]
    pub after: Duration,

    /// Memory of the recorder in all: rings and tables in the kernel, and this process
    #[arg(long, value_name = "MiB", default_value_t = 192,
          value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub memory: u32,

    /// What the captures in DIR may take on the disk; the oldest go for new ones
    #[arg(long, value_name = "MiB", default_value_t = 1024,
          value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub disk: u32,
}

/// `2026-05-04T12:00:00Z`, or seconds since 1970 with any fraction.
fn parse_wall_time(text: &str) -> Result<Timestamp, String> {
    let seconds = || {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{fraction:0<9}");
        let ns = digits.get(..9)?.parse().ok()?;
        Timestamp::new(whole.parse().ok()?, ns).ok()
    };
    let parsed = text.parse().ok().or_else(seconds);
    parsed.ok_or_else(|| "write a time as 2026-05-04T12:00:00Z or 1777896000".to_owned())
}

/// `switch_in:200`.
pub fn parse_stage(text: &str) -> Result<(Point, u64), String> {
    let names = || {
        let names: Vec<&str> = Point::ALL[1..].iter().map(|point| point.name()).collect();
        format!("write a stage and microseconds, as switch_in:200; stages: {}", names.join(", "))
    };
    let (name, us) = text.split_once(':').ok_or_else(names)?;
    let stage = Point::ALL[1..].iter().find(|point| point.name() == name).ok_or_else(names)?;
    Ok((*stage, parse_microseconds(us)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_time_is_read_in_both_forms() {
        let want = "2026-05-04T12:00:00Z".parse::<Timestamp>().unwrap();
        assert_eq!(parse_wall_time("2026-05-04T12:00:00Z"), Ok(want));
        assert_eq!(parse_wall_time("1777896000"), Ok(want));
        let half = parse_wall_time("1777896000.5").unwrap();
        assert_eq!(half.as_millisecond() - want.as_millisecond(), 500);
        for text in ["", "12:00", "noon", "1777896000.x", "99999999999999999999"] {
            assert!(parse_wall_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_stage_has_a_name_and_a_length() {
        assert_eq!(parse_stage("switch_in:200"), Ok((Point::SwitchIn, 200_000)));
        assert_eq!(parse_stage("hardirq:1ms"), Ok((Point::Hardirq, 1_000_000)));
        for text in ["switch_in", "raise:5", "other:5", "user:", "user:-1", ":5", ""] {
            assert!(parse_stage(text).is_err(), "{text}");
        }
    }
}
