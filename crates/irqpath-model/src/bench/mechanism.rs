// SPDX-License-Identifier: GPL-2.0-or-later
//! The mechanisms by which a top half defers work, in the order in which tables list them.
//!
//! The names are the values of intsight's file `bottom_handler`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UnknownWord;

/// How the bottom half is asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// No bottom half: two checkpoints back to back, the cost of looking.
    None,
    /// A softirq vector.
    Softirq,
    /// A tasklet.
    Tasklet,
    /// A high-priority tasklet.
    TaskletHi,
    /// A work item in softirq context.
    WorkqueueBh,
    /// A work item on a bound workqueue.
    Workqueue,
    /// The same with `WQ_HIGHPRI`.
    WorkqueueHighpri,
    /// The same with `WQ_UNBOUND`.
    WorkqueueUnbound,
    /// The thread of a threaded handler.
    ThreadedIrq,
    /// `irq_work`.
    IrqWork,
    /// An hrtimer of zero length that expires in softirq context.
    HrtimerSoft,
    /// The same in hard interrupt context.
    HrtimerHard,
}

impl Mechanism {
    /// Every mechanism, in table order.
    pub const ALL: [Self; 12] = [
        Self::None,
        Self::Softirq,
        Self::Tasklet,
        Self::TaskletHi,
        Self::WorkqueueBh,
        Self::Workqueue,
        Self::WorkqueueHighpri,
        Self::WorkqueueUnbound,
        Self::ThreadedIrq,
        Self::IrqWork,
        Self::HrtimerSoft,
        Self::HrtimerHard,
    ];

    /// Its name in intsight, on the command line and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Softirq => "softirq",
            Self::Tasklet => "tasklet",
            Self::TaskletHi => "tasklet_hi",
            Self::WorkqueueBh => "workqueue_bh",
            Self::Workqueue => "workqueue",
            Self::WorkqueueHighpri => "workqueue_highpri",
            Self::WorkqueueUnbound => "workqueue_unbound",
            Self::ThreadedIrq => "threaded_irq",
            Self::IrqWork => "irq_work",
            Self::HrtimerSoft => "hrtimer_soft",
            Self::HrtimerHard => "hrtimer_hard",
        }
    }

    /// Entry tracepoints of interrupts that the mechanism itself takes: its own interrupt, or
    /// the one that wakes an idle CPU for its thread. They are no disturbance where most undelayed
    /// runs meet them. On arm64 inter-processor interrupts and the timer pass
    /// `irq_handler_entry`, as devices do.
    pub const fn own_interrupts(self) -> &'static [&'static str] {
        match self {
            Self::IrqWork => &["irq_work_entry", "ipi_entry", "irq_handler_entry"],
            Self::HrtimerSoft | Self::HrtimerHard => &["local_timer_entry", "irq_handler_entry"],
            Self::Workqueue
            | Self::WorkqueueHighpri
            | Self::WorkqueueUnbound
            | Self::ThreadedIrq => &[
                "reschedule_entry",
                "call_function_single_entry",
                "ipi_entry",
                "irq_handler_entry",
            ],
            Self::None | Self::Softirq | Self::Tasklet | Self::TaskletHi | Self::WorkqueueBh => &[],
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mechanism {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|m| m.name() == text).ok_or_else(|| {
            UnknownWord::new("mechanism", text, Self::ALL.into_iter().map(Self::name))
        })
    }
}
