// SPDX-License-Identifier: GPL-2.0-or-later
//! What the host is like, as far as a shield is concerned. Read in one go, judged by `plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use irqpath_model::shield::{Switch, Wanted};
use irqpath_model::{CpuList, TaskId};

use super::opponents::find_opponents;
use super::{KernelShield, Latency, Opponent, Placed, Topology};
use crate::change::{Access, is_genuine_irqbalance};
use crate::journal::Ledger;
use crate::kernel::find_parameter;
use crate::{Host, SystemError, Task};

/// Where interrupts of new devices go.
pub(super) const NEW_IRQS: &str = "proc/irq/default_smp_affinity";

/// An interrupt line that has files in `/proc/irq`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Irq {
    /// Linux's number of the line.
    pub irq: u32,
    /// Its actions; empty if there is none.
    pub name: String,
    /// CPUs that it may go to.
    pub affinity: CpuList,
    /// CPUs that it goes to. `None` where the kernel does not tell.
    pub effective: Option<CpuList>,
    /// CPUs that the driver would like.
    pub hint: CpuList,
    /// True if the kernel says that it keeps the affinity to itself (Linux 6.9: the file cannot be written).
    pub managed: bool,
}

/// A file with a CPU mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskFile {
    /// The file, from the root of the host.
    pub path: String,
    /// What it belongs to.
    pub switch: Switch,
    /// What people call it.
    pub label: String,
    /// True for a list instead of a mask.
    pub list: bool,
    /// The CPUs that the mask has now.
    pub cpus: CpuList,
}

/// A running irqbalance, which would move interrupts back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IrqBalance {
    /// The process that answers on its socket.
    pub task: TaskId,
    /// CPUs that it leaves alone; `None` if it cannot be asked.
    pub banned: Option<CpuList>,
    /// Interrupts that it was told to leave alone; `None` if it cannot be asked.
    pub lines: Option<BTreeSet<u32>>,
}

/// Cgroups of version 2.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// Where the hierarchy is mounted, without the leading slash; empty if it is not.
    pub mount: String,
    /// Why there can be no partition; empty if there can.
    pub unusable: String,
}

/// All of a host that a shield depends on, read once.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The CPUs that are online.
    pub online: CpuList,
    /// Major and minor number of the kernel.
    pub version: Option<(u32, u32)>,
    /// The kernel's command line.
    pub cmdline: String,
    /// Options of the kernel's configuration that a shield asks for; absent if unknown.
    pub config: BTreeMap<&'static str, bool>,
    /// CPUs without a tick while one task runs.
    pub nohz_full: CpuList,
    /// CPUs whose RCU callbacks run elsewhere.
    pub rcu_nocbs: CpuList,
    /// Interrupt lines, by their numbers.
    pub irqs: Vec<Irq>,
    /// Files with a mask from which shielded CPUs are taken.
    pub masks: Vec<MaskFile>,
    /// The sysctl `kernel.timer_migration`; `None` if there is none.
    pub timer_migration: Option<String>,
    /// Every thread of the host.
    pub tasks: Vec<Task>,
    /// Where cgroups are mounted, and whether a partition can be made.
    pub cgroup: Cgroup,
    /// The kernel's own shield, where it has one.
    pub kernel_shield: Option<KernelShield>,
    /// The running irqbalance, if root's.
    pub irqbalance: Option<IrqBalance>,
    /// What shielded CPUs share with others.
    pub topology: Topology,
    /// Programs that set the same values.
    pub opponents: Vec<Opponent>,
    /// What somebody named to go onto the shielded CPUs.
    pub placed: Placed,
    /// How fast shielded CPUs can be.
    pub latency: Latency,
}

/// Configuration options that decide what a boot parameter would do.
const OPTIONS: [&str; 2] = ["CONFIG_NO_HZ_FULL", "CONFIG_RCU_NOCB_CPU"];

const WORKQUEUES: &str = "sys/devices/virtual/workqueue";

impl Snapshot {
    /// The CPUs that each task may use.
    pub(super) fn task_affinities(&self) -> BTreeMap<TaskId, &CpuList> {
        self.tasks.iter().map(|task| (task.id, &task.affinity)).collect()
    }

    /// Reads everything; only online CPUs and interrupts must be readable.
    pub fn read(host: &Host, access: &dyn Access) -> Result<Self, SystemError> {
        let release = host.read_fact("proc/sys/kernel/osrelease").unwrap_or_default();
        let cmdline = host.read_fact("proc/cmdline").unwrap_or_default();
        let isolation = host.isolation();
        let online = host.online_cpus()?;
        let cpus = |text: &str| match text {
            "all" => online.clone(),
            list => list.parse::<CpuList>().unwrap_or_default(),
        };
        let config = host.kernel_config(&release);
        let option = |name| Some((name, config.as_ref()?.is_set(name)));
        let tasks = host.read_tasks();
        let version = host.kernel_version();
        Ok(Self {
            nohz_full: cpus(&isolation.nohz_full),
            rcu_nocbs: cpus(&isolation.rcu_nocbs),
            online,
            config: OPTIONS.into_iter().filter_map(option).collect(),
            irqs: read_irqs(host)?,
            masks: read_masks(host),
            timer_migration: host.read_fact("proc/sys/kernel/timer_migration"),
            cgroup: Self::read_cgroup(host),
            kernel_shield: KernelShield::read(host),
            irqbalance: find_irqbalance(host, &tasks, access),
            opponents: find_opponents(host, &tasks),
            topology: Topology::default(),
            placed: Placed::default(),
            latency: Latency::default(),
            version,
            cmdline,
            tasks,
        })
    }

