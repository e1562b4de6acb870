// SPDX-License-Identifier: GPL-2.0-or-later
//! What became of a guest, from its console and what it left. Pure.

use std::fmt;
use std::time::Duration;

use super::result::{Head, JobEnd, Results, State};
use super::splat::{self, Splat, SplatKind};
use super::{Accelerator, VmError};

/// The status of a job that wants another boot: `EX_TEMPFAIL` of sysexits.h.
const TRY_AGAIN: u32 = 75;
/// Lines of a console or a job's output that go into an error.
const NR_TAIL_LINES: usize = 20;

/// How a guest ended. A later one in this list is never hidden by an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It ran its job and switched itself off.
    PoweredOff,
    /// The same, but its kernel complained; all complaints are in [`Outcome::splats`].
    Splat,
    /// It could not run its job; the console says why.
    SetupFailed,
    /// It ended without leaving results: power off by the job, a restart, a triple fault.
    Vanished,
    /// Its kernel gave up.
    Panic,
    /// It was still working when the time limit of the host was reached.
    TimeLimit {
        /// How far it was.
        stage: Stage,
    },
    /// It did nothing any more when the time limit of the host was reached.
    Hung {
        /// How far it was.
        stage: Stage,
        /// How long its console had been silent.
        silent: Duration,
        /// What its processors did, in one line.
        cpus: String,
    },
}

/// How far a guest came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its kernel was starting.
    Boot,
    /// Its job was running, or its results were being packed.
    Job,
    /// The results were handed over.
    Off,
}

/// What became of a guest.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub ending: Ending,
    /// How the job ended, if it was run and ended.
    pub job: Option<JobEnd>,
    /// What the job left in `/results`; nothing if they did not fit or the guest broke down.
    pub results: Results,
    /// Size of results that did not fit into [`super::Machine::result_mib`], bytes.
    pub overflow: Option<u64>,
    /// All that the kernel and init wrote to the serial port.
    pub console: String,
    /// What the kernel complained about.
    pub splats: Vec<Splat>,
    /// The kernel's taint flags after the job.
    pub taint: u64,
    /// Guest time from boot to the start of the job.
    pub boot_ns: Option<u64>,
    /// Guest time the job took.
    pub job_ns: Option<u64>,
    /// Host time from the start of QEMU to its end.
    pub wall: Duration,
    /// How often the guest was booted; more than once after an error of QEMU's.
    pub nr_boots: u32,
    /// Who executed the guest's instructions.
    pub accelerator: Accelerator,
    /// Whether another run would give the same: figures of other runs are to be marked.
    pub exact: bool,
    /// It was ended because it was caught in an error of QEMU's, see [`super::breakpoint`].
    pub(super) stale_breakpoint: bool,
}

/// What a run leaves to be read.
pub(super) struct Evidence {
    pub console: String,
    /// The head and the archive behind it, if there is a head.
    pub head: Option<Head>,
    pub results: Results,
    /// Set when QEMU had to be ended by force.
    pub forced: Option<Forced>,
    pub wall: Duration,
    pub accelerator: Accelerator,
}

/// What was seen of a guest before it was ended by force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Forced {
    pub silent: Duration,
    pub cpus: String,
    /// No processor would have done anything any more.
    pub dead: bool,
    /// It was caught in an error of QEMU's, see [`super::breakpoint`].
    pub stale_breakpoint: bool,
}

impl Stage {
    /// From the lines of init.
    pub(super) fn from_console(console: &str) -> Self {
        let said = |text: &str| console.lines().any(|line| line.starts_with(text));
        if console.lines().any(is_handover) {
            Self::Off
        } else if said("irqpath: job starts") || said("irqpath: shell starts") {
            Self::Job
        } else {
            Self::Boot
        }
    }
}

fn is_handover(line: &str) -> bool {
    line.starts_with("irqpath: ") && line.contains(" bytes of results")
}

impl Outcome {
    pub(super) fn from_evidence(evidence: Evidence) -> Self {
        let Evidence { console, head, results, forced, wall, accelerator } = evidence;
        let splats = splat::find_splats(&console);
        let stale_breakpoint = forced.as_ref().is_some_and(|forced| forced.stale_breakpoint);
        let ending = judge_ending(&console, head.as_ref(), forced, &splats);
        let ran = head.filter(|head| head.state != State::SetupFailed);
        let overflow = head.filter(|head| head.state == State::Overflow).map(|head| head.length);
        Self {
            ending,
            job: ran.map(|head| head.job),
            results,
            overflow,
            splats,
            taint: head.map_or(0, |head| head.taint),
            boot_ns: ran.map(|head| head.job_start_ns),
            job_ns: ran.map(|head| head.job_end_ns.saturating_sub(head.job_start_ns)),
            console,
            wall,
            nr_boots: 1,
            accelerator,
            exact: accelerator.is_exact(),
            stale_breakpoint,
        }
    }

