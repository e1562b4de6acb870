// SPDX-License-Identifier: GPL-2.0-or-later
//! What occupied a CPU: the transitions from which causes are computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CauseKind, Origin, SoftirqVec, Task};

/// A change of what a CPU does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transition {
    /// A hard interrupt handler starts.
    HardirqEntry(Origin),
    /// The innermost hard interrupt handler ends.
    HardirqExit,
    /// A softirq action starts.
    SoftirqEntry(SoftirqVec),
    /// The softirq action ends.
    SoftirqExit,
    /// The task that the CPU runs from now on; `tgid` and `policy` are not known here.
    SwitchIn(Task),
    /// An NMI handler ended; it had run for this many nanoseconds.
    NmiEnd {
        /// How long it took, in ns.
        duration_ns: u64,
    },
    /// This task runs although no switch to it was seen: who ran since the last one is unknown.
    Unseen(Task),
    /// Of the time until now the hypervisor had taken the CPU away for so long, not told before.
    Stolen {
        /// How long it took, in ns.
        duration_ns: u64,
    },
}

/// One transition on one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// When it happened, `CLOCK_MONOTONIC` ns.
    pub ns: u64,
    /// The CPU whose occupant changed.
    pub cpu: u16,
    /// Position in that CPU's sequence of transitions: a gap means lost transitions, a repeated
    /// number is the same transition delivered twice. NMIs are not numbered (0).
    pub seq: u64,
    /// Which layer of the CPU changed, and to what.
    pub what: Transition,
}

/// Something that occupied a CPU during a measurement, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Occupied {
    /// The CPU that it ran on.
    pub cpu: u16,
    /// What kind of occupant; every task but the idle one is a [`CauseKind::Thread`].
    pub kind: CauseKind,
    /// Its name, as in causes.
    pub who: String,
    /// The thread, where it is one.
    pub tid: Option<u32>,
    /// In how many pieces.
    pub n: u64,
    /// Time of all its pieces on this CPU, ns.
    pub total_ns: u64,
    /// The longest piece, ns.
    pub max_ns: u64,
}
