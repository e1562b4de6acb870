// SPDX-License-Identifier: GPL-2.0-or-later
//! The few ways in which a host is read and changed, as a trait: [`RealAccess`](super::RealAccess)
//! asks the kernel, tests have a machine of files that refuses, lags and dies on command.

use std::io;

use irqpath_model::change::{Form, Target, Value};
use irqpath_model::tune::{FlowRule, FlowTable};
use irqpath_model::{CpuList, Scheduling, TaskId};

/// Reads and changes a host. Errors keep the system's error number, which is what a user gets to
/// see.
pub trait Access {
    /// Reads the text of a file.
    fn read(&self, path: &str) -> io::Result<String>;
    /// Write all of `text` at once: kernel files take a write as one request.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;
    /// Whether there is a directory.
    fn is_directory(&self, path: &str) -> bool;
    /// Names of the directories in a directory; none if it cannot be read.
    fn list_directories(&self, path: &str) -> Vec<String>;
    /// Make a directory; an existing one is an error.
    fn create_directory(&self, path: &str) -> io::Result<()>;
    /// Remove a directory. A cgroup's control files do not count as content.
    fn remove_directory(&self, path: &str) -> io::Result<()>;
    /// When a task started; `None` if it is gone.
    fn task_start(&self, tid: u32) -> Option<u64>;
    /// CPUs that a task may use, offline ones included.
    fn affinity(&self, tid: u32) -> io::Result<CpuList>;
    /// Sets the CPUs that a task may use.
    fn set_affinity(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Policy and priority of a task.
    fn scheduling(&self, tid: u32) -> io::Result<Scheduling>;
    /// Sets policy and priority of a task.
    fn set_scheduling(&self, tid: u32, scheduling: Scheduling) -> io::Result<()>;
    /// The directory, below `mount`, of the cgroup that a thread is in.
    fn cgroup_of(&self, tid: u32, mount: &str) -> io::Result<String>;
    /// CPUs that irqbalance, running as this process, leaves alone.
    fn irqbalance_banned(&self, tid: u32) -> io::Result<CpuList>;
    /// Tells irqbalance which CPUs to leave alone.
    fn set_irqbalance_banned(&self, tid: u32, cpus: &CpuList) -> io::Result<()>;
    /// Interrupts that irqbalance, running as this process, leaves alone, as numbers with spaces.
    fn irqbalance_lines(&self, tid: u32) -> io::Result<String>;
    /// Tells irqbalance which interrupts to leave alone.
    fn set_irqbalance_lines(&self, tid: u32, irqs: &str) -> io::Result<()>;
    /// What a network device has for flow rules.
    fn flow_table(&self, device: &str) -> io::Result<FlowTable>;
    /// Gives a network device a rule.
    fn insert_flow_rule(&self, device: &str, location: u32, rule: FlowRule) -> io::Result<()>;
    /// Removes a rule of a network device.
    fn remove_flow_rule(&self, device: &str, location: u32) -> io::Result<()>;
    /// CPUs that are online.
    fn online_cpus(&self) -> io::Result<CpuList> {
        let text = self.read("sys/devices/system/cpu/online")?;
        text.parse().map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("{e}")))
    }
    /// Called between any two steps of a change. Does nothing, except in tests that die there.
    fn mark_step(&self, _what: &'static str) {}
}

const EEXIST: i32 = 17;
const EOPNOTSUPP: i32 = 95;

/// True if this error means that what was asked for is not there any more.
fn is_gone(error: &io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

/// `None` for what is gone, as an exited task.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if is_gone(&error) => Ok(None),
        other => other.map(Some),
    }
}

