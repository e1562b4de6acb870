// SPDX-License-Identifier: GPL-2.0-or-later
//! Cgroups of units and containers that have CPUs for themselves: where they are, and what makes
//! their partitions. The kernel calls these remote (Linux 6.11): every cgroup above hands the CPUs
//! down in `cpuset.cpus.exclusive`, and need not be a partition itself.
//!
//! `handed` makes the steps from here and takes them back.
//!
//! The rule to know: a cgroup that is a partition already is somebody else's. It is used as it is,
//! or refused.

use std::collections::{BTreeMap, VecDeque};
use std::fs;

use irqpath_model::change::{Form, Target, Value};
use irqpath_model::{CpuList, TaskId};

use super::ShieldError;
use super::cpusets::{controller_target, file_target, make_step};
use super::threads::{directory_steps, is_thread_part, move_steps};
use crate::Host;
use crate::change::{PARTITION_DIRECTORY, Step};
use crate::journal::Ledger;

const EXCLUSIVE: &str = "cpuset.cpus.exclusive";
const PARTITION: &str = "cpuset.cpus.partition";

/// The first version that can. Since 6.7 there is `cpuset.cpus.exclusive`; before 6.11
/// (737bb142a00d) it had to be a part of `cpuset.cpus`, of every cgroup above, too.
pub(super) const ATTACHES: (u32, u32) = (6, 11);

/// As many directories are looked at for a unit; a host has some hundred slices.
const MAX_LOOKED_AT: usize = 50_000;

/// A cgroup that is to have CPUs for itself, as it is there now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attached {
    /// The CPUs.
    pub cpus: CpuList,
    /// True for a partition that somebody else made.
    pub given: bool,
    /// For the cgroup and each one above it but the root: the directory below the mount, and the
    /// CPUs that it may hand down now.
    pub exclusive: Vec<(String, CpuList)>,
    /// The threads that go there, with their names, if it is one that irqpath makes for them.
    pub threads: Vec<(TaskId, String)>,
}

impl Attached {
    /// Looks at a cgroup; `None` if it is not there. One for `threads` may have yet to be made.
    pub(super) fn read(
        host: &Host,
        mount: &str,
        path: &str,
        cpus: &CpuList,
        threads: Vec<(TaskId, String)>,
        ledger: &Ledger,
    ) -> Option<Self> {
        if threads.is_empty() && !is_cgroup(host, mount, path) {
            return None;
        }
        let of = |directory: &str| {
            let text = host.read_fact(&format!("{mount}/{directory}/{EXCLUSIVE}"));
            let cpus = text.and_then(|text| text.parse().ok()).unwrap_or_default();
            (directory.to_owned(), cpus)
        };
        Some(Self {
            cpus: cpus.clone(),
            given: foreign_partition(host, mount, path, ledger).is_some(),
            exclusive: list_prefixes(path).map(of).collect(),
            threads,
        })
    }
}

/// `a`, `a/b` and `a/b/c` of `a/b/c`.
fn list_prefixes(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()]).map(|end| &path[..end])
}

/// True for a path of plain names, each a directory and not a link to one.
pub(super) fn is_cgroup(host: &Host, mount: &str, path: &str) -> bool {
    let is_plain = |part: &str| !["", ".", ".."].contains(&part) && !part.contains(['\0', '\n']);
    let is_directory = |below: &str| {
        let found = fs::symlink_metadata(host.path(format!("{mount}/{below}")));
        found.is_ok_and(|found| found.is_dir())
    };
    path.split('/').all(is_plain) && list_prefixes(path).all(is_directory)
}

/// The CPUs of a partition that is not ours.
pub(super) fn foreign_partition(
    host: &Host,
    mount: &str,
    path: &str,
    ledger: &Ledger,
) -> Option<CpuList> {
    let directory = format!("{mount}/{path}");
    let state = host.read_fact(&format!("{directory}/{PARTITION}"))?;
    let ours = ledger.get(&file_target(&directory, PARTITION, Form::Text)).is_some();
    let cpus = || host.read_fact(&format!("{directory}/cpuset.cpus.effective"))?.parse().ok();
    (state != "member" && !ours).then(|| cpus().unwrap_or_default())
}

/// The cgroup of a unit of the system, or the one at a path; from the root without the first slash.
pub(super) fn find_cgroup(host: &Host, mount: &str, text: &str) -> Result<String, ShieldError> {
    let name = || text.to_owned();
    if text.contains('/') {
        let path = text.trim_matches('/');
        let found = is_cgroup(host, mount, path).then(|| path.to_owned());
        return found.ok_or_else(|| ShieldError::NoCgroup { path: name() });
    }
    let kinds = ["service", "scope", "slice"];
    let names: Vec<String> = if kinds.contains(&kind_of(text)) {
        vec![name()]
    } else {
        kinds.iter().map(|kind| format!("{text}.{kind}")).collect()
    };
    let mut found = find_units(host, mount, &names);
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(ShieldError::UnitNotFound { name: name() }),
        _ => Err(ShieldError::AmbiguousUnit { name: name(), found: found.join(", ") }),
    }
}

