// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder: why a capture was made, what of it was kept, and what the recorder says at
//! its end.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{FromRepr, IntoStaticStr, VariantArray};

pub use crate::capture::{Capture, ClockReading, Clocks};
use crate::{Comm, Loss, Missing, Overhead};

/// What makes the recorder write a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A path took too long as a whole.
    Threshold,
    /// A stage of a path did.
    Stage,
    /// By hand: SIGUSR1.
    Signal,
    /// A line on a FIFO.
    Fifo,
    /// A line on a socket.
    Socket,
    /// A program came to a static probe.
    Usdt,
    /// A program came to a function.
    Uprobe,
    /// An interrupt line came to an isolated CPU.
    Shield,
    /// The end of the recorder.
    End,
}

impl Trigger {
    /// As in names of captures.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a trigger made no capture of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Suppressed {
    /// It is in a capture that was about to be made anyway.
    SameCapture,
    /// There were as many captures as may be made in that time.
    Rate,
    /// The last capture was still being written, and another trigger waited for that already.
    Busy,
    /// The capture alone was larger than the budget of disk.
    Budget,
    /// To write it would have taken more than the recorder's memory.
    Memory,
    /// It could not be written: the disk was full, say.
    Failed,
    /// No capture was asked for, only actions.
    Unwanted,
}

impl Suppressed {
    /// In words, after a count.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::SameCapture => "in a capture that another trigger had asked for",
            Self::Rate => "beyond the rate limit (--at-most)",
            Self::Busy => "while captures were being written or waited for it",
            Self::Budget => "too large for the budget of disk (--disk)",
            Self::Memory => "would have taken more than the memory (--memory)",
            Self::Failed => "could not be written",
            Self::Unwanted => "without the action trace",
        }
    }
}

/// How a path was blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(IntoStaticStr, FromRepr)]
#[strum(serialize_all = "snake_case")]
#[repr(u32)]
pub enum Blocked {
    /// The interrupt came late, as interrupts were off.
    Irqs,
    /// The softirq came late.
    Softirqs,
    /// The woken task had no CPU: who ran could not be preempted, or had the right to run.
    Cpu,
    /// What carried the path waited for a lock.
    Lock,
}

/// The kernel stack of who blocked a path, taken where the block ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelStack {
    /// Where it was taken.
    pub cpu: u16,
    /// When the block began, `CLOCK_MONOTONIC` ns.
    pub from_ns: u64,
    /// When it ended.
    pub until_ns: u64,
    /// How it blocked.
    pub why: Blocked,
    /// Whose stack it is.
    pub tid: u32,
    /// Its name.
    pub comm: Comm,
    /// The task that waited; 0 where an interrupt did.
    pub waiter: u32,
    /// Addresses in functions, the innermost first.
    pub frames: Vec<u64>,
}

/// Functions of the tracing itself, which stand at the innermost end of each stack.
const TRACING: [&str; 5] = ["bpf_", "__bpf_", "__traceiter_", "trace_call_bpf", "stack_trace_"];

impl KernelStack {
    /// The functions by name, the outermost first, without those of the tracing itself.
    pub fn name_frames(&self, symbols: &BTreeMap<u64, String>) -> Vec<String> {
        let name = |at: &u64| symbols.get(at).cloned().unwrap_or_else(|| format!("{at:#x}"));
        let names: Vec<String> = self.frames.iter().map(name).collect();
        let is_tracing = |name: &String| TRACING.iter().any(|start| name.starts_with(start));
        let first = names.iter().rposition(is_tracing).map_or(0, |last| last + 1);
        let first = if first < names.len() { first } else { 0 };
        names[first..].iter().rev().cloned().collect()
    }

    /// In the form of flame graphs: who, why, and the functions, the outermost first. Separators in
    /// the name of a task are replaced.
    pub fn fold(&self, symbols: &BTreeMap<u64, String>) -> String {
        let comm = crate::printable(self.comm.as_str()).replace([';', ' '], "_");
        let why: &str = self.why.into();
        let frames = self.name_frames(symbols).join(";").replace(' ', "_");
        format!("{comm};[{why}];{frames}")
    }
}

