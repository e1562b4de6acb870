// SPDX-License-Identifier: GPL-2.0-or-later
//! Points: the named time stamps of a path, in the order in which a path meets them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

/// One time stamp with a name.
///
/// A path stamps the points that its kernel and device use, always in this order; the interval
/// between two neighbouring stamped points is a *stage* and is named by the point that ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    pub const ALL: &[Self] = Self::VARIANTS;
    /// Number of points, the length of every array by point.
    pub const COUNT: usize = Self::ALL.len();

    /// The point's name in output, files and docs.
    pub fn name(self) -> &'static str {
        self.into()
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

    /// Position in [`Point::ALL`], and in every array by point.
    pub const fn index(self) -> usize {
        self as usize
    }
}
