// SPDX-License-Identifier: GPL-2.0-or-later
//! Single threads that have CPUs for themselves. Below the cgroup of their process, their home,
//! irqpath makes a threaded one, `irqpath.cpu3`, which becomes a partition as those in `attached`
//! do. The other threads, the limits and the kill by cgroup stay with the home.
//!
//! `lone` chooses the threads, `handed` makes the changes.
//!
//! The rule to know: `cgroup.type` has no way back from `threaded`. It goes with the directory.

use std::collections::BTreeMap;

use irqpath_model::change::{Form, Target, Undone, Value};
use irqpath_model::shield::{LoneThread, Wanted};
use irqpath_model::{CpuList, TaskId};

use super::cpusets::{file_target, make_step};
use crate::change::{Access, Step, THREADS_PREFIX, home_of_threads, undo_changes};
use crate::journal::{Journal, JournalError};
use crate::{Host, Task};

/// Threads by the cgroup that is made for them, from the root of the hierarchy.
pub(super) type Threads = BTreeMap<String, Vec<(TaskId, String)>>;

/// The cgroup for threads that get these CPUs. No two have the same, as no CPU is given twice.
pub(super) fn directory_for(home: &str, cpus: &CpuList) -> String {
    let first = cpus.iter().next().unwrap_or_default();
    format!("{home}/{THREADS_PREFIX}{first}")
}

/// True for a cgroup of single threads.
pub(super) fn is_thread_cgroup(path: &str) -> bool {
    home_of_threads(path).is_some()
}

/// The cgroup of a process whose main thread is in this one.
pub(super) fn process_cgroup(path: &str) -> String {
    home_of_threads(path).unwrap_or(path).to_owned()
}

/// Finds the threads that `wanted` names, and says of which there is none now. `cgroups` has those
/// of the processes.
pub(super) fn locate_threads(
    wanted: &Wanted,
    tasks: &[Task],
    cgroups: &BTreeMap<u32, String>,
) -> (Threads, Vec<String>) {
    let (mut found, mut absent) = (Threads::new(), Vec::new());
    for (directory, names) in &wanted.threads {
        let home = home_of_threads(directory).unwrap_or(directory);
        let at_home: Vec<&Task> = tasks.iter().filter(|task| is_at(task, home, cgroups)).collect();
        for name in names {
            let threads: Vec<&&Task> = at_home.iter().filter(|task| is_one(task, name)).collect();
            if threads.is_empty() {
                absent.push(match name {
                    LoneThread::Thread(id) => {
                        format!("thread {} has ended, or its process left /{home}", id.tid)
                    }
                    LoneThread::Named(name) => format!("no thread of /{home} is named {name} now"),
                });
                continue;
            }
            let all = found.entry(directory.clone()).or_default();
            all.extend(threads.into_iter().map(|task| (task.id, task.label())));
        }
    }
    for threads in found.values_mut() {
        threads.sort();
        threads.dedup();
    }
    (found, absent)
}

fn is_at(task: &Task, home: &str, cgroups: &BTreeMap<u32, String>) -> bool {
    let cgroup = cgroups.get(&task.tgid).and_then(|path| path.strip_prefix('/'));
    !task.kernel && cgroup == Some(home)
}

fn is_one(task: &Task, name: &LoneThread) -> bool {
    match name {
        LoneThread::Thread(id) => task.id == *id,
        LoneThread::Named(name) => task.comm == *name,
    }
}

/// What threads that are named by number started has their CPUs when they have ended.
pub(super) fn add_started(threads: &mut Threads, wanted: &Wanted, inside: &Threads) {
    for (directory, started) in inside {
        let names = &wanted.threads[directory];
        let by_number = names.iter().all(|name| matches!(name, LoneThread::Thread(_)));
        if by_number && !threads.contains_key(directory) {
            threads.insert(directory.clone(), started.clone());
        }
    }
}

