// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `irqpath shield`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use irqpath_model::{CpuList, Scheduling};

use crate::values::parse_duration;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Shield {
    #[command(subcommand)]
    pub verb: ShieldVerb,
}

const EXAMPLES: &str = "\
Examples:
  irqpath shield set --cpus 2-3 --dry-run     what would be changed, and what cannot be
  irqpath shield set --cpus 2-3               keep everything off CPUs 2 and 3
  irqpath shield set --cpus 3 --irq eth0 --task motor.service
                                              this interrupt and this unit to CPU 3, others off
  irqpath shield set --cpus 3 --profile audio --dry-run
                                              what a profile would change, and why
  irqpath shield attach motor --cpus 3        CPU 3 for the processes of motor.service alone
  irqpath shield attach motor --thread axis --cpus 3
                                              CPU 3 for its threads named axis alone
  irqpath shield run -p f:80 --mlock -- CMD   run a program there
  irqpath shield verify                       what still reaches them; exit 1 on drift
  irqpath shield reset                        put everything back as it was

A task or interrupt that may also use other CPUs loses the shielded ones. One that is bound to
shielded CPUs alone stays. irqpath journals each change in /var/lib/irqpath/shield.journal before
making it, so that reset restores it even after a kill.

Exit codes: 0 done, 1 drift found, 2 could not run.";

/// The verbs of the shield.
#[derive(Debug, Subcommand)]
pub enum ShieldVerb {
    /// Shield CPUs, or change which are shielded and from what
    Set(ShieldSet),
    /// Give CPUs to a unit, a container or a single thread, which keeps its cgroup's limits
    Attach(ShieldAttach),
    /// Take back what one attached cgroup had; the others keep theirs
    Detach(ShieldDetach),
    /// Attach and detach a container, as a hook of its runtime
    Hook(ShieldHook),
    /// Start a program on shielded CPUs
    Run(ShieldRun),
    /// Show the shield, what drifted, what cannot be kept off and why
    Status(ShieldStatus),
    /// Show the shield and measure what still reaches the CPUs; exit 1 on drift
    Verify(ShieldVerify),
    /// Set again what drifted, once, as after sleep; the watch does so all the time
    Repair(ShieldRepair),
    /// Restore everything that nobody else has changed since
    Reset(ShieldReset),
}

#[derive(Debug, Args)]
pub struct ShieldSet {
    /// The CPUs to shield: 1,3,5-7
    #[arg(short, long, value_name = "LIST")]
    pub cpus: CpuList,

    /// Bind this interrupt to the CPUs: a number, or a part of its name in /proc/interrupts (eth0
    /// names every queue of eth0); irqbalance is told to leave it alone
    #[arg(short, long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    /// Bind this task to the CPUs: a process with its threads, or each process of a systemd unit,
    /// also of one that starts later (with --watch). In a partition they leave their cgroup
    #[arg(long, value_name = "PID|UNIT")]
    pub task: Vec<String>,

    /// Bind this thread to the CPUs, without the others of its process: ps -L -p PID lists them. The
    /// shield's partition holds whole processes, so tasks are kept off by affinities then; attach
    /// --tid makes a partition for the thread
    #[arg(long, value_name = "TID")]
    pub tid: Vec<u32>,

    /// What becomes of CPUs that share a core with a shielded one: their work slows it. shield takes
    /// them in, offline takes them off until the reset
    #[arg(long, value_name = "WHAT", value_enum, default_value = "keep")]
    pub siblings: Siblings,

    /// Switches for a purpose: audio, robotics, trading or dpdk, or your own from
    /// /etc/irqpath/profiles/NAME.toml; further switches are added. --dry-run says what and why
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,

    #[command(flatten)]
    pub switches: Switches,

    /// How to keep tasks off
    #[arg(long, value_name = "HOW", value_enum, default_value = "auto")]
    pub mechanism: How,

    /// Only show what would be changed; needs no privilege
    #[arg(long, conflicts_with = "watch")]
    pub dry_run: bool,

    /// Stay, and repair what drifts: new devices, irqbalance, tasks that set their affinity
    #[arg(long)]
    pub watch: bool,

    /// Time between two checks of --watch
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    pub interval: Duration,

    /// Print the result as JSON; with --watch one document per line
    #[arg(long)]
    pub json: bool,
}

/// What to keep off; none of them means all but `poll` and `fair_server`.
#[derive(Debug, Args)]
#[command(next_help_heading = "What to keep off [default: all but --poll and --fair-server]")]
pub struct Switches {
    /// Tasks in user space
    #[arg(long)]
    pub tasks: bool,

    /// Interrupts of devices, new interrupts, the spreading of packets; tells irqbalance
    #[arg(long)]
    pub irqs: bool,

    /// The tick, which interrupts a task that has the CPU for itself (by the boot parameter
    /// nohz_full; says what to add). With PREEMPT_RT also raises ktimers/N to FIFO 98: below a task
    /// that computes its work is never done, and keeps the tick going
    #[arg(long)]
    pub ticks: bool,

    /// Kernel threads that are not bound to one CPU
    #[arg(long)]
    pub kthreads: bool,

    /// Work of unbound workqueues
    #[arg(long)]
    pub workqueues: bool,

    /// RCU callbacks (by the boot parameter rcu_nocbs; says what to add)
    #[arg(long)]
    pub rcu: bool,

    /// The watchdogs, and timers of CPUs in nohz_full, which would expire on others
    #[arg(long)]
    pub timers: bool,

