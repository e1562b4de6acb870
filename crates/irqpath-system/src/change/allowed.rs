// SPDX-License-Identifier: GPL-2.0-or-later
//! What irqpath changes, as patterns. A journal that names anything else was not written by it,
//! and root must not do what it says.

use irqpath_model::change::{Form, Target, Value};
use irqpath_model::tune::{FlowRule, OTHER_RULE};

use super::Intent;
use crate::Host;

/// The cgroup of a shield, below the mount.
pub const PARTITION_DIRECTORY: &str = "irqpath.shield";
/// The cgroup of programs that a shield starts, below the mount.
pub const RUN_DIRECTORY: &str = "irqpath.shield/run";
/// A cgroup of single threads, below that of their process: `irqpath.cpu3` has CPU 3 and further
/// ones for itself.
pub const THREADS_PREFIX: &str = "irqpath.cpu";

/// The cgroup above one of single threads; `None` for the path of any other cgroup.
pub fn home_of_threads(path: &str) -> Option<&str> {
    let (home, name) = path.rsplit_once('/')?;
    name.strip_prefix(THREADS_PREFIX).filter(|cpu| is_number(cpu)).map(|_| home)
}

/// The changes that may stand in a journal of this host.
#[derive(Debug, Clone)]
pub struct Allowed {
    /// Where cgroups of version 2 are mounted.
    mounts: Vec<String>,
}

impl Allowed {
    /// Allows the usual place of cgroups and every mount of the host.
    pub fn for_host(host: &Host) -> Self {
        let mut mounts = host.cgroup_mounts();
        // It may have been unmounted since; its usual place is nobody else's.
        mounts.push("sys/fs/cgroup".to_owned());
        Self { mounts }
    }

    /// True if this is a change that irqpath makes.
    pub fn is_permitted(&self, intent: &Intent) -> bool {
        match &intent.target {
            Target::File { path, form } => {
                self.form_of(path).is_some_and(|expected| expected == *form)
            }
            Target::Cgroup { path } => self.below_mount(path).is_some_and(|below| {
                let home = home_of_threads(below);
                [PARTITION_DIRECTORY, RUN_DIRECTORY].contains(&below)
                    || home.is_some_and(|home| home.split('/').all(is_name))
            }),
            Target::ProcessCgroup { mount, .. } | Target::ThreadCgroup { mount, .. } => {
                let inside = |value: &Value| match value {
                    Value::Text(path) => path == mount || is_below(path, mount),
                    _ => false,
                };
                self.mounts.contains(mount) && inside(&intent.before) && inside(&intent.new)
            }
            Target::TaskAffinity { .. }
            | Target::TaskScheduling { .. }
            | Target::Irqbalance { .. } => true,
            Target::FlowRule { device, .. } => {
                let is_ours = |words: &str| words.parse::<FlowRule>().is_ok();
                let is_device = is_name(device) && !device.contains(['/', '\0']);
                match (&intent.before, &intent.new) {
                    (Value::Text(before), Value::Text(new)) if before.is_empty() => {
                        is_device && is_ours(new)
                    }
                    // As the driver made another rule of ours.
                    (Value::Text(before), Value::Text(new)) => {
                        is_device && is_ours(before) && new.starts_with(OTHER_RULE)
                    }
                    _ => false,
                }
            }
            Target::IrqbalanceLines { .. } => {
                let is_numbers = |value: &Value| match value {
                    Value::Text(irqs) => irqs.bytes().all(|b| b.is_ascii_digit() || b == b' '),
                    _ => false,
                };
                is_numbers(&intent.before) && is_numbers(&intent.new)
            }
        }
    }

    /// How a file is written that irqpath changes; `None` for any other file.
    fn form_of(&self, path: &str) -> Option<Form> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["proc", "irq", number, "smp_affinity"] if is_number(number) => Some(Form::Mask),
            ["proc", "irq", "default_smp_affinity"]
            | ["proc", "shield", "procs" | "irqs" | "ltmrs"]
            | ["proc", "sys", "net", "core", "rps_default_mask"]
            | ["sys", "devices", "virtual", "workqueue", "cpumask"] => Some(Form::Mask),
            ["sys", "devices", "virtual", "workqueue", name, "cpumask"] if is_name(name) => {
                Some(Form::Mask)
            }
            ["sys", "class", "net", device, "queues", queue, "rps_cpus" | "xps_cpus"]
                if is_name(device) && is_name(queue) =>
            {
                Some(Form::Mask)
            }
            ["sys", "class", "net", device, "threaded"] if is_name(device) => Some(Form::Text),
            ["proc", "sys", "kernel", "watchdog_cpumask"] => Some(Form::List),
            ["proc", "sys", "kernel", "timer_migration"]
            | ["proc", "sys", "vm", "stat_interval"] => Some(Form::Text),
            ["sys", "devices", "system", "cpu", cpu, "online"]
            | ["sys", "devices", "system", "cpu", cpu, "power", "pm_qos_resume_latency_us"]
            | ["sys", "kernel", "debug", "sched", "fair_server", cpu, "runtime"]
                if is_cpu(cpu) =>
            {
                Some(Form::Text)
            }
            ["sys", "devices", "system", "cpu", "cpufreq", policy, "scaling_governor"]
                if is_name(policy) =>
            {
                Some(Form::Text)
            }
            _ => self.partition_form(path),
        }
    }

    fn partition_form(&self, path: &str) -> Option<Form> {
        let below = self.below_mount(path)?;
        let inside = below.strip_prefix(PARTITION_DIRECTORY).and_then(|r| r.strip_prefix('/'));
        let Some(file) = inside else { return attached_form(below) };
        match file {
            "cgroup.subtree_control" => Some(controller_form()),
            "cpuset.cpus" => Some(Form::List),
            "cpuset.cpus.partition" => Some(Form::Text),
            _ => None,
        }
    }

    fn below_mount<'a>(&self, path: &'a str) -> Option<&'a str> {
        self.mounts.iter().find_map(|mount| path.strip_prefix(mount.as_str())?.strip_prefix('/'))
    }
}

/// Files of cgroups that are somebody else's and got CPUs for themselves.
fn attached_form(below: &str) -> Option<Form> {
    let Some((directory, file)) = below.rsplit_once('/') else {
        return (below == "cgroup.subtree_control").then(controller_form);
    };
    match file {
        _ if !directory.split('/').all(is_name) => None,
        "cgroup.subtree_control" => Some(controller_form()),
        "cpuset.cpus.exclusive" => Some(Form::List),
        "cpuset.cpus.partition" => Some(Form::Text),
        "cgroup.type" if home_of_threads(directory).is_some() => Some(Form::Text),
        _ => None,
    }
}

fn controller_form() -> Form {
    Form::Controller("cpuset".to_owned())
}

fn is_cpu(part: &str) -> bool {
    part.strip_prefix("cpu").is_some_and(is_number)
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name and not a way out of the directory.
fn is_name(part: &str) -> bool {
    !["", ".", ".."].contains(&part)
}

fn is_below(path: &str, mount: &str) -> bool {
    let below = path.strip_prefix(mount).and_then(|rest| rest.strip_prefix('/'));
    below.is_some_and(|rest| rest.split('/').all(is_name))
}
