// SPDX-License-Identifier: GPL-2.0-or-later
//! Gathering: what the rules need to know of a host. `None` and empty mean that the host does
//! not tell (the file is absent or needs privileges).

use irqpath_model::{CpuList, Isolation};

use crate::{Host, Privileges};

/// Options that turn a kernel into one for debugging.
const DEBUG_OPTIONS: [&str; 7] = [
    "CONFIG_PROVE_LOCKING",
    "CONFIG_LOCK_STAT",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_DEBUG_KMEMLEAK",
];

/// An idle state that is not disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// The driver's name for it: `C6`.
    pub name: String,
    /// Time to leave it, microseconds.
    pub exit_latency_us: u64,
}

/// What is known of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fields named after their files are those files' content
pub struct Facts {
    /// `uname -r`.
    pub release: String,
    /// As in [`irqpath_model::KernelInfo`].
    pub preemption: String,
    /// True if the preemption model can be changed while the kernel runs.
    pub preempt_dynamic: bool,
    /// True if the scheduler's files in debugfs are there.
    pub debugfs: bool,
    pub forced_irq_threads: bool,
    /// Whether the kernel knows `threadirqs`.
    pub can_force_threads: Option<bool>,
    pub sched_rt_runtime_us: Option<i64>,
    pub sched_rt_period_us: Option<i64>,
    /// Largest run time of the fair servers of the CPUs, ns (6.12 and newer, in debugfs).
    pub fair_server_runtime_ns: Option<u64>,
    /// CONFIG_RT_GROUP_SCHED; `None` if the configuration is not readable.
    pub rt_group_sched: Option<bool>,
    /// Debugging options of the configuration.
    pub debug_options: Vec<String>,
    /// cpufreq governor of each CPU.
    pub governors: Vec<String>,
    /// Idle states of the first CPU that are not disabled.
    pub idle_states: Vec<IdleState>,
    pub idle_driver: String,
    pub cpu_dma_latency_us: Option<i32>,
    pub smt_active: bool,
    /// CPUs that share a core with an isolated one and are not isolated.
    pub busy_siblings: CpuList,
    /// How many memory nodes there are.
    pub nr_nodes: usize,
    pub numa_balancing: Option<i64>,
    /// Device lines that a CPU of another node than the device's handles.
    pub far_lines: Vec<FarLine>,
    pub hypervisor: Option<String>,
    /// Time stolen by the hypervisor since boot, of all time, in thousandths.
    pub steal_permille: Option<u64>,
    pub clocksource: String,
    pub available_clocksources: Vec<String>,
    /// True if the CPU has a time stamp counter (x86).
    pub has_tsc: bool,
    /// Its process's tid, if it runs.
    pub irqbalance: Option<u32>,
    /// Online CPUs, as the kernel writes lists.
    pub online: String,
    pub isolation: Isolation,
    pub timer_migration: Option<i64>,
    pub nmi_watchdog: Option<i64>,
    pub soft_watchdog: Option<i64>,
    /// The chosen word of `transparent_hugepage/enabled`.
    pub thp: Option<String>,
    /// Swap areas in use.
    pub swaps: Vec<String>,
    pub btf: bool,
    /// Whether tracefs is mounted.
    pub tracefs: Option<bool>,
    pub bpf_jit_enable: Option<i64>,
    pub perf_event_paranoid: Option<i64>,
    pub unprivileged_bpf_disabled: Option<i64>,
    pub privileges: Option<Privileges>,
    /// The chosen word of `security/lockdown`.
    pub lockdown: Option<String>,
}

/// A line whose handler reads the memory of its device across nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FarLine {
    pub irq: u32,
    /// Names of its actions, as their drivers gave them.
    pub name: String,
    /// The device's node.
    pub node: u16,
    /// Who handles it.
    pub cpus: CpuList,
    /// Who could.
    pub near: CpuList,
}

impl Facts {
    /// Major and minor number of the release, if it has them.
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let mut parts = self.release.split(|c: char| !c.is_ascii_digit());
        Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    }
}

impl Host {
    /// Gather what `irqpath check` judges.
    pub fn read_facts(&self) -> Facts {
        let mut facts = Facts::default();
        self.kernel_facts(&mut facts);
        self.power_facts(&mut facts);
        self.isolation_facts(&mut facts);
        self.tracing_facts(&mut facts);
        facts
    }