    /// Deep sleep: a CPU that sleeps deeply takes long to wake up for an interrupt. Allows the
    /// shallowest state of the shielded CPUs (pm_qos_resume_latency_us)
    #[arg(long)]
    pub idle: bool,

    /// Any sleep: an idle shielded CPU polls, which answers fastest, also where a hypervisor would
    /// take a sleeping CPU away. Takes the full power of the core, and slows its sibling
    #[arg(long)]
    pub poll: bool,

    /// Low frequencies: a CPU that slowed down computes slowly until its governor notices. Sets
    /// the governor performance where no other CPU shares the frequency
    #[arg(long)]
    pub governor: bool,

    /// The fair server (Linux 6.12), which takes 5 % of a CPU from a real-time task while ordinary
    /// ones wait. Without it a program that never sleeps starves the kernel's threads. Needs debugfs
    #[arg(long)]
    pub fair_server: bool,

    /// The folding of counters, a work item on each CPU every second; every 10 s instead
    /// (vm.stat_interval, for the whole host)
    #[arg(long)]
    pub statistics: bool,
}

#[derive(Debug, Args)]
pub struct ShieldAttach {
    /// A unit of the system that runs, or the path of a cgroup from the root of the hierarchy, with
    /// a slash: /kubepods/pod7. It gets a partition of its own (Linux 6.11)
    #[arg(value_name = "UNIT|CGROUP", required_unless_present = "tid", conflicts_with = "tid")]
    pub cgroup: Option<String>,

    /// Give the CPUs to this thread alone, in a threaded cgroup below that of its process. Threads
    /// that it starts go with it; the others of the process stay off these CPUs
    #[arg(long, value_name = "TID")]
    pub tid: Vec<u32>,

    /// The same for every thread of this name of the unit (ps -L -o comm), also for one that starts
    /// later, with verify --watch
    #[arg(long, value_name = "NAME", requires = "cgroup")]
    pub thread: Vec<String>,

    /// Its CPUs, for nothing else. They are added to those that are shielded already
    #[arg(short, long, value_name = "LIST")]
    pub cpus: CpuList,

    /// Bind this interrupt to the same CPUs; as set --irq
    #[arg(short, long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    #[command(flatten)]
    pub switches: Switches,

    /// Only show what would be changed; needs no privilege
    #[arg(long)]
    pub dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShieldDetach {
    /// What was attached: a unit, the path of a cgroup with a slash, or a container by its whole id.
    /// It may have ended
    #[arg(value_name = "UNIT|CGROUP|CONTAINER")]
    pub name: String,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A container asks for it by the annotation org.irqpath.shield: a list of CPUs, or \"cpuset\" for those
that its cpuset has, as with the kubelet's static CPU manager. org.irqpath.shield.NAME is for the
container NAME of a pod alone. The runtime gives the state of the container on standard input (OCI
runtime-spec). As a createRuntime hook it attaches the container's cgroup, as a poststop hook it
detaches it. Containers without the annotation are left alone.

Exit codes: 0 done, 2 could not; a runtime then does not start the container. The reason is in the
system's log, too.")]
pub struct ShieldHook {
    /// The CPUs that containers may have; an annotation that names another one is refused
    #[arg(long, value_name = "LIST")]
    pub allow: CpuList,

    /// Bind this interrupt to the container's CPUs while it runs; as set --irq
    #[arg(short, long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    #[command(flatten)]
    pub switches: Switches,
}

/// How tasks are kept off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// The kernel's shield where it has one, else a partition where there can be one, else affinities
    Auto,
    /// /proc/shield, on the irqpath kernel
    Kernel,
    /// An isolated partition of cgroup version 2 (Linux 6.2)
    Partition,
    /// The affinity of every task; new ones inherit it
    Affinity,
}

/// What becomes of the other CPUs of a shielded core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Siblings {
    /// They are only named
    Keep,
    /// They are shielded, too
    Shield,
    /// They are taken off
    Offline,
}

#[derive(Debug, Args)]
pub struct ShieldRun {
    /// On which of the shielded CPUs [default: all of them]
    #[arg(short, long, value_name = "LIST")]
    pub cpus: Option<CpuList>,

    /// Bind this interrupt to the same CPUs, until the shield is reset; as set --irq
    #[arg(short, long, value_name = "N|NAME")]
    pub irq: Vec<String>,

    /// Leave the program in the unit of its caller, with limits, log and kill by cgroup; the CPUs are
    /// then for programs of that unit alone, until all of them have ended. Needs Linux 6.11
    #[arg(long)]
    pub keep_unit: bool,

    /// Policy and priority: f:80 or 80 for FIFO, r:80 for round robin, o:0 for a nice value
    #[arg(short, long, value_name = "PRIO")]
    pub priority: Option<Scheduling>,

    /// Lock the program's memory, present and future, before its first instruction
    #[arg(short, long)]
    pub mlock: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct ShieldStatus {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShieldVerify {
    /// How long to measure
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    pub duration: Duration,

    /// Count only, from /proc; misses short-lived tasks
    #[arg(long)]
    pub no_trace: bool,

    /// Stay and repair instead, as set --watch
    #[arg(long, conflicts_with_all = ["duration", "no_trace"])]
    pub watch: bool,

    /// Time between two checks of --watch
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "2s")]
    pub interval: Duration,

    /// Print it as JSON; with --watch one document per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShieldRepair {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShieldReset {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
