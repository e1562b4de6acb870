// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath tune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::values::parse_duration;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Tune {
    /// Instead of learning.
    #[command(subcommand)]
    pub verb: Option<TuneVerb>,

    #[command(flatten)]
    pub learn: TuneLearn,
}

const EXAMPLES: &str = "\
Examples:
  irqpath tune                       learn for 30 s; the table, and what would be changed
  irqpath tune --learn 2m --apply    learn longer, then set the priorities
  irqpath tune --apply --watch       stay: new tasks, new devices, tasks that are gone
  irqpath tune --selective           what serves no real-time task would become ordinary
  irqpath tune --packets=eth0        what a thread for each queue of eth0 would do
  irqpath tune --packets=eth0 --steer
                                     by which queue each receiver's packets would come
  irqpath tune status                what is tuned now, and why
  irqpath tune reset                 put every priority back as it was
  irqpath tune pin eth0 --task stop  an interrupt that never came yet serves this task
  irqpath tune export -o tune.toml   what was learned and pinned, by name
  irqpath tune apply tune.toml       at boot: right before the first interrupt

A thread whose priority is not the kernel's default was set by somebody and is left alone. Before
anything is changed it is written to /var/lib/irqpath/tune.journal, so that reset puts it back even
after a kill.

Exit codes: 0 done, 1 a change was refused, 2 could not run.";

#[derive(Debug, Subcommand)]
pub enum TuneVerb {
    /// Show what is tuned now
    Status(TuneShow),
    /// Restore every priority that nobody else has changed since; pins stay
    Reset(TuneShow),
    /// Say that an interrupt serves a task, before any wakeup has shown it
    Pin(TunePin),
    /// Forget a pin, and take back what was set for it
    Unpin(TuneUnpin),
    /// Write down what was learned and pinned, by names that the next boot has, too
    Export(TuneExport),
    /// Pin what a file says in place of the file before, and set the priorities
    Apply(TuneApply),
}

#[derive(Debug, Args)]
pub struct TunePin {
    /// The interrupt: its number, its name or a part of its name
    #[arg(value_name = "IRQ|NAME")]
    pub irq: String,

    /// The task that waits: its number, its name or its unit (ends with .service)
    #[arg(long, value_name = "PID|COMM|UNIT")]
    pub task: String,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneUnpin {
    /// The interrupt: its number, its name or a part of its name
    #[arg(value_name = "IRQ|NAME")]
    pub irq: String,

    /// Only the pin to this task
    #[arg(long, value_name = "PID|COMM|UNIT")]
    pub task: Option<String>,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneExport {
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Learn for so long first; without it, what irqpath acts on now is written
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub learn: Option<Duration>,

    /// Print it as JSON
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneApply {
    /// A file that export wrote, or one by hand
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,

    /// Take a file that is not there for an empty one
    #[arg(long)]
    pub if_exists: bool,

    /// Stay: serve tasks and devices of the file when they appear. Learns nothing, traces nothing
    #[arg(long)]
    pub watch: bool,

    /// Time between two checks of --watch
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    pub interval: Duration,

    /// Change priorities that were set by hand, too
    #[arg(long)]
    pub force: bool,

    /// Print it as JSON; with --watch one document per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneShow {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TuneLearn {
    /// How long to learn: 30s, 2m; a plain number means seconds
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "30s")]
    pub learn: Duration,

    /// Set the priorities
    #[arg(long)]
    pub apply: bool,

    /// Only show what would be set (the default)
    #[arg(long, conflicts_with = "apply")]
    pub dry_run: bool,

    /// Keep learning; with --apply, follow new tasks and devices, and tasks that are gone
    #[arg(long)]
    pub watch: bool,

    /// Time between two checks of --watch
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    pub interval: Duration,

    /// Make interrupt threads ordinary (SCHED_OTHER) that serve no real-time task, also not by way of
    /// another thread. With --watch, real-time again at the next check after they serve one
    #[arg(long, conflicts_with = "replay")]
    pub selective: bool,

    /// Let threads poll these network devices (threaded NAPI; without names all that can), each just
    /// above the highest real-time task that it wakes. Says what else the kernel offers receivers
    #[arg(long, value_name = "DEVICE,...", num_args = 0..=1, require_equals = true,
          default_missing_value = "all", conflicts_with = "replay")]
    pub packets: Option<String>,

    /// Bring the packets of each real-time task that has a port by a receive queue of its own, where
    /// a device of --packets has flow rules (ethtool n-tuple). Only tasks that are there at the start
    #[arg(long, requires = "packets")]
    pub steer: bool,

    /// Change priorities that were set by hand, too
    #[arg(long)]
    pub force: bool,

    /// Learn from this recording of trace --record; shows the table and changes nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["apply", "watch"])]
    pub replay: Option<PathBuf>,

    /// Print the result as JSON; with --watch one document per line
    #[arg(long)]
    pub json: bool,
}
