// SPDX-License-Identifier: GPL-2.0-or-later
//! What a container runtime tells its hooks: the state of a container, as the runtime specification
//! of the Open Container Initiative has it (runtime-spec, "State" and "POSIX-platform Hooks").

use std::collections::BTreeMap;

use irqpath_model::CpuList;
use serde::Deserialize;

use super::{ShieldError, Snapshot};
use crate::Host;

/// What asks for a shield: a list of CPUs, or [`OWN_CPUS`]. With a dot and the name of a container after
/// it, for that container of a pod alone.
pub const ANNOTATION: &str = "org.irqpath.shield";
/// Those that the container's cpuset has, as the kubelet's static policy gives a pod its CPUs.
const OWN_CPUS: &str = "cpuset";

/// By which containerd and cri-o mark what holds a pod's namespaces. It has the annotations of the pod,
/// and no work.
const SANDBOX: [(&str, &str); 2] = [
    ("io.kubernetes.cri.container-type", "sandbox"),
    ("io.kubernetes.cri-o.ContainerType", "sandbox"),
];
/// Where containerd and cri-o have a container's name in its pod.
const NAMES: [&str; 2] = ["io.kubernetes.cri.container-name", "io.kubernetes.container.name"];

/// A container, as its runtime describes it on standard input.
#[derive(Debug, Deserialize)]
pub struct Container {
    /// Unique on the host.
    pub id: String,
    status: String,
    #[serde(default)]
    pid: u32,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// What a hook has to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Moment {
    /// The container asks for nothing.
    Unasked,
    /// It is about to run.
    Begins {
        /// Its first process.
        pid: u32,
        /// The CPUs that it asks for; none: those of its cpuset.
        cpus: Option<CpuList>,
    },
    /// It has ended.
    Ended,
}

impl Container {
    /// What a runtime says.
    ///
    /// # Errors
    /// In one line, if it is not the state of a container.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|e| format!("that is not the state of a container: {e}"))
    }

    /// What its hook has to do now.
    ///
    /// # Errors
    /// In one line, if the annotation says nothing that is known.
    pub fn moment(&self) -> Result<Moment, String> {
        let Some((annotation, asked)) = self.asked() else { return Ok(Moment::Unasked) };
        if self.status == "stopped" {
            return Ok(Moment::Ended);
        }
        let cpus = match asked.as_str() {
            OWN_CPUS => None,
            list => Some(list.parse().map_err(|_| {
                format!("{annotation} is '{list}'; it takes a list of CPUs, or {OWN_CPUS}")
            })?),
        };
        Ok(Moment::Begins { pid: self.pid, cpus })
    }

    /// The annotation that is for this container, and what it says.
    fn asked(&self) -> Option<(String, &String)> {
        let says = |key: &str| self.annotations.get(key);
        if SANDBOX.iter().any(|(key, kind)| says(key).is_some_and(|found| found == kind)) {
            return None;
        }
        let own = NAMES.iter().find_map(|key| says(key)).map(|name| format!("{ANNOTATION}.{name}"));
        let mut keys = own.into_iter().chain([ANNOTATION.to_owned()]);
        keys.find_map(|key| says(&key).map(|asked| (key, asked)))
    }
}

/// The cgroup of a container, by one of its processes, as [`plan_attach_container`] takes it: the part
/// of the path that ends with the container's id. Below it crun and systemd have cgroups of their own.
///
/// [`plan_attach_container`]: super::plan_attach_container
///
/// # Errors
/// If no part of the path has the id: others may be in that cgroup, too.
pub fn container_cgroup(host: &Host, pid: u32, id: &str) -> Result<String, ShieldError> {
    let text = host.read_fact(&format!("proc/{pid}/cgroup")).unwrap_or_default();
    let whole = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let is_its = |part: &str| {
        let scope = part.strip_suffix(".scope").unwrap_or(part);
        !id.is_empty()
            && (part == id
                || scope == id
                || scope.strip_suffix(id).is_some_and(|p| p.ends_with('-')))
    };
    let parts: Vec<&str> = whole.split('/').collect();
    match parts.iter().rposition(|part| is_its(part)) {
        Some(at) if parts[0] != ".." => Ok(format!("/{}", parts[..=at].join("/"))),
        _ => Err(ShieldError::SharedCgroup { id: id.to_owned(), path: format!("/{whole}") }),
    }
}

/// The CPUs that a cgroup was limited to; none if it was not.
pub fn cpuset_of(host: &Host, path: &str) -> CpuList {
    let mount = Snapshot::read_cgroup(host).mount;
    let text = host.read_fact(&format!("{mount}{path}/cpuset.cpus")).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}
