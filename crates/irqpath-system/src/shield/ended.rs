// SPDX-License-Identifier: GPL-2.0-or-later
//! Containers and programs that ended, and have CPUs that nobody gave back. A runtime that is killed
//! never calls the hook for the end of a container, and a program has nobody to tell.
//!
//! The rule to know: what cannot be seen has not ended. Others plan without the lock, and a program
//! that has just been written down is in its cgroup only when all else is done.

use std::io::ErrorKind;

use irqpath_model::TaskId;
use irqpath_model::shield::{LoneThread, Wanted};

use super::Snapshot;
use crate::Host;
use crate::tasks::Stat;

/// The same without containers whose cgroup is gone, as one that begins again calls the hook, and
/// without threads that had CPUs of the shield and ended, with all that they started.
pub(super) fn without_ended(host: &Host, wanted: Wanted) -> Wanted {
    let mount = Snapshot::read_cgroup(host).mount;
    if mount.is_empty() {
        return wanted;
    }
    let is_gone = |path: &&String| is_missing(host, &format!("{mount}/{path}"));
    let is_over = |path: &&String| {
        let inside = host.read_fact(&format!("{mount}/{path}/cgroup.threads"));
        let is_empty = inside.is_some_and(|inside| inside.trim().is_empty());
        let are_dead = wanted.threads[*path].iter().all(|name| has_ended(host, name));
        are_dead && (is_empty || is_gone(path))
    };
    let borrowers = wanted.threads.keys().filter(|path| wanted.borrowed.contains_key(*path));
    let containers = wanted.containers.values().filter(is_gone);
    let ended: Vec<String> = containers.chain(borrowers.filter(is_over)).cloned().collect();
    ended.iter().fold(wanted, |rest, path| without(rest, path))
}

fn is_missing(host: &Host, directory: &str) -> bool {
    let found = host.path(directory).symlink_metadata();
    found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// A name may be met again.
fn has_ended(host: &Host, name: &LoneThread) -> bool {
    let LoneThread::Thread(TaskId { tid, start_ticks }) = name else { return false };
    if is_missing(host, &format!("proc/{tid}")) {
        return true;
    }
    let stat = host.read_fact(&format!("proc/{tid}/stat"));
    let stat = stat.as_deref().and_then(Stat::parse_stat);
    stat.is_some_and(|stat| stat.start_ticks != *start_ticks)
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
