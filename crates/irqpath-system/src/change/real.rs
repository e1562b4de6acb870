// SPDX-License-Identifier: GPL-2.0-or-later
//! The running host: files under its root, affinities by system call.
//!
//! A task's affinity is read from `/proc/TID/status` and not by `sched_getaffinity`, which hides
//! CPUs that are offline: put back from there, a task would not return to a CPU that comes back.

use std::fs;
use std::io::{self, Write as _};

use irqpath_model::tune::{FlowRule, FlowTable};
use irqpath_model::{CpuList, Scheduling};
use rustix::process::Pid;
use rustix::thread::CpuSet;

use super::{Access, irqbalance};
use crate::Host;
use crate::tasks::{Stat, affinity_in_status};

/// Sets a task's policy and priority. This crate has no `unsafe`, so who has the system call
/// brings it along.
pub type SetScheduling = fn(u32, Scheduling) -> io::Result<()>;

/// Reads and changes the flow rules of network devices, brought along likewise.
#[derive(Debug, Clone, Copy)]
pub struct FlowCalls {
    /// What a device has for flow rules.
    pub read_table: fn(&str) -> io::Result<FlowTable>,
    /// Gives a device a rule at a location.
    pub insert_rule: fn(&str, u32, FlowRule) -> io::Result<()>,
    /// Removes the rule at a location.
    pub remove_rule: fn(&str, u32) -> io::Result<()>,
}

/// The way to the running host.
#[derive(Debug, Clone)]
pub struct RealAccess {
    host: Host,
    set_scheduling: Option<SetScheduling>,
    flows: Option<FlowCalls>,
}

impl RealAccess {
    /// For this host; it can change neither priorities nor flow rules yet.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone(), set_scheduling: None, flows: None }
    }

    /// With the system call that changes priorities.
    pub fn with_scheduling(mut self, set: SetScheduling) -> Self {
        self.set_scheduling = Some(set);
        self
    }

    /// With the system calls for flow rules.
    pub const fn with_flows(mut self, calls: FlowCalls) -> Self {
        self.flows = Some(calls);
        self
    }

    fn flows(&self) -> io::Result<FlowCalls> {
        self.flows.ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

fn invalid_data(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

fn to_pid(tid: u32) -> io::Result<Pid> {
    i32::try_from(tid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no task id: {tid}")))
}

impl Access for RealAccess {
    fn read(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.host.path(path))?).into_owned())
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // Not created and not truncated: these are the kernel's files.
        fs::OpenOptions::new().write(true).open(self.host.path(path))?.write_all(text.as_bytes())
    }

    fn is_directory(&self, path: &str) -> bool {
        self.host.path(path).is_dir()
    }

    fn list_directories(&self, path: &str) -> Vec<String> {
        let names = self.host.names_in(path);
        names.into_iter().filter(|name| self.is_directory(&format!("{path}/{name}"))).collect()
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.host.path(path))
    }

    fn remove_directory(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.host.path(path))
    }

    fn task_start(&self, tid: u32) -> Option<u64> {
        Some(Stat::parse_stat(&self.read(&format!("proc/{tid}/stat")).ok()?)?.start_ticks)
    }

    fn affinity(&self, tid: u32) -> io::Result<CpuList> {
        let path = format!("proc/{tid}/status");
        affinity_in_status(&self.read(&path)?)
            .ok_or_else(|| invalid_data(format!("{path} has no Cpus_allowed_list")))
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        if let Some(cpu) = cpus.iter().find(|&cpu| usize::from(cpu) >= CpuSet::MAX_CPU) {
            // Leaving it out would take the CPU away from the task for good.
            let reason = format!("CPU {cpu} is beyond the {} that can be set", CpuSet::MAX_CPU);
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(usize::from(cpu)));
        Ok(rustix::thread::sched_setaffinity(Some(to_pid(tid)?), &set)?)
    }

    fn scheduling(&self, tid: u32) -> io::Result<Scheduling> {
        let path = format!("proc/{tid}/stat");
        let stat = Stat::parse_stat(&self.read(&path)?)
            .ok_or_else(|| invalid_data(format!("{path} is malformed")))?;
        let unknown = || invalid_data(format!("policy {} is not known", stat.policy));
        stat.scheduling().ok_or_else(unknown)
    }

    fn set_scheduling(&self, tid: u32, scheduling: Scheduling) -> io::Result<()> {
        let set = self.set_scheduling.ok_or(io::ErrorKind::Unsupported)?;
        set(tid, scheduling)
    }

    fn flow_table(&self, device: &str) -> io::Result<FlowTable> {
        (self.flows()?.read_table)(device)
    }

    fn insert_flow_rule(&self, device: &str, location: u32, rule: FlowRule) -> io::Result<()> {
        (self.flows()?.insert_rule)(device, location, rule)
    }

    fn remove_flow_rule(&self, device: &str, location: u32) -> io::Result<()> {
        (self.flows()?.remove_rule)(device, location)
    }

    fn cgroup_of(&self, tid: u32, mount: &str) -> io::Result<String> {
        let text = self.read(&format!("proc/{tid}/cgroup"))?;
        let path = text
            .lines()
            .find_map(|line| line.strip_prefix("0::"))
            .ok_or_else(|| invalid_data(format!("task {tid} is in no cgroup of version 2")))?;
        Ok(format!("{mount}{}", path.trim_end_matches('/')))
    }

    fn irqbalance_banned(&self, tid: u32) -> io::Result<CpuList> {
        irqbalance::read_banned(&self.host, tid)
    }

    fn set_irqbalance_banned(&self, tid: u32, cpus: &CpuList) -> io::Result<()> {
        irqbalance::ban_cpus(&self.host, tid, cpus)
    }

    fn irqbalance_lines(&self, tid: u32) -> io::Result<String> {
        irqbalance::read_lines(&self.host, tid)
    }

    fn set_irqbalance_lines(&self, tid: u32, irqs: &str) -> io::Result<()> {
        irqbalance::ban_lines(&self.host, tid, irqs)
    }
}