    /// This outcome, if the job ended with status 0, its results are here and the kernel did not
    /// complain.
    ///
    /// # Errors
    /// [`VmError::Guest`] or [`VmError::Job`], with the last lines of the console or of the
    /// job's output.
    pub fn require_success(self) -> Result<Self, VmError> {
        self.find_problem().map_or(Ok(self), Err)
    }

    /// Why this outcome is no result, see [`Outcome::require_success`].
    pub fn find_problem(&self) -> Option<VmError> {
        let splat = self.splats.first().map(|splat| format!("{}: {}", splat.kind, splat.title));
        let what = match &self.ending {
            Ending::PoweredOff | Ending::Splat => None,
            ending => Some(match (&splat, ending) {
                (Some(splat), Ending::Panic) => format!("panicked; first complaint: {splat}"),
                (Some(splat), _) => format!("{ending}; its kernel complained before: {splat}"),
                (None, _) => ending.to_string(),
            }),
        };
        let what = what
            .or(self.overflow.map(overflow_text))
            .or(splat.map(|splat| format!("finished, but its kernel complained: {splat}")));
        if let Some(what) = what {
            let first = self.splats.first().map_or(usize::MAX, |splat| splat.line);
            return Some(VmError::Guest { what, console: excerpt_around(&self.console, first) });
        }
        let end = self.job.filter(|end| *end != JobEnd::Exited(0))?;
        Some(VmError::Job { end, log: excerpt_around(&self.results.job_log(), usize::MAX) })
    }

    /// Whether a breakpoint that the kernel does not know was its end or its first complaint.
    pub(super) fn met_breakpoint(&self) -> bool {
        self.stale_breakpoint || self.splats.first().is_some_and(Splat::is_breakpoint)
    }

    /// Whether the job says that this boot is none to measure in, and another one may be.
    pub(super) fn job_gave_up(&self) -> bool {
        self.job == Some(JobEnd::Exited(TRY_AGAIN))
    }
}

fn overflow_text(length: u64) -> String {
    let mib = length.div_ceil(1 << 20);
    format!("has {mib} MiB of results, more than there is room for; raise result_mib")
}

fn judge_ending(
    console: &str,
    head: Option<&Head>,
    forced: Option<Forced>,
    splats: &[Splat],
) -> Ending {
    let stage = Stage::from_console(console);
    if splats.iter().any(|splat| splat.kind == SplatKind::Panic) {
        return Ending::Panic;
    }
    if let Some(Forced { silent, cpus, dead, .. }) = forced {
        // Before and after the job a guest has no reason to take long.
        return if dead || stage != Stage::Job {
            Ending::Hung { stage, silent, cpus }
        } else {
            Ending::TimeLimit { stage }
        };
    }
    match head.map(|head| head.state) {
        None => Ending::Vanished,
        Some(State::SetupFailed) => Ending::SetupFailed,
        Some(_) if splats.is_empty() => Ending::PoweredOff,
        Some(_) => Ending::Splat,
    }
}

/// Some lines from line `from` on, or the last ones.
fn excerpt_around(text: &str, from: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = from.min(lines.len().saturating_sub(NR_TAIL_LINES));
    let end = lines.len().min(start + NR_TAIL_LINES);
    lines[start..end].join("\n")
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PoweredOff => f.write_str("powered off"),
            Self::Splat => f.write_str("finished, but its kernel complained"),
            Self::SetupFailed => f.write_str("could not run its job; its console says why"),
            Self::Vanished => f.write_str(
                "ended without leaving results; the job must not switch it off or restart it",
            ),
            Self::Panic => f.write_str("panicked"),
            Self::TimeLimit { stage } => {
                write!(f, "was still {stage} at the time limit; raise it, or do less")
            }
            Self::Hung { stage, silent, cpus } => {
                let silent = silent.as_secs();
                write!(f, "hung while {stage}; its console was silent for {silent} s; {cpus}")
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boot => "booting",
            Self::Job => "running its job",
            Self::Off => "switching off",
        })
    }
}

impl fmt::Display for JobEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "ended with status {status}"),
            Self::Signalled(signal) => write!(f, "was killed by signal {signal}"),
            Self::Limit(limit_s) => write!(f, "was killed at its limit of {limit_s} s guest time"),
        }
    }
}
