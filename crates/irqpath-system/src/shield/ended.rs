// SPDX-License-Identifier: GPL-2.0-or-later
//! Containers and programs that ended, and have CPUs that nobody gave back. A runtime that is killed
//! never calls the hook for the end of a container, and a program has nobody to tell.

use irqpath_model::shield::{LoneThread, Wanted};

use super::Snapshot;
use super::attached::is_cgroup;
use crate::Host;

/// The same without containers whose cgroup is gone, as one that begins again calls the hook, and
/// without threads that had CPUs of the shield and ended, with all that they started.
pub(super) fn without_ended(host: &Host, wanted: Wanted) -> Wanted {
    let mount = Snapshot::read_cgroup(host).mount;
    let is_gone = |path: &&String| !is_cgroup(host, &mount, path);
    let is_empty = |path: &&String| {
        let inside = host.read_fact(&format!("{mount}/{path}/cgroup.threads"));
        inside.is_none_or(|inside| inside.trim().is_empty())
    };
    let is_numbered = |name: &LoneThread| matches!(name, LoneThread::Thread(_));
    let returns = |path: &str| !wanted.threads[path].iter().all(is_numbered);
    let borrowers = wanted.threads.keys().filter(|path| wanted.borrowed.contains_key(*path));
    let programs = borrowers.filter(|path| !returns(path)).filter(is_empty);
    let containers = wanted.containers.values().filter(is_gone);
    let ended: Vec<String> = containers.chain(programs).cloned().collect();
    ended.iter().fold(wanted, |rest, path| without(rest, path))
}

/// The same shield without a cgroup, its CPUs that were not shielded before, and the interrupts that
/// were bound to these alone.
pub(super) fn without(mut wanted: Wanted, path: &str) -> Wanted {
    let cpus = wanted.attached.remove(path).unwrap_or_default();
    let stays = wanted.borrowed.remove(path).unwrap_or_default();
    let goes = cpus.difference(&stays);
    wanted.threads.remove(path);
    wanted.containers.retain(|_, its| its != path);
    wanted.cpus = wanted.cpus.difference(&goes);
    for bound in wanted.irqs.values_mut() {
        *bound = bound.difference(&goes);
    }
    wanted.irqs.retain(|_, bound| !bound.is_empty());
    wanted
}