    /// Whether this host can have partitions.
    pub(super) fn read_cgroup(host: &Host) -> Cgroup {
        read_cgroup(host, host.kernel_version())
    }

    /// Reads everything, and finds what `wanted` names.
    pub fn read_for(
        host: &Host,
        access: &dyn Access,
        wanted: &Wanted,
        ledger: &Ledger,
    ) -> Result<Self, SystemError> {
        let mut snapshot = Self::read(host, access)?;
        snapshot.placed = Placed::locate(host, wanted, &snapshot.tasks, ledger);
        snapshot.placed.locate_attached(host, &snapshot.cgroup.mount, wanted, ledger);
        snapshot.latency = Latency::read(host, &wanted.cpus);
        snapshot.topology = Topology::read(host, wanted, snapshot.placed.irqs.keys());
        // Nothing can be moved to these.
        snapshot.online = snapshot.online.difference(&wanted.offline);
        Ok(snapshot)
    }

    /// Reads the tasks again.
    pub(super) fn update_tasks(&mut self, host: &Host, wanted: &Wanted, ledger: &Ledger) {
        self.tasks = host.read_tasks();
        if !wanted.tasks.is_empty() || !wanted.attached.is_empty() {
            self.placed = Placed::locate(host, wanted, &self.tasks, ledger);
            self.placed.locate_attached(host, &self.cgroup.mount, wanted, ledger);
        }
    }

    /// The value of a boot parameter, the last one if it is given several times.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        find_parameter(&self.cmdline, name)
    }
}

pub(super) fn read_irqs(host: &Host) -> Result<Vec<Irq>, SystemError> {
    let names = host.irq_names()?;
    let mut irqs: Vec<Irq> = host
        .names_in("proc/irq")
        .into_iter()
        .filter_map(|number| {
            let file = |name: &str| {
                CpuList::from_mask(&host.read_fact(&format!("proc/irq/{number}/{name}"))?)
            };
            let irq = number.parse().ok()?;
            Some(Irq {
                irq,
                name: names.get(&irq).cloned().unwrap_or_default(),
                affinity: file("smp_affinity")?,
                effective: file("effective_affinity"),
                hint: file("affinity_hint").unwrap_or_default(),
                managed: is_read_only(&host.path(format!("proc/irq/{number}/smp_affinity"))),
            })
        })
        .collect();
    irqs.sort_by_key(|irq| irq.irq);
    Ok(irqs)
}

fn is_read_only(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.mode() & 0o222 == 0)
}

/// Files with masks, apart from those of single interrupts.
fn read_masks(host: &Host) -> Vec<MaskFile> {
    let mut paths = vec![
        (NEW_IRQS.to_owned(), Switch::Irqs, "new interrupts".to_owned()),
        ("proc/sys/net/core/rps_default_mask".into(), Switch::Irqs, "new packet queues".into()),
        (format!("{WORKQUEUES}/cpumask"), Switch::Workqueues, "unbound workqueues".into()),
        ("proc/sys/kernel/watchdog_cpumask".into(), Switch::Timers, "watchdogs".into()),
    ];
    for name in host.names_in(WORKQUEUES) {
        let path = format!("{WORKQUEUES}/{name}/cpumask");
        paths.push((path, Switch::Workqueues, format!("workqueue {name}")));
    }
    for device in host.names_in("sys/class/net") {
        let queues = format!("sys/class/net/{device}/queues");
        for queue in host.names_in(&queues) {
            let file = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            let label = format!("packets of {device} {queue} ({file})");
            paths.push((format!("{queues}/{queue}/{file}"), Switch::Irqs, label));
        }
    }
    let read = |(path, switch, label): (String, Switch, String)| {
        let text = host.read_fact(&path)?;
        let list = path.ends_with("watchdog_cpumask");
        let cpus = if list { text.parse().ok()? } else { CpuList::from_mask(&text)? };
        Some(MaskFile { path, switch, label, list, cpus })
    };
    paths.into_iter().filter_map(read).collect()
}

fn find_irqbalance(host: &Host, tasks: &[Task], access: &dyn Access) -> Option<IrqBalance> {
    let mut named = tasks.iter().filter(|t| t.comm == "irqbalance" && t.id.tid == t.tgid);
    let main = named.find(|task| is_genuine_irqbalance(host, task.id.tid))?;
    let lines = access.irqbalance_lines(main.id.tid).ok();
    let lines = lines.map(|lines| lines.split(' ').filter_map(|irq| irq.parse().ok()).collect());
    Some(IrqBalance { task: main.id, banned: access.irqbalance_banned(main.id.tid).ok(), lines })
}

/// Partitions came with 6.1, but before 6.2 the kernel forgot the affinity that a task had asked
/// for when CPUs moved between partitions.
fn read_cgroup(host: &Host, version: Option<(u32, u32)>) -> Cgroup {
    let Some(mount) = host.cgroup_mounts().into_iter().next() else {
        return Cgroup { mount: String::new(), unusable: "cgroup2 is not mounted".to_owned() };
    };
    let controllers = host.read_fact(&format!("{mount}/cgroup.controllers")).unwrap_or_default();
    let unusable = if !controllers.split_whitespace().any(|w| w == "cpuset") {
        "cgroup2 has no cpuset controller here (version 1 may have it)"
    } else if host.path(format!("{mount}/cgroup.type")).exists() {
        "the cgroup hierarchy here is only a part of the host's"
    } else if version.is_some_and(|version| version < (6, 2)) {
        "kernels before 6.2 forget the affinity of tasks when a partition is made"
    } else {
        ""
    };
    Cgroup { mount, unusable: unusable.to_owned() }
}