fn parse_value(form: &Form, path: &str, text: &str) -> io::Result<Value> {
    form.parse(text).ok_or_else(|| {
        let reason = format!("{path} holds '{}', which is not a {form:?}", text.trim());
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

impl dyn Access + '_ {
    /// A rule in words; no words where there is none.
    fn flow_rule(&self, device: &str, location: u32) -> io::Result<Option<Value>> {
        let table = match self.flow_table(device) {
            // A device that has taken the name of one with rules.
            Err(error) if error.raw_os_error() == Some(EOPNOTSUPP) => FlowTable::default(),
            other => match unless_gone(other)? {
                Some(table) => table,
                None => return Ok(None),
            },
        };
        let words = table.rules.get(&location).map(ToString::to_string);
        Ok(Some(Value::Text(words.unwrap_or_default())))
    }

    /// Most drivers replace a rule without a word, so a look comes first whether somebody took the
    /// place.
    fn set_flow_rule(&self, device: &str, location: u32, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return self.remove_flow_rule(device, location);
        }
        let rule = words.parse().map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("'{words}' is no flow rule"))
        })?;
        if self.flow_table(device)?.rules.contains_key(&location) {
            return Err(io::Error::from_raw_os_error(EEXIST));
        }
        self.insert_flow_rule(device, location, rule)
    }

    fn is_alive(&self, task: TaskId) -> bool {
        self.task_start(task.tid) == Some(task.start_ticks)
    }

    /// A target's value; `None` if the target is gone.
    pub fn get(&self, target: &Target) -> io::Result<Option<Value>> {
        if target.task().is_some_and(|task| !self.is_alive(task)) {
            return Ok(None);
        }
        match target {
            Target::File { path, form } => {
                unless_gone(self.read(path))?.map(|text| parse_value(form, path, &text)).transpose()
            }
            Target::TaskAffinity { task } => {
                Ok(unless_gone(self.affinity(task.tid))?.map(Value::Cpus))
            }
            Target::TaskScheduling { task } => {
                Ok(unless_gone(self.scheduling(task.tid))?.map(Value::Scheduling))
            }
            Target::ProcessCgroup { task, mount } | Target::ThreadCgroup { task, mount } => {
                Ok(unless_gone(self.cgroup_of(task.tid, mount))?.map(Value::Text))
            }
            Target::Cgroup { path } => Ok(Some(Value::Present(self.is_directory(path)))),
            Target::FlowRule { device, location } => self.flow_rule(device, *location),
            Target::Irqbalance { task } => {
                Ok(unless_gone(self.irqbalance_banned(task.tid))?.map(Value::Cpus))
            }
            Target::IrqbalanceLines { task } => {
                Ok(unless_gone(self.irqbalance_lines(task.tid))?.map(Value::Text))
            }
        }
    }

    /// Set a target's value; `false` if the target is gone.
    pub fn set(&self, target: &Target, value: &Value) -> io::Result<bool> {
        if target.task().is_some_and(|task| !self.is_alive(task)) {
            return Ok(false);
        }
        let done = match (target, value) {
            (Target::File { path, form }, _) => self.write(path, &form.format(value)),
            (Target::TaskAffinity { task }, Value::Cpus(cpus)) => self.set_affinity(task.tid, cpus),
            (Target::TaskScheduling { task }, Value::Scheduling(s)) => {
                self.set_scheduling(task.tid, *s)
            }
            (Target::ProcessCgroup { task, .. }, Value::Text(directory)) => {
                self.write(&format!("{directory}/cgroup.procs"), &task.tid.to_string())
            }
            (Target::ThreadCgroup { task, .. }, Value::Text(directory)) => {
                self.write(&format!("{directory}/cgroup.threads"), &task.tid.to_string())
            }
            (Target::Cgroup { path }, Value::Present(true)) => self.create_directory(path),
            (Target::Cgroup { path }, Value::Present(false)) => self.remove_directory(path),
            (Target::FlowRule { device, location }, Value::Text(text)) => {
                self.set_flow_rule(device, *location, text)
            }
            (Target::Irqbalance { task }, Value::Cpus(cpus)) => {
                self.set_irqbalance_banned(task.tid, cpus)
            }
            (Target::IrqbalanceLines { task }, Value::Text(irqs)) => {
                self.set_irqbalance_lines(task.tid, irqs)
            }
            (target, value) => {
                let reason = format!("{value} is no value for {target:?}");
                Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
            }
        };
        Ok(unless_gone(done)?.is_some())
    }
}
