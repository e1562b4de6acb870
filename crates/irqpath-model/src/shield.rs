// SPDX-License-Identifier: GPL-2.0-or-later
//! Shielded CPUs: what is asked for, what was done for it, and how it stands. `irqpath shield
//! --json` prints a [`Document`] of it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::change::{Target, Undone, Value};
use crate::{CpuList, Loss, Missing, Occupied, TaskId};

/// What is kept off the shielded CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Tasks in user space.
    Tasks,
    /// Interrupts of devices, and the spreading of packets.
    Irqs,
    /// The periodic tick of the scheduler.
    Ticks,
    /// Kernel threads that are not bound to one CPU.
    Kthreads,
    /// Work of unbound workqueues.
    Workqueues,
    /// Callbacks of RCU, which can be handed to threads.
    Rcu,
    /// Timers of others, and the watchdogs.
    Timers,
    /// Deep sleep of a shielded CPU that is idle.
    Idle,
    /// Any sleep of a shielded CPU that is idle.
    Poll,
    /// Low frequencies of shielded CPUs.
    Governor,
    /// The server that runs ordinary tasks between real-time ones.
    FairServer,
    /// The work that folds counters every second.
    Statistics,
}

impl Switch {
    /// Every switch, in the order above.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the command line and in output.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True for what is kept off where nothing is chosen. Polling takes the full power of a core
    /// and slows its sibling; without the fair server a program that never sleeps starves the
    /// kernel's own threads. Both are for who asks for them.
    pub fn is_default(self) -> bool {
        !matches!(self, Self::Poll | Self::FairServer)
    }

    /// Why it is kept off.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Tasks => "a task that may run elsewhere would delay the one that was placed here",
            Self::Irqs => "a handler interrupts whatever runs, at any priority",
            Self::Ticks => "each tick interrupts a task that has the CPU for itself",
            Self::Kthreads => "threads of the kernel that need no certain CPU can run elsewhere",
            Self::Workqueues => "work of no certain CPU can be done elsewhere",
            Self::Rcu => "callbacks of RCU run in bursts, for as long as there are any",
            Self::Timers => "watchdogs would run here, and own timers expire elsewhere",
            Self::Idle => "a CPU that sleeps deeply takes long to wake up for an interrupt",
            Self::Poll => "a CPU that never sleeps answers fastest, at full power",
            Self::Governor => "a CPU that slowed down computes slowly until its governor notices",
            Self::FairServer => "it takes 5 % of the CPU from a real-time task while others wait",
            Self::Statistics => "counters are folded on every CPU each second, by a work item",
        }
    }
}

/// How tasks, and interrupts with `Kernel`, are kept off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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
    /// The CPUs to be shielded.
    pub cpus: CpuList,
    /// What is kept off.
    pub switches: BTreeSet<Switch>,
    /// By which mechanism tasks are kept off.
    pub mechanism: Mechanism,
    /// Interrupts that go onto shielded CPUs, as they were named, and which CPUs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub irqs: BTreeMap<String, CpuList>,
    /// Tasks that go onto the shielded CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<PlacedTask>,
    /// Cgroups that have shielded CPUs for themselves, from the root of the hierarchy without the
    /// first slash, and which CPUs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attached: BTreeMap<String, CpuList>,
    /// Threads that have shielded CPUs for themselves, without the others of their processes; by the
    /// cgroup that is made for them, which is in `attached`, too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads: BTreeMap<String, BTreeSet<LoneThread>>,
    /// Containers whose cgroups are in `attached`, by the ids that their runtimes gave them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub containers: BTreeMap<String, String>,
    /// CPUs of attached cgroups that were shielded before, by the cgroup. They stay shielded when it
    /// gives them back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub borrowed: BTreeMap<String, CpuList>,
    /// CPUs that are taken off, as they share cores with shielded ones.
    #[serde(default, skip_serializing_if = "CpuList::is_empty")]
    pub offline: CpuList,
}

/// A task that goes onto the shielded CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlacedTask {
    /// A process, with all its threads.
    Process(TaskId),
    /// One thread, without the others of its process.
    Thread(TaskId),
    /// Every process of a unit of systemd, also one that starts later.
    Unit(String),
}

/// A thread that goes without the others of its process.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoneThread {
    /// This one.
    Thread(TaskId),
    /// Every thread of this name, also one that starts later.
    Named(String),
}

impl Wanted {
    /// True if this is to be kept off.
    pub fn is_on(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    /// The shielded CPUs that no cgroup has for itself.
    pub fn own_cpus(&self) -> CpuList {
        self.attached.values().fold(self.cpus.clone(), |left, cpus| left.difference(cpus))
    }
}

/// Something that was asked onto the shielded CPUs and nowhere else, and therefore stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// What it is, in words for people.
    pub label: String,
    /// The CPUs that it was asked onto.
    pub cpus: CpuList,
}

/// How a change went, for output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangedHow {
    /// The change was made.
    Done,
    /// It would be made (`--dry-run`).
    Planned,
}

/// A value that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// What people call it.
    pub label: String,
    /// The file, task or cgroup that was changed.
    pub target: Target,
    /// Its value before, where it is known.
    pub before: Option<Value>,
    /// Its value now, or the planned one.
    pub new: Value,
    /// Whether it was made.
    pub how: ChangedHow,
}