    fn kernel_facts(&self, facts: &mut Facts) {
        let kernel = self.kernel_info();
        let config = self.kernel_config(&kernel.release);
        facts.preempt_dynamic = kernel.version.contains("PREEMPT_DYNAMIC")
            || self.path("sys/kernel/debug/sched/preempt").exists();
        facts.debugfs = self.path("sys/kernel/debug/sched").exists();
        facts.can_force_threads = config.as_ref().map(|c| c.is_set("CONFIG_IRQ_FORCED_THREADING"));
        facts.rt_group_sched = config.as_ref().map(|c| c.is_set("CONFIG_RT_GROUP_SCHED"));
        if let Some(config) = config {
            let set = DEBUG_OPTIONS.into_iter().filter(|option| config.is_set(option));
            facts.debug_options = set.map(str::to_owned).collect();
        }
        facts.release = kernel.release;
        facts.preemption = kernel.preemption;
        facts.forced_irq_threads = kernel.forced_irq_threads;
        facts.clocksource = kernel.clocksource;
        facts.sched_rt_runtime_us = self.read_number("proc/sys/kernel/sched_rt_runtime_us");
        facts.sched_rt_period_us = self.read_number("proc/sys/kernel/sched_rt_period_us");
        let servers = "sys/kernel/debug/sched/fair_server";
        facts.fair_server_runtime_ns = self
            .names_in(servers)
            .iter()
            .filter_map(|cpu| self.read_number(&format!("{servers}/{cpu}/runtime")))
            .filter_map(|ns| u64::try_from(ns).ok())
            .max();
    }

    fn power_facts(&self, facts: &mut Facts) {
        let cpu = self.cpu_info();
        facts.governors = self.list_governors();
        facts.smt_active = cpu.smt;
        facts.hypervisor = cpu.hypervisor;
        facts.online = cpu.online;
        facts.cpu_dma_latency_us = cpu.cpu_dma_latency_us;
        facts.has_tsc = self.has_cpu_flag("tsc");
        facts.available_clocksources = self
            .read_fact("sys/devices/system/clocksource/clocksource0/available_clocksource")
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
            .unwrap_or_default();
        facts.idle_driver =
            self.read_fact("sys/devices/system/cpu/cpuidle/current_driver").unwrap_or_default();
        let directory = "sys/devices/system/cpu/cpu0/cpuidle";
        for state in self.names_in(directory) {
            let file = |name: &str| format!("{directory}/{state}/{name}");
            let disabled = self.read_number(&file("disable")).is_some_and(|n| n != 0);
            let latency = self.read_number(&file("latency")).and_then(|us| u64::try_from(us).ok());
            if let (Some(exit_latency_us), false) = (latency, disabled) {
                let name = self.read_fact(&file("name")).unwrap_or(state);
                facts.idle_states.push(IdleState { name, exit_latency_us });
            }
        }
        facts.steal_permille = self.read_fact("proc/stat").and_then(|text| steal_permille(&text));
    }

    /// None on a host with one node, or where the kernel does not tell a line's node.
    fn find_far_lines(&self) -> Vec<FarLine> {
        let nodes = self.read_nodes();
        if nodes.len() < 2 {
            return Vec::new();
        }
        let is_far = |(irq, name): (u32, String)| {
            // -1 for a device without a node.
            let node: u16 = self.read_fact(&format!("proc/irq/{irq}/node"))?.parse().ok()?;
            let near = nodes.get(&node).filter(|near| !near.is_empty())?.clone();
            let cpus = self.irq_effective_affinity(irq).filter(|cpus| !cpus.is_empty())?;
            cpus.is_disjoint(&near).then_some(FarLine { irq, name, node, cpus, near })
        };
        self.irq_names().unwrap_or_default().into_iter().filter_map(is_far).collect()
    }

    fn isolation_facts(&self, facts: &mut Facts) {
        facts.isolation = self.isolation();
        let isolated: CpuList = facts.isolation.isolated.parse().unwrap_or_default();
        facts.busy_siblings = self.read_siblings(&isolated);
        facts.nr_nodes = self.read_nodes().len();
        facts.far_lines = self.find_far_lines();
        facts.numa_balancing = self.read_number("proc/sys/kernel/numa_balancing");
        facts.irqbalance = self
            .names_in("proc")
            .iter()
            .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
            .find(|name| {
                self.read_fact(&format!("proc/{name}/comm")).as_deref() == Some("irqbalance")
            })
            .and_then(|name| name.parse().ok());
        facts.timer_migration = self.read_number("proc/sys/kernel/timer_migration");
        facts.nmi_watchdog = self.read_number("proc/sys/kernel/nmi_watchdog");
        // `watchdog` switches both; with it off, `soft_watchdog` reads 0 as well.
        facts.soft_watchdog = self.read_number("proc/sys/kernel/soft_watchdog");
        facts.thp = self
            .read_fact("sys/kernel/mm/transparent_hugepage/enabled")
            .and_then(|t| bracketed_word(&t));
        let swaps = self.read_fact("proc/swaps").unwrap_or_default();
        let areas = swaps.lines().skip(1).filter_map(|l| l.split_whitespace().next());
        facts.swaps = areas.map(str::to_owned).collect();
    }

