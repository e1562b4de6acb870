// SPDX-License-Identifier: GPL-2.0-or-later
//! Shields on machines made of files: cgroup version 2, and none that can be used.

mod attached;
mod detached;
mod full;
mod kept;
mod kernel;
mod killed;
mod latency;
mod placed;
mod plans;
mod resumed;
mod seen;
mod siblings;
mod strangers;
mod threads;
mod undone;

use irqpath_model::shield::{Mechanism, Set, Wanted};

use super::*;
use crate::Host;
use crate::change::Access;
use crate::testing::{Fake, FakeAccess, die_at_each_step};

const KTHREAD: u64 = 0x0020_0000;
const PER_CPU: u64 = 0x0420_0000;

/// Four CPUs, a few interrupts, queues and tasks; no cgroups.
fn machine() -> Fake {
    Fake::new()
        .with_file("sys/devices/system/cpu/online", "0-3\n")
        .with_file("sys/devices/system/cpu/possible", "0-3\n")
        .with_file("proc/cmdline", "quiet rcu_nocbs=1\n")
        .with_file("proc/sys/kernel/osrelease", "6.12.9\n")
        .with_file("proc/sys/kernel/random/boot_id", "boot-1\n")
        .with_file("proc/sys/kernel/timer_migration", "1\n")
        .with_file("proc/sys/kernel/watchdog_cpumask", "0-3\n")
        .with_file("proc/self/uid_map", "0 0 4294967295\n")
        .with_file("proc/self/stat", &stat_of_self())
        .with_file("proc/self/mounts", "proc /proc proc rw 0 0\n")
        .with_file("proc/interrupts", INTERRUPTS)
        .with_file("proc/irq/default_smp_affinity", "f\n")
        .with_file("proc/irq/8/smp_affinity", "f\n")
        .with_file("proc/irq/8/effective_affinity", "4\n")
        .with_file("proc/irq/9/smp_affinity", "8\n")
        .with_file("proc/irq/10/smp_affinity", "8\n")
        .with_file("proc/irq/10/affinity_hint", "8\n")
        .with_file("proc/irq/11/smp_affinity", "1\n")
        .with_file("sys/devices/virtual/workqueue/cpumask", "f\n")
        .with_file("sys/devices/virtual/workqueue/writeback/cpumask", "f\n")
        .with_file("sys/class/net/eth0/queues/rx-0/rps_cpus", "f\n")
        .with_file("sys/class/net/eth0/queues/rx-1/rps_cpus", "0\n")
        .with_file("sys/class/net/eth0/queues/tx-0/xps_cpus", "8\n")
        .with_task(1, 0, "init", "0-3", 0)
        .with_task(2, 0, "kthreadd", "0-3", KTHREAD)
        .with_task(3, 2, "ksoftirqd/3", "3", PER_CPU)
        .with_task(4, 2, "kworker/u8:1", "0-3", PER_CPU)
        .with_task(5, 2, "irq/8-rtc", "2", KTHREAD)
        .with_task(6, 2, "rcuop/1", "0-3", KTHREAD)
        .with_task(7, 2, "kswapd0", "0-1", KTHREAD)
        .with_task(40, 1, "server", "0-3", 0)
        .with_task(41, 1, "chosen", "0-1", 0)
}

fn stat_of_self() -> String {
    "90 (irqpath) S 1 1 1 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0 90 0 0 \
     1 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 0 0 0 0 0 0\n"
        .to_owned()
}

const INTERRUPTS: &str = "     CPU0 CPU1 CPU2 CPU3\n\
    \x20 8: 1 2 3 4  IO-APIC 8-edge rtc0\n\
    \x20 9: 1 2 3 4  IO-APIC 9-edge asked\n\
    \x2010: 1 2 3 4  IO-APIC 10-edge eth0-3\n\
    \x2011: 1 2 3 4  IO-APIC 11-edge disk\n";

/// The same with cgroups of version 2.
fn with_cgroups() -> Fake {
    machine()
        .with_file("proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        .with_file("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n")
        .with_file("sys/fs/cgroup/cgroup.subtree_control", "cpu\n")
        .with_file("sys/fs/cgroup/cgroup.procs", "")
        .with_file("sys/fs/cgroup/system.slice/cgroup.procs", "")
}

/// The same with a shield of the kernel's; somebody keeps interrupts off CPU 1 with it.
fn with_kernel_shield() -> Fake {
    with_cgroups()
        .with_file("proc/shield/procs", "0\n")
        .with_file("proc/shield/irqs", "2\n")
        .with_file("proc/shield/ltmrs", "0\n")
        .with_file("sys/devices/system/cpu/nohz_full", "3\n")
}

fn set(host: &Host, access: &dyn Access, wanted: &Wanted) -> Result<Set, ShieldError> {
    super::set(host, access, wanted, &|| false)
}

fn repair(host: &Host, access: &dyn Access) -> Result<Option<Set>, ShieldError> {
    super::repair(host, access, &|| false)
}

/// What `run` does dies at each of its steps; a status and a reset follow.
fn die_and_reset(
    make: impl Fn() -> Fake,
    access: impl Fn(&Fake) -> FakeAccess,
    run: impl Fn(&Host, &FakeAccess),
) -> u32 {
    let run = |fake: &Fake, dying: &FakeAccess| run(&fake.host(), dying);
    die_at_each_step(make, access, run, |host, access| {
        status(host, access).unwrap();
        reset(host, access).unwrap().undone.left
    })
}

fn wanted(cpus: &str) -> Wanted {
    let cpus = cpus.parse().unwrap();
    Wanted {
        cpus,
        switches: Switch::ALL.iter().copied().filter(|s| s.is_default()).collect(),
        mechanism: Mechanism::Auto,
        irqs: std::collections::BTreeMap::new(),
        tasks: Vec::new(),
        attached: std::collections::BTreeMap::new(),
        threads: std::collections::BTreeMap::new(),
        containers: [].into(),
        borrowed: [].into(),
        offline: CpuList::default(),
    }
}

fn only(cpus: &str, switches: &[Switch]) -> Wanted {
    Wanted { switches: switches.iter().copied().collect(), ..wanted(cpus) }
}

fn text(host: &Host, path: &str) -> String {
    std::fs::read_to_string(host.path(path)).unwrap().trim().to_owned()
}

fn affinity(fake: &Fake, tid: u32) -> String {
    use crate::change::Access as _;
    FakeAccess::new(fake).affinity(tid).unwrap().to_string()
}
