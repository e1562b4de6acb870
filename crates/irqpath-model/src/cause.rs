// SPDX-License-Identifier: GPL-2.0-or-later
//! Causes: what ran, or what could not be preempted, during a stage. The words are rtla's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::{PathRecord, Point};

/// rtla's two classes, and what belongs to neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CauseClass {
    /// Something more urgent ran.
    Interference,
    /// Something less urgent could not be interrupted or preempted.
    Blocking,
    /// The path's own work.
    Own,
    /// The CPU was idle and had to leave the idle state.
    Idle,
    /// The hypervisor ran something else on the CPU.
    Stolen,
    /// No transition covers it, or the one that would was not seen.
    Unexplained,
}

/// What kind of occupant took the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    /// The path's own handler, softirq, irq thread, work item or target.
    Own,
    /// A non-maskable interrupt: perf, watchdog, backtrace.
    Nmi,
    /// A hard interrupt other than the path's own.
    Hardirq,
    /// A softirq other than the path's own.
    Softirq,
    /// A thread that is as urgent as, or more urgent than, the task that waits.
    Thread,
    /// A less urgent thread while interrupts were off: the raise could not be taken.
    IrqsOff,
    /// A less urgent thread that could not be preempted (preemption off, or the switch itself).
    PreemptOff,
    /// A less urgent thread boosted by priority inheritance: it held a lock that was wanted.
    LockHolder,
    /// The idle task: leaving the idle state, and delivery of the wakeup IPI.
    Idle,
    /// Nothing of this machine: the hypervisor had taken the CPU away.
    Steal,
    /// No transition covers this part.
    Unexplained,
    /// Whoever ran here: a switch was not seen.
    Unseen,
}

impl CauseKind {
    /// Every kind, in the order in which exporters list them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The class, from which exporters take its colour.
    pub const fn class(self) -> CauseClass {
        match self {
            Self::Own => CauseClass::Own,
            Self::Nmi | Self::Hardirq | Self::Softirq | Self::Thread => CauseClass::Interference,
            Self::IrqsOff | Self::PreemptOff | Self::LockHolder => CauseClass::Blocking,
            Self::Idle => CauseClass::Idle,
            Self::Steal => CauseClass::Stolen,
            Self::Unexplained | Self::Unseen => CauseClass::Unexplained,
        }
    }

    /// True if no change of this machine's system can shorten it: stolen time, and under a
    /// hypervisor the way out of idle, because the hypervisor wakes the virtual CPU. The few
    /// microseconds of the guest's own idle loop count as the hypervisor's too.
    pub const fn is_hypervisors(self, is_virtual: bool) -> bool {
        match self {
            Self::Steal => true,
            Self::Idle => is_virtual,
            _ => false,
        }
    }

    /// The words shown to people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Own => "own work",
            Self::Nmi => "NMI",
            Self::Hardirq => "hardirq",
            Self::Softirq => "softirq",
            Self::Thread => "thread",
            Self::IrqsOff => "interrupts off",
            Self::PreemptOff => "preemption off",
            Self::LockHolder => "lock holder",
            Self::Idle => "idle exit",
            Self::Steal => "stolen by the hypervisor",
            Self::Unexplained => "unexplained",
            Self::Unseen => "unseen",
        }
    }
}

/// One occupant of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The kind of what had the CPU.
    pub kind: CauseKind,
    /// Its name: `36:virtio1-req.0`, `net_rx`, `stress-ng:4711 f:20`.
    pub who: String,
    /// Time it took of the stage, ns.
    pub ns: u64,
    /// In how many pieces.
    pub nr_times: u32,
}

/// A stage of one path and what took its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageCauses {
    /// The point that starts the stage.
    pub from: Point,
    /// The point that ends and names it.
    pub to: Point,
    /// The CPU on which it ended.
    pub cpu: u16,
    /// The CPUs it waited for, in order, where that is not just `cpu`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited_for: Vec<u16>,
    /// Length of the stage, ns.
    pub ns: u64,
    /// Longest first. Their times, the unexplained one included, add up to `ns`.
    pub causes: Vec<Cause>,
}

impl StageCauses {
    /// Where it waited: `CPU 1`, `CPUs 0, 1`.
    pub fn place_text(&self) -> String {
        match self.waited_for.as_slice() {
            [] => format!("CPU {}", self.cpu),
            [cpu] => format!("CPU {cpu}"),
            cpus => {
                let cpus: Vec<String> = cpus.iter().map(u16::to_string).collect();
                format!("CPUs {}", cpus.join(", "))
            }
        }
    }
}

/// A path over the threshold, or the slowest of its group, with its causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlowPath {
    /// The record whose stages are explained here.
    pub record: PathRecord,
    /// One entry per stage.
    pub stages: Vec<StageCauses>,
}

impl SlowPath {
    /// The single cause that took the most time, its own work aside.
    pub fn main_cause(&self) -> Option<(&StageCauses, &Cause)> {
        self.stages
            .iter()
            .flat_map(|s| s.causes.iter().map(move |c| (s, c)))
            .filter(|(_, c)| c.kind != CauseKind::Own)
            .max_by_key(|(_, c)| c.ns)
    }

    /// Time that the hypervisor took, ns; see [`CauseKind::is_hypervisors`].
    pub fn hypervisor_ns(&self, is_virtual: bool) -> u64 {
        let causes = self.stages.iter().flat_map(|stage| &stage.causes);
        causes.filter(|cause| cause.kind.is_hypervisors(is_virtual)).map(|cause| cause.ns).sum()
    }
}
