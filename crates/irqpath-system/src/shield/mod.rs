// SPDX-License-Identifier: GPL-2.0-or-later
//! Shielded CPUs: they run only what was asked onto them and nowhere else. A task or interrupt
//! that may use other CPUs too loses the shielded ones; one that may use nothing else stays.
//!
//! `snapshot` reads the host, `placed` finds what was named, `plan` and `plan_tasks` decide
//! without touching it, `set` and `reset` change it through the [journal](crate::journal),
//! `partition` makes the cgroup. Cgroups that others have get CPUs by `attach`, `attached` and
//! `handed`, and give them back by `detach`; `container` reads what a runtime says of one. `lone`
//! and `threads` are for single threads. `heirs` finds tasks that inherited what we set, `kernel`
//! is the shield of kernels that have one, `topology` what CPUs share and `siblings` takes off who
//! shares it. `status` and `measure` tell how the shield holds, `contest` what to do when somebody
//! undoes each repair, `opponents` who that may be.
//!
//! The rule to know: what the shield wants is always computed from what the host would have
//! without us, so setting twice, or with other CPUs, ends where setting once does.

mod attach;
mod attached;
mod boot;
mod check;
mod container;
mod contest;
mod cpusets;
mod detach;
mod ended;
mod enter;
mod enter_unit;
mod entry;
mod handed;
mod heirs;
mod join;
mod kernel;
mod latency;
mod latency_plan;
mod lone;
mod measure;
mod newborn;
mod opponents;
mod partition;
mod placed;
mod plan;
mod plan_tasks;
mod recall;
mod refused;
mod repair;
mod reset;
mod set;
mod siblings;
mod snapshot;
mod status;
#[cfg(test)]
mod tests;
mod threads;
mod topology;

use irqpath_model::CpuList;
use irqpath_model::shield::Switch;

pub use attach::{attach, plan_attach, plan_attach_container};
pub use attached::Attached;
pub use container::{ANNOTATION, Container, Moment, container_cgroup, cpuset_of};
pub use contest::{Contest, guess_opponent, name_opponents};
pub use detach::{Detached, Whose, detach};
pub use enter::{bind_irqs, enter};
pub use enter_unit::enter_in_unit;
pub use kernel::KernelShield;
pub use latency::Latency;
pub use lone::{Chosen, plan_attach_threads};
pub use measure::measure;
pub use opponents::Opponent;
pub use placed::{Placed, check_irqs, find_task, find_thread};
pub use plan::{Plan, plan_shield};
pub use repair::repair;
pub use reset::reset;
pub use set::{dry_run, set};
pub use siblings::siblings_of;
pub use snapshot::{Cgroup, Irq, IrqBalance, MaskFile, Snapshot};
pub use status::{find_strayed, moved_but_arrived, status};
pub use topology::Topology;

use crate::SystemError;
use crate::journal::JournalError;

pub(crate) const OWNER: &str = "shield";

/// Why a shield could not be set, looked at or taken down. Nothing was changed, unless the
/// message says so.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
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
    OnlyCpu { cpus: CpuList },
    /// A file that has to be written is on a read-only file system.
    #[error("/{path} is read-only here, as in a container; run on the host, or leave out --{switch}",
        switch = .switch.name())]
    ReadOnly {
        /// Relative to the host's root.
        path: String,
        switch: Switch,
    },
    /// A file that has to be written may not be.
    #[error("this user may not write /{path}; run with sudo")]
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
    #[error("cannot make a cgroup partition: {reason}; use --mechanism affinity")]
    NoPartition { reason: String },
    /// `--mechanism kernel` on a kernel that cannot.
    #[error("this kernel has no /proc/shield (CONFIG_IRQPATH_SHIELD); use --mechanism auto")]
    NoKernelShield,
    /// A program is to run on CPUs that are not shielded.
    #[error("CPU {cpus} is not shielded (shielded: {shielded}); shield it with irqpath shield set")]
    NotShielded {
        /// The CPUs asked for in vain.
        cpus: CpuList,
        shielded: CpuList,
    },
    /// A program could not be put onto the shielded CPUs.
    #[error("cannot move this process to CPU {cpus}: {reason}; see irqpath shield status")]
    NotEntered {
        /// The CPUs asked for.
        cpus: CpuList,
        /// What the system said.
        reason: String,
    },
    /// `--irq` names something that has no affinity.
    #[error(
        "{name} is not an interrupt of a device, so it cannot be bound to a CPU; see /proc/interrupts"
    )]
    NoLine { name: String },
    /// `--task` names no process.
    #[error(
        "there is no process {pid}; give the number of a process, not of a thread, or the name of a unit"
    )]
    NoProcess { pid: u32 },
    /// `--tid` names nothing that runs.
    #[error("there is no thread {tid}; ps -L -p PID lists those of a process")]
    NoThread { tid: u32 },
    /// `--task` names nothing that could be a unit.
    #[error("'{name}' is neither a process nor a unit; see systemctl list-units")]
    NoUnit { name: String },
    /// `attach` names no unit that runs.
    #[error("there is no cgroup of a unit {name}; start it, or give the path of a cgroup: /{name}")]
    UnitNotFound { name: String },
    /// `attach` names several.
    #[error("{name} may be each of these: {found}; give the path of one")]
    AmbiguousUnit { name: String, found: String },
    /// `attach` names a path at which there is none.
    #[error("{path} is not a cgroup; give its path from the root, without '..' and links")]
    NoCgroup { path: String },
    /// `detach` names nothing that is attached.
    #[error("no cgroup {name} is attached; irqpath shield status lists those that are")]
    NothingAttached { name: String },
    /// Others may be in the cgroup of a container.
    #[error("container {id} has no cgroup of its own: it is in {path}, where others may be, too")]
    SharedCgroup { id: String, path: String },
    /// Somebody else has changed the shield since it was looked at.
    #[error("another irqpath has changed the shield meanwhile; try again")]
    ChangedMeanwhile,
    /// The partition cannot be made.
    #[error("cannot make a partition there: {reason}")]
    NotAttached { reason: String },
    /// The partition of a single thread cannot be made.
    #[error(
        "cannot give a thread CPUs of its own: {reason}; irqpath shield set --tid binds it by affinities"
    )]
    ThreadNotAttached { reason: String },
    /// A program could not be left in the unit of its caller.
    #[error("cannot keep the unit: {reason}; leave --keep-unit out, or shield set --task PID")]
    UnitNotKept { reason: String },
    /// Somebody else made one.
    #[error(
        "/{path} already is a partition of CPU {cpus}, by CPUSetPartition= or by hand; attach it with --cpus {cpus}, or make it a member first"
    )]
    ForeignPartition { path: String, cpus: CpuList },
    /// There is no shield.
    #[error("no shield is set; irqpath shield set --cpus LIST sets one")]
    NotSet,
}
