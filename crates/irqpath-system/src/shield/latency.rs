// SPDX-License-Identifier: GPL-2.0-or-later
//! How fast a CPU can be: sleep states, frequencies, the server that runs ordinary tasks between
//! real-time ones, and the folding of counters. `latency_plan` decides what to change of it.

use std::collections::BTreeMap;

use irqpath_model::CpuList;
use irqpath_model::shield::Switch;

use crate::Host;

pub(super) const STAT_FILE: &str = "proc/sys/vm/stat_interval";
const FAIR_SERVER: &str = "sys/kernel/debug/sched/fair_server";
pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// What was read of CPUs that are to be shielded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// For each CPU the latencies, us, with which its sleep states end. Empty where Linux chooses
    /// none.
    pub exit_latencies_us: BTreeMap<u16, Vec<u32>>,
    /// CPUs that can be given a limit for it.
    pub limited: CpuList,
    /// Frequency policies: name, the CPUs that share it, and the governors that it can have.
    pub policies: Vec<(String, CpuList, String)>,
    /// CPUs whose fair server can be switched off.
    pub fair_servers: CpuList,
    /// True where counters are folded in intervals that can be set.
    pub has_stat_interval: bool,
    /// True for a kernel with `PREEMPT_RT`.
    pub is_realtime: bool,
}

impl Latency {
    pub(super) fn read(host: &Host, cpus: &CpuList) -> Self {
        let with = |path: &dyn Fn(u16) -> String| -> CpuList {
            cpus.iter().filter(|&cpu| host.path(path(cpu)).exists()).collect()
        };
        let version = host.read_fact("proc/version").unwrap_or_default();
        Self {
            exit_latencies_us: cpus
                .iter()
                .map(|cpu| (cpu, read_exit_latencies(host, cpu)))
                .collect(),
            limited: with(&resume_file),
            policies: read_policies(host),
            fair_servers: with(&server_file),
            has_stat_interval: host.path(STAT_FILE).exists(),
            is_realtime: version.contains("PREEMPT_RT"),
        }
    }
}

pub(super) fn resume_file(cpu: u16) -> String {
    format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us")
}

pub(super) fn server_file(cpu: u16) -> String {
    format!("{FAIR_SERVER}/cpu{cpu}/runtime")
}

fn read_exit_latencies(host: &Host, cpu: u16) -> Vec<u32> {
    let states = format!("{CPUS}/cpu{cpu}/cpuidle");
    let of = |state: String| host.read_fact(&format!("{states}/{state}/latency"))?.parse().ok();
    host.names_in(&states).into_iter().filter_map(of).collect()
}

fn read_policies(host: &Host) -> Vec<(String, CpuList, String)> {
    let directory = format!("{CPUS}/cpufreq");
    let of = |name: String| {
        let file = |file: &str| host.read_fact(&format!("{directory}/{name}/{file}"));
        let cpus = file("affected_cpus")?.split_whitespace().collect::<Vec<_>>().join(",");
        let governors = file("scaling_available_governors").unwrap_or_default();
        Some((name.clone(), cpus.parse().ok()?, governors))
    };
    host.names_in(&directory).into_iter().filter_map(of).collect()
}

/// The switch that leaves a file of these alone.
pub(super) fn switch_of(path: &str) -> Option<Switch> {
    if path == STAT_FILE {
        Some(Switch::Statistics)
    } else if path.starts_with(FAIR_SERVER) {
        Some(Switch::FairServer)
    } else if path.ends_with("/pm_qos_resume_latency_us") {
        Some(Switch::Idle)
    } else if path.ends_with("/scaling_governor") {
        Some(Switch::Governor)
    } else {
        None
    }
}