/// `service` of `a.service`; empty for what is no unit.
fn kind_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, kind)| kind)
}

/// Looks below slices only: who has a part of the hierarchy delegated may make cgroups of any name
/// below his unit.
fn find_units(host: &Host, mount: &str, names: &[String]) -> Vec<String> {
    let (mut found, mut left) = (Vec::new(), MAX_LOOKED_AT);
    let mut waiting = VecDeque::from([String::new()]);
    while let Some(directory) = waiting.pop_front() {
        for name in host.names_in(&format!("{mount}/{directory}")) {
            let path = format!("{directory}{name}");
            let known = names.contains(&name);
            if left == 0 || !(known || kind_of(&name) == "slice") {
                continue;
            }
            left -= 1;
            if !is_cgroup(host, mount, &path) {
                continue;
            }
            if kind_of(&name) == "slice" {
                waiting.push_back(format!("{path}/"));
            }
            found.extend(known.then_some(path));
        }
    }
    found
}

/// What the partition of this cgroup is called where it cannot be made.
pub(super) fn obstacle_label(path: &str) -> String {
    format!("a partition in /{path}")
}

/// What makes the partitions, in the order in which it has to be made; by cgroup.
pub(super) fn attach_steps(
    mount: &str,
    attached: &BTreeMap<String, Attached>,
    ledger: &Ledger,
) -> Vec<(String, Vec<Step>)> {
    // A cgroup above several of them hands down the CPUs of all.
    let mut handed: BTreeMap<&str, CpuList> = BTreeMap::new();
    let ours = || attached.iter().filter(|(_, one)| !one.given);
    for (directory, one) in
        ours().flat_map(|(_, one)| one.exclusive.iter().map(move |d| (&d.0, one)))
    {
        let cpus = handed.entry(directory).or_default();
        *cpus = cpus.union(&one.cpus);
    }
    let steps = |(path, one): (&String, &Attached)| {
        let on = Value::Present(true);
        let above = list_prefixes(path).map(|p| p.rsplit_once('/').map_or("", |(up, _)| up));
        let above =
            above.map(|up| if up.is_empty() { mount.to_owned() } else { format!("{mount}/{up}") });
        let controller = |directory: String| {
            let label = format!("cpuset controller below /{directory}");
            make_step(controller_target(&directory), &label, on.clone())
        };
        let exclusive = |(directory, found): &(String, CpuList)| {
            let target = file_target(&format!("{mount}/{directory}"), EXCLUSIVE, Form::List);
            let held = ledger.get(&target);
            let held = held.filter(|held| held.ours.contains(&Value::Cpus(found.clone())));
            let base = held.and_then(|held| held.original.cpus()).unwrap_or(found);
            // What the cgroup itself had asked for is not what it is to have.
            let base = if directory == path { CpuList::default() } else { base.clone() };
            let cpus = base.union(&handed[directory.as_str()]);
            make_step(target, &format!("exclusive CPUs of /{directory}"), Value::Cpus(cpus))
        };
        let own = (!one.threads.is_empty()).then(|| directory_steps(mount, path));
        let mut steps: Vec<Step> = own.into_iter().flatten().chain(above.map(controller)).collect();
        steps.extend(one.exclusive.iter().map(exclusive));
        let target = file_target(&format!("{mount}/{path}"), PARTITION, Form::Text);
        let word = Value::Text("isolated".to_owned());
        steps.push(make_step(target, &format!("partition of /{path}"), word));
        steps.extend(move_steps(mount, path, &one.threads));
        (path.clone(), steps)
    };
    ours().map(steps).collect()
}

/// True for what belongs to an attached cgroup, or to one above it but the root.
pub(super) fn is_attached_part(target: &Target, mount: &str) -> bool {
    if is_thread_part(target) {
        return true;
    }
    let Target::File { path, .. } = target else { return false };
    let Some(below) = path.strip_prefix(mount) else { return false };
    let own = below.trim_start_matches('/').split('/').next() == Some(PARTITION_DIRECTORY);
    let files = [EXCLUSIVE, PARTITION, "cgroup.subtree_control"];
    let (directory, file) = below.rsplit_once('/').unwrap_or_default();
    !own && !directory.is_empty() && files.contains(&file)
}