/// Threads of these homes that are in a cgroup of ours already, also those that began in it.
pub(super) fn find_inside(
    host: &Host,
    wanted: &Wanted,
    tasks: &[Task],
    cgroups: &BTreeMap<u32, String>,
) -> Threads {
    let homes = || wanted.threads.keys().filter_map(|path| home_of_threads(path));
    let at_home = |task: &&Task| homes().any(|home| is_at(task, home, cgroups));
    let mut inside = Threads::new();
    for task in tasks.iter().filter(at_home) {
        let path = host.cgroup_of(task.id.tid).unwrap_or_default();
        let path = path.trim_start_matches('/');
        if wanted.threads.contains_key(path) {
            inside.entry(path.to_owned()).or_default().push((task.id, task.label()));
        }
    }
    inside
}

/// What makes the cgroup, before its files are written.
pub(super) fn directory_steps(mount: &str, path: &str) -> Vec<Step> {
    let directory = format!("{mount}/{path}");
    let threaded = Value::Text("threaded".to_owned());
    let cgroup = Target::Cgroup { path: directory.clone() };
    vec![
        make_step(cgroup, &format!("cgroup /{path}"), Value::Present(true)),
        make_step(type_target(&directory), &format!("type of /{path}"), threaded),
    ]
}

fn type_target(directory: &str) -> Target {
    file_target(directory, "cgroup.type", Form::Text)
}

/// What moves the threads, when the cgroup has its CPUs.
pub(super) fn move_steps(mount: &str, path: &str, threads: &[(TaskId, String)]) -> Vec<Step> {
    let step = |(task, label): &(TaskId, String)| {
        let target = Target::ThreadCgroup { task: *task, mount: mount.to_owned() };
        make_step(target, &format!("cgroup of {label}"), Value::Text(format!("{mount}/{path}")))
    };
    threads.iter().map(step).collect()
}

/// True for a thread's move, a cgroup of threads and what is in it.
pub(super) fn is_thread_part(target: &Target) -> bool {
    match target {
        Target::ThreadCgroup { .. } => true,
        Target::Cgroup { path } => is_thread_cgroup(path),
        Target::File { path, .. } => {
            path.rsplit_once('/').is_some_and(|(directory, _)| is_thread_cgroup(directory))
        }
        _ => false,
    }
}

/// Moves threads that are not to be inside any more back to their homes, and removes their cgroups.
/// The kernel gives the CPUs of a partition back when its cgroup goes.
pub(super) fn remove_threads(
    access: &dyn Access,
    journal: &mut Journal,
    goes: &dyn Fn(&Target) -> bool,
) -> Result<Undone, JournalError> {
    let goes = |target: &Target| is_thread_part(target) && goes(target);
    if !journal.ledger().held().any(|(target, _)| goes(target)) {
        return Ok(Undone::default());
    }
    let is_move = |target: &Target| matches!(target, Target::ThreadCgroup { .. }) && goes(target);
    let is_cgroup = |target: &Target| matches!(target, Target::Cgroup { .. }) && goes(target);
    let mut undone = undo_changes(access, journal, is_move)?;
    for (target, _) in journal.ledger().held().filter(|(target, _)| is_cgroup(target)) {
        if let Target::Cgroup { path } = target {
            send_home(access, path);
        }
    }
    undone.extend(undo_changes(access, journal, is_cgroup)?);
    // What is left of one that could not go is given up, with the exception of its type.
    let is_type = |target: &Target| match target {
        Target::File { path, .. } => path
            .strip_suffix("/cgroup.type")
            .is_some_and(|directory| access.is_directory(directory)),
        _ => false,
    };
    undone.extend(undo_changes(access, journal, |target| goes(target) && !is_type(target))?);
    Ok(undone)
}

/// Threads that began inside are in nobody's journal. One may begin while others are moved, so this
/// looks until nothing is left.
fn send_home(access: &dyn Access, directory: &str) {
    const ROUNDS: usize = 100;
    let Some(home) = home_of_threads(directory) else { return };
    for _ in 0..ROUNDS {
        let inside = access.read(&format!("{directory}/cgroup.threads")).unwrap_or_default();
        if inside.trim().is_empty() {
            return;
        }
        for tid in inside.split_whitespace() {
            access.mark_step("before a thread moves");
            // One that ended meanwhile is not there in the next round.
            let _ = access.write(&format!("{home}/cgroup.threads"), tid);
        }
    }
}
