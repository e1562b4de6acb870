// SPDX-License-Identifier: GPL-2.0-or-later
//! Shielded CPUs: they run only what was asked onto them and nowhere else. A task or interrupt
//! that may use other CPUs too loses the shielded ones; one that may use nothing else stays.
//!
//! `snapshot` reads the host, `plan` decides without touching it, `set` and `reset` change it
//! through the [journal](crate::journal), `partition` makes the cgroup, `heirs` finds tasks that
//! inherited what we set, `kernel` is the shield of kernels that have one, `status` and `measure` tell how the
//! shield holds, `contest` what to do when somebody undoes each repair.
//!
//! The rule to know: what the shield wants is always computed from what the host would have
//! without us, so setting twice, or with other CPUs, ends where setting once does.

mod boot;
mod check;
mod contest;
mod document;
mod enter;
mod entry;
mod heirs;
mod kernel;
mod measure;
mod obstacle;
mod partition;
mod plan;
mod reset;
mod set;
mod snapshot;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use irqpath_model::CpuList;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use contest::{Contest, opponent};
pub use document::{Document, schema};
pub use enter::enter;
pub use kernel::KernelShield;
pub use measure::{Arrived, Measured, Ran, measure};
pub use obstacle::{Obstacle, ObstacleKind};
pub use plan::{Kept, Plan, plan};
pub use reset::{Reset, reset};
pub use set::{Changed, ChangedHow, Set, dry_run, repair, set};
pub use snapshot::{Cgroup, Irq, IrqBalance, MaskFile, Snapshot};
pub use status::{Drift, Running, Status, moved_but_arrived, status, strayed};

use crate::journal::JournalError;
use crate::{Capability, SystemError};

/// The journal's name.
pub(crate) const OWNER: &str = "shield";

/// What every change of a shield needs.
pub const SHIELDING: &[Capability] = &[Capability::SysNice];

/// What is kept off the shielded CPUs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Tasks in user space.
    Tasks,
    /// Interrupts of devices, and the spreading of packets.
    Irqs,
    /// The tick.
    Ticks,
    /// Kernel threads that are not bound to one CPU.
    Kthreads,
    /// Work of unbound workqueues.
    Workqueues,
    /// RCU callbacks.
    Rcu,
    /// Timers of others, and the watchdogs.
    Timers,
}

impl Switch {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Tasks,
        Self::Irqs,
        Self::Ticks,
        Self::Kthreads,
        Self::Workqueues,
        Self::Rcu,
        Self::Timers,
    ];

    /// Its name on the command line and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Irqs => "irqs",
            Self::Ticks => "ticks",
            Self::Kthreads => "kthreads",
            Self::Workqueues => "workqueues",
            Self::Rcu => "rcu",
            Self::Timers => "timers",
        }
    }
}

/// How tasks, and interrupts with `Kernel`, are kept off.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// The kernel's own shield where it has one, a partition where the host can have one, otherwise
    /// affinities.
    Auto,
    /// `/proc/shield`, of a kernel with irqpath.
    Kernel,
    /// An isolated partition of cgroup version 2: the scheduler leaves the CPUs alone, and no task
    /// outside can ask for them.
    Partition,
    /// The affinity of every task. New tasks inherit it.
    Affinity,
}

/// A shield that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    /// The shielded CPUs.
    pub cpus: CpuList,
    /// What is kept off.
    pub switches: BTreeSet<Switch>,
    /// How.
    pub mechanism: Mechanism,
}

impl Wanted {
    /// True if this is to be kept off.
    pub fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }
}

/// Why a shield could not be set, looked at or taken down. Nothing was changed, unless the
/// message says so.
#[derive(Debug, thiserror::Error)]
pub enum ShieldError {
    /// The host could not be read, or has not what was asked for.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// No CPU would be left for everything else.
    #[error("CPU {cpus} are all CPUs that are online; leave at least one for everything else")]
    AllCpus {
        /// The CPUs asked for.
        cpus: CpuList,
    },
    /// There is only one.
    #[error(
        "this machine has one CPU online, {cpus}; a shield needs a second one for everything else"
    )]
    OnlyCpu {
        /// That one.
        cpus: CpuList,
    },
    /// A file that has to be written is on a read-only file system.
    #[error("/{path} is read-only here, as in a container; run on the host, or leave out --{switch}",
        switch = .switch.name())]
    ReadOnly {
        /// Relative to the host's root.
        path: String,
        /// What needs it.
        switch: Switch,
    },
    /// A file that has to be written may not be.
    #[error("/{path} may not be written by this user; run with sudo")]
    Forbidden {
        /// Relative to the host's root.
        path: String,
    },
    /// Not all tasks of the machine can be seen.
    #[error(
        "this is a container with process ids of its own: tasks outside cannot be seen and would stay on the CPUs; run on the host"
    )]
    PidNamespace,
    /// `--mechanism partition` where there can be none.
    #[error("a cgroup partition cannot be made: {reason}; use --mechanism affinity")]
    NoPartition {
        /// Why.
        reason: String,
    },
    /// `--mechanism kernel` on a kernel that cannot.
    #[error("this kernel has no /proc/shield (CONFIG_IRQPATH_SHIELD); use --mechanism auto")]
    NoKernelShield,
    /// A program is to run on CPUs that are not shielded.
    #[error("CPU {cpus} is not shielded (shielded: {shielded}); shield it with irqpath shield set")]
    NotShielded {
        /// The CPUs asked for in vain.
        cpus: CpuList,
        /// The shielded ones.
        shielded: CpuList,
    },
    /// A program could not be put onto the shielded CPUs.
    #[error("this process cannot be moved to CPU {cpus}: {reason}; look at irqpath shield status")]
    NotEntered {
        /// The CPUs asked for.
        cpus: CpuList,
        /// What the system said.
        reason: String,
    },
    /// There is no shield.
    #[error("no shield is set; irqpath shield set --cpus LIST sets one")]
    NotSet,
}
