// SPDX-License-Identifier: GPL-2.0-or-later
//! Points: the named time stamps of a path, in the order in which a path meets them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One time stamp with a name.
///
/// A path stamps the points that its kernel and device use, always in this order; the interval
/// between two neighbouring stamped points is a *stage* and is named by the point that ends it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Point {
    /// Device or timer event: an hrtimer's programmed expiry, the sending of an IPI.
    Raise,
    /// Entry of the primary handler (`irq_handler_entry`, or the vector's entry tracepoint).
    Hardirq,
    /// The irq thread is on a CPU and about to run the threaded handler.
    IrqThread,
    /// A softirq vector was marked pending (`softirq_raise`).
    SoftirqRaise,
    /// The vector's action starts (`softirq_entry`).
    Softirq,
    /// A work item was queued (`workqueue_queue_work`).
    WorkQueue,
    /// The work function starts (`workqueue_execute_start`).
    Work,
    /// The target is being woken, in the waker's context (`sched_waking`).
    Waking,
    /// The target is on a CPU (`sched_switch`).
    SwitchIn,
    /// The target returns to user space (`sys_exit`).
    User,
}

impl Point {
    /// Every point, in path order.
    pub const ALL: [Self; 10] = [
        Self::Raise,
        Self::Hardirq,
        Self::IrqThread,
        Self::SoftirqRaise,
        Self::Softirq,
        Self::WorkQueue,
        Self::Work,
        Self::Waking,
        Self::SwitchIn,
        Self::User,
    ];
    /// Number of points.
    pub const COUNT: usize = Self::ALL.len();

    /// The point's name in output, files and docs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Hardirq => "hardirq",
            Self::IrqThread => "irq_thread",
            Self::SoftirqRaise => "softirq_raise",
            Self::Softirq => "softirq",
            Self::WorkQueue => "work_queue",
            Self::Work => "work",
            Self::Waking => "waking",
            Self::SwitchIn => "switch_in",
            Self::User => "user",
        }
    }

    /// What the stage that ends at this point is called where people read it.
    pub const fn stage_title(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Hardirq => "IRQ latency",
            Self::IrqThread => "irq thread wakeup",
            Self::SoftirqRaise => "handler to softirq raise",
            Self::Softirq => "softirq delay",
            Self::WorkQueue => "handler to work queueing",
            Self::Work => "work delay",
            Self::Waking => "handler to wakeup",
            Self::SwitchIn => "scheduling latency",
            Self::User => "return to user",
        }
    }

    /// Position in [`Point::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The point at `index`, if there is one.
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