/// A capture that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// The result directory.
    pub directory: String,
    /// What it is of.
    pub capture: Capture,
    /// Bytes on the disk.
    pub nr_bytes: u64,
    /// From the moment when it was copied until it was on the disk, ns.
    pub took_ns: u64,
}

/// Memory of the recorder, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecorderMemory {
    /// What it may take in all.
    pub limit: u64,
    /// The rings in the kernel.
    pub rings: u64,
    /// The other tables in the kernel.
    pub tables: u64,
    /// The process at its largest, with the copy of a capture.
    pub process: u64,
}

impl RecorderMemory {
    /// All of it.
    pub fn total(&self) -> u64 {
        self.rings + self.tables + self.process
    }
}

/// What became of the actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionCounts {
    /// Signals that were sent, and commands that ended well.
    pub nr_done: u64,
    /// Those that failed, or took too long and were killed.
    pub nr_failed: u64,
    /// Not begun, as others were still at work.
    pub nr_skipped: u64,
}

/// What became of the binaries of probes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeCounts {
    /// Probes whose binary was replaced: only programs that run the old one still trigger.
    pub nr_replaced: u64,
    /// Probes whose binary was written to. They were detached.
    pub nr_rewritten: u64,
}

/// What the recorder says at its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) of the writer.
    pub schema_version: u32,
    /// How long it recorded, ns.
    pub duration_ns: u64,
    /// Transitions that went through the rings.
    pub nr_transitions: u64,
    /// Paths that did.
    pub nr_paths: u64,
    /// How often each [`Trigger`] happened, by its name.
    pub triggers: BTreeMap<String, u64>,
    /// How many of these made no capture, by reason ([`Suppressed`]).
    pub suppressed: BTreeMap<String, u64>,
    /// How many captures were written.
    pub nr_captures: u64,
    /// The newest of them.
    pub captures: Vec<Written>,
    /// How many begin later than they should, as the rings held no more.
    pub nr_short: u64,
    /// How many were dropped for newer ones.
    pub nr_dropped: u64,
    /// What the captures take on the disk, and what they may, bytes.
    pub disk_bytes: u64,
    /// What they may take, bytes.
    pub disk_limit: u64,
    /// Memory.
    pub memory: RecorderMemory,
    /// Kernel stacks of who blocked a path.
    pub nr_stacks: u64,
    /// What taking them took, ns.
    pub stacks_ns: u64,
    /// Actions.
    pub actions: ActionCounts,
    /// Probes that trigger less or no more.
    #[serde(default)]
    pub probes: ProbeCounts,
    /// What happened to triggers: a binary that was replaced, strangers that were refused.
    pub notes: Vec<String>,
    /// The clocks.
    pub clocks: Clocks,
    /// What was lost.
    pub loss: Loss,
    /// What the recorder cost the system.
    pub overhead: Overhead,
    /// What this kernel lacks.
    pub missing: Vec<Missing>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_folded_without_the_tracing_and_with_no_separator_in_a_name() {
        let stack = KernelStack {
            cpu: 0,
            from_ns: 1,
            until_ns: 2,
            why: Blocked::Cpu,
            tid: 7,
            comm: "a;b c\u{1b}".into(),
            waiter: 8,
            frames: vec![5, 4, 3, 2, 1],
        };
        let symbols = [(5, "bpf_prog_1"), (4, "__traceiter_sched_switch"), (3, "__schedule")]
            .map(|(at, name)| (at, name.to_owned()));
        let symbols = BTreeMap::from(symbols);
        assert_eq!(stack.fold(&symbols), "a_b_c\\x1b;[cpu];0x1;0x2;__schedule");
        let only = KernelStack { frames: vec![5], ..stack };
        assert_eq!(only.name_frames(&symbols), ["bpf_prog_1"]);
    }
}