    fn tracing_facts(&self, facts: &mut Facts) {
        facts.btf = self.path("sys/kernel/btf/vmlinux").exists();
        facts.tracefs = self
            .read_fact("proc/self/mounts")
            .map(|text| text.lines().any(|l| l.split(' ').nth(2) == Some("tracefs")));
        facts.bpf_jit_enable = self.read_number("proc/sys/net/core/bpf_jit_enable");
        facts.perf_event_paranoid = self.read_number("proc/sys/kernel/perf_event_paranoid");
        facts.unprivileged_bpf_disabled =
            self.read_number("proc/sys/kernel/unprivileged_bpf_disabled");
        facts.privileges = Some(self.privileges());
        facts.lockdown =
            self.read_fact("sys/kernel/security/lockdown").and_then(|t| bracketed_word(&t));
    }
}

/// The word in brackets: `always [madvise] never`.
fn bracketed_word(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// From the first line of `/proc/stat`; the eighth number is stolen time.
fn steal_permille(text: &str) -> Option<u64> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let times: Vec<u64> = line.split_whitespace().map_while(|n| n.parse().ok()).take(8).collect();
    let total: u64 = times.iter().fold(0, |sum, &n| sum.saturating_add(n));
    (total > 0).then(|| times.get(7).map(|steal| steal.saturating_mul(1000) / total))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn facts_of_a_fake_host() {
        let fake = Fake::new()
            .with_file("proc/sys/kernel/osrelease", "6.12.9-rt\n")
            .with_file("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n")
            .with_file("boot/config-6.12.9-rt", "CONFIG_KASAN=y\nCONFIG_IRQ_FORCED_THREADING=y\n")
            .with_file("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n")
            .with_file("proc/stat", "cpu  10 0 10 970 0 0 0 10 0 0\ncpu0 1\n")
            .with_file("proc/412/comm", "irqbalance\n")
            .with_file("proc/swaps", "Filename Type\n/dev/sda2 partition 1 0 -2\n")
            .with_file("proc/self/mounts", "tracefs /sys/kernel/tracing tracefs rw 0 0\n")
            .with_file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
            .with_file("sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
            .with_file("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n")
            .with_file("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n")
            .with_file("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133\n")
            .with_file("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "890\n")
            .with_file("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n");
        let facts = fake.host().read_facts();
        assert_eq!(facts.kernel_version(), Some((6, 12)));
        assert!(facts.preempt_dynamic);
        assert_eq!(facts.can_force_threads, Some(true));
        assert_eq!(facts.debug_options, ["CONFIG_KASAN"]);
        assert_eq!(facts.fair_server_runtime_ns, Some(50_000_000));
        assert_eq!(facts.steal_permille, Some(10));
        assert_eq!(facts.irqbalance, Some(412));
        assert_eq!(facts.swaps, ["/dev/sda2"]);
        assert_eq!((facts.tracefs, facts.btf), (Some(true), false));
        assert_eq!(facts.thp.as_deref(), Some("madvise"));
        assert_eq!(facts.lockdown.as_deref(), Some("integrity"));
        let state = |name: &str, exit_latency_us| IdleState { name: name.into(), exit_latency_us };
        assert_eq!(facts.idle_states, [state("POLL", 0), state("state1", 133)]);
    }

    #[test]
    fn a_line_is_far_if_no_cpu_of_its_devices_node_handles_it() {
        let fake = |cpus_of_node_1: &str| {
            ["24", "25", "26"].iter().zip(["0", "1", "-1"]).fold(
                Fake::new()
                    .with_file("proc/interrupts", "  CPU0 CPU1\n")
                    .with_file("sys/devices/system/node/node0/cpulist", "0-3\n")
                    .with_file("sys/devices/system/node/node1/cpulist", cpus_of_node_1),
                |fake, (irq, node)| {
                    fake.with_file(&format!("sys/kernel/irq/{irq}/actions"), "eth0-rx\n")
                        .with_file(&format!("proc/irq/{irq}/node"), &format!("{node}\n"))
                        .with_file(&format!("proc/irq/{irq}/effective_affinity_list"), "2\n")
                },
            )
        };
        let far = fake("4-7\n").host().read_facts().far_lines;
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        let expected = FarLine {
            irq: 25,
            name: "eth0-rx".to_owned(),
            node: 1,
            cpus: list("2"),
            near: list("4-7"),
        };
        assert_eq!(far, [expected]);
        // A node of memory alone has nobody who could handle it.
        assert_eq!(fake("\n").host().read_facts().far_lines, []);
    }

    #[test]
    fn strange_files_are_left_out() {
        let fake = Fake::new()
            .with_bytes("proc/stat", b"cpu  \xff\xff 1\n")
            .with_file("proc/sys/kernel/nmi_watchdog", "yes\n")
            .with_file("sys/kernel/mm/transparent_hugepage/enabled", "always\n")
            .with_file("proc/sys/kernel/osrelease", "next\n");
        let facts = fake.host().read_facts();
        assert_eq!((facts.steal_permille, facts.nmi_watchdog, facts.thp), (None, None, None));
        let facts = fake.host().read_facts();
        assert_eq!(facts.kernel_version(), None);
    }
}
