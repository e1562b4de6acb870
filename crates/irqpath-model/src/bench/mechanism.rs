// SPDX-License-Identifier: GPL-2.0-or-later
//! The mechanisms by which a top half defers work, in the order in which tables list them.
//!
//! The names are the values of intsight's file `bottom_handler`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::UnknownWord;

/// How the bottom half is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, JsonSchema, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[strum(parse_err_ty = UnknownWord, parse_err_fn = unknown)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// No bottom half: two checkpoints back to back, the cost of looking.
    None,
    /// The bottom half runs in a softirq vector.
    Softirq,
    /// The bottom half is a tasklet.
    Tasklet,
    /// The bottom half is a high-priority tasklet.
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
    /// The bottom half is an `irq_work`.
    IrqWork,
    /// An hrtimer of zero length that expires in softirq context.
    HrtimerSoft,
    /// The same in hard interrupt context.
    HrtimerHard,
}

impl Mechanism {
    /// Every mechanism, in table order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in intsight, on the command line and in output.
    pub fn name(self) -> &'static str {
        self.into()
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

fn unknown(text: &str) -> UnknownWord {
    UnknownWord::new::<Mechanism>("mechanism", text)
}