/// What setting a shield did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Set {
    /// What was asked for.
    pub wanted: Wanted,
    /// How what is wanted is kept off.
    pub mechanism: Mechanism,
    /// Every value that was changed, in the order of the changes.
    pub changed: Vec<Changed>,
    /// What cannot be kept off, and why.
    pub obstacles: Vec<Obstacle>,
    /// What stays because it was asked onto the shielded CPUs alone.
    pub kept: Vec<Kept>,
    /// What was placed on the shielded CPUs.
    #[serde(default)]
    pub placed: Vec<Kept>,
    /// What else the user should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Why each switch is on.
    #[serde(default)]
    pub why: BTreeMap<Switch, String>,
}

/// Why something stays on the shielded CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleKind {
    /// A kernel thread that belongs to its CPU.
    PerCpuThread,
    /// The kernel refused the value.
    Refused,
    /// It has to be said when the kernel starts.
    NeedsBoot,
    /// irqbalance runs and cannot be told.
    Irqbalance,
    /// This host has not what it takes.
    Unavailable,
    /// The wanted mechanism is not to be had; another one is used.
    NoPartition,
    /// Somebody undid its change at once, or makes more of its kind.
    Contested,
}

/// Something that cannot be kept off the shielded CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Obstacle {
    /// What it is, in words for people.
    pub label: String,
    /// What it belongs to.
    pub switch: Switch,
    /// Which kind of reason.
    pub kind: ObstacleKind,
    /// The reason in words for people.
    pub reason: String,
    /// The system's error number, 0 if there was none.
    pub errno: i32,
    /// What would help: a boot parameter or a line of a configuration file.
    pub fix: Option<String>,
}

/// A value that is not what the shield wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// What people call it.
    pub label: String,
    /// The value that was found.
    pub found: Value,
    /// What it should be.
    pub wanted: Value,
    /// True if it is new: a task or device that came after the shield was set.
    pub new: bool,
}

/// How a shield stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// What was asked for; `None` if there is no shield.
    pub wanted: Option<Wanted>,
    /// How what is wanted is kept off.
    pub mechanism: Option<Mechanism>,
    /// When it was set, seconds since 1970.
    pub at_unix_s: u64,
    /// Values that a reset would put back.
    pub held: usize,
    /// What is not as it should be.
    pub drift: Vec<Drift>,
    /// Interrupts that move when they next arrive.
    pub pending: Vec<Kept>,
    /// What cannot be kept off, and why.
    pub obstacles: Vec<Obstacle>,
    /// What was asked onto the shielded CPUs alone.
    pub kept: Vec<Kept>,
    /// What was placed on the shielded CPUs.
    #[serde(default)]
    pub placed: Vec<Kept>,
    /// What else the user should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Tasks that run on the shielded CPUs now, or wait for them.
    pub running: Vec<Running>,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
    /// Lines of the journal that are damaged.
    pub damaged: Vec<usize>,
}

/// A task on a shielded CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Running {
    /// What people call it.
    pub label: String,
    /// The CPU that it runs on.
    pub cpu: u16,
    /// True if it may use shielded CPUs only.
    pub inside: bool,
}

/// An interrupt or softirq that arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Arrived {
    /// Its label in `/proc/interrupts` or `/proc/softirqs`.
    pub label: String,
    /// Its actions; empty where there is none.
    pub name: String,
    /// True for a softirq.
    pub softirq: bool,
    /// How often, by CPU.
    pub counts: BTreeMap<u16, u64>,
}

/// A task that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ran {
    /// Kernel thread id, as in `/proc`.
    pub tid: u32,
    /// Name of the task, as in `/proc`.
    pub comm: String,
    /// True for a kernel thread.
    pub kernel: bool,
    /// True if it may use shielded CPUs only.
    pub inside: bool,
    /// The CPU that it was on at the end.
    pub cpu: u16,
    /// For how long, ns.
    pub run_ns: u64,
}

/// What reached the shielded CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// For how long it was watched, ns.
    pub duration_ns: u64,
    /// What arrived, the most frequent first.
    pub arrived: Vec<Arrived>,
    /// What ran, the longest first.
    pub ran: Vec<Ran>,
    /// What the tracer saw on them, the longest first; empty without it.
    pub occupied: Vec<Occupied>,
    /// What was lost while tracing.
    pub loss: Loss,
    /// What could not be measured, and why.
    pub missing: Vec<Missing>,
}

/// What a reset did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reset {
    /// True if there was something to take down.
    pub was_set: bool,
    /// What became of the values in the journal.
    pub undone: Undone,
    /// Tasks that had inherited an affinity of ours and got their ancestor's back.
    pub heirs: usize,
    /// Interrupts that appeared while the shield was set and got the default that was before it.
    #[serde(default)]
    pub newborn: usize,
    /// Changes of an earlier boot, which ended with it.
    pub gone_with_boot: usize,
    /// Lines of the journal that are damaged; what they said is not undone.
    pub damaged: Vec<usize>,
}

/// One document for all verbs; each fills its part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the schema.
    pub schema_version: u32,
    /// Of `set`, and of a repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<Set>,
    /// Of `status` and `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Present after `irqpath shield verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// Present after `irqpath shield reset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
}
