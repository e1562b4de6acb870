// SPDX-License-Identifier: GPL-2.0-or-later
//! What a kernel thread is, by its name, and the priority that the kernel gives it.

use irqpath_model::Policy;
use irqpath_model::tune::LiveThread;

/// FIFO priority of a new interrupt thread (`sched_set_fifo`).
const IRQ_THREAD: u8 = 50;
/// The same of a secondary one since Linux 6.13.
const SECONDARY: u8 = 49;
/// FIFO priority of `ktimers/N` (`sched_set_fifo_low`).
const LOW: u8 = 1;

/// A kernel thread that may carry an interrupt to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // irq is the line's number, name that of its action
pub enum Role<'a> {
    /// `irq/N-NAME`: the thread of a threaded handler.
    IrqThread { irq: u32, name: &'a str },
    /// `irq/N-s-NAME`: the thread of a handler whose hard part is a thread too.
    Secondary { irq: u32, name: &'a str },
    /// `napi/DEVICE-ID`: polls a network device in a thread.
    Napi,
    /// `ksoftirqd/CPU`: runs softirqs that were put off.
    Ksoftirqd,
    /// `ktimers/CPU`: runs the softirqs of timers, on `PREEMPT_RT` only.
    Ktimers,
    /// `kworker/...`: serves a workqueue, of any user.
    Kworker,
}

impl<'a> Role<'a> {
    /// From a name; `None` for any other thread. A device whose name begins with `s-` looks like a
    /// secondary thread and is treated as one.
    pub fn from_comm(comm: &'a str) -> Option<Self> {
        let (kind, rest) = comm.split_once('/')?;
        Some(match kind {
            "irq" => {
                let (irq, name) = rest.split_once('-')?;
                let irq = irq.parse().ok()?;
                match name.strip_prefix("s-") {
                    Some(name) => Self::Secondary { irq, name },
                    None => Self::IrqThread { irq, name },
                }
            }
            "napi" => Self::Napi,
            "ksoftirqd" => Self::Ksoftirqd,
            "ktimers" | "ktimersd" => Self::Ktimers,
            "kworker" => Self::Kworker,
            _ => return None,
        })
    }

    /// The line that it belongs to, if it is an interrupt thread.
    pub fn irq(self) -> Option<u32> {
        match self {
            Self::IrqThread { irq, .. } | Self::Secondary { irq, .. } => Some(irq),
            _ => None,
        }
    }

    /// True if the thread has what the kernel gave it.
    pub fn is_default(self, thread: &LiveThread) -> bool {
        let fifo = |priority| {
            thread.scheduling.policy == Policy::Fifo && thread.scheduling.priority == priority
        };
        match self {
            Self::IrqThread { .. } => fifo(IRQ_THREAD),
            Self::Secondary { .. } => fifo(IRQ_THREAD) || fifo(SECONDARY),
            Self::Ktimers => fifo(LOW),
            Self::Napi | Self::Ksoftirqd | Self::Kworker => thread.scheduling.is_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Scheduling, TaskId};

    #[test]
    fn names_tell_what_a_thread_is() {
        let irq = |irq, name| Some(Role::IrqThread { irq, name });
        for (comm, want) in [
            ("irq/24-intsight0", irq(24, "intsight0")),
            ("irq/9-acpi", irq(9, "acpi")),
            ("irq/36-eth0-rx-1", irq(36, "eth0-rx-1")),
            ("irq/36-s-mmc0", Some(Role::Secondary { irq: 36, name: "mmc0" })),
            ("napi/eth0-5", Some(Role::Napi)),
            ("ksoftirqd/0", Some(Role::Ksoftirqd)),
            ("ktimers/3", Some(Role::Ktimers)),
            ("kworker/u8:2", Some(Role::Kworker)),
            ("irq/x-y", None),
            ("irq_work/0", None),
            ("migration/0", None),
            ("sshd", None),
        ] {
            assert_eq!(Role::from_comm(comm), want, "{comm}");
        }
    }

    #[test]
    fn what_the_kernel_gave_is_told_from_what_was_set() {
        let thread = |policy, priority, nice| LiveThread {
            id: TaskId { tid: 1, start_ticks: 1 },
            comm: String::new(),
            kernel: true,
            scheduling: Scheduling { policy, priority, nice },
        };
        for (comm, policy, priority, nice, want) in [
            ("irq/9-acpi", Policy::Fifo, 50, 0, true),
            ("irq/9-acpi", Policy::Fifo, 51, 0, false),
            ("irq/9-acpi", Policy::Rr, 50, 0, false),
            ("irq/9-s-acpi", Policy::Fifo, 49, 0, true),
            ("ktimers/0", Policy::Fifo, 1, 0, true),
            ("ktimers/0", Policy::Fifo, 50, 0, false),
            ("ksoftirqd/0", Policy::Normal, 0, 0, true),
            ("ksoftirqd/0", Policy::Normal, 0, -5, false),
            ("napi/eth0-5", Policy::Fifo, 50, 0, false),
        ] {
            let role = Role::from_comm(comm).unwrap();
            assert_eq!(role.is_default(&thread(policy, priority, nice)), want, "{comm} {priority}");
        }
    }
}
