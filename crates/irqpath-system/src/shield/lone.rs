// SPDX-License-Identifier: GPL-2.0-or-later
//! Chooses threads that are to have CPUs for themselves, and refuses what the kernel could not do
//! or what would break the cgroup of their process.
//!
//! The rule to know: while the home has a threaded cgroup below it, no process can go into any
//! other cgroup there. So a home that has others is refused, also if these are empty now.

use std::collections::BTreeSet;
use std::path::Path;

use irqpath_model::change::Target;
use irqpath_model::shield::{LoneThread, PlacedTask, Wanted};

use super::attach::{add_attached, base_wanted, check_kernel};
use super::attached::{find_cgroup, foreign_partition};
use super::ended::without;
use super::placed::{Placed, find_thread};
use super::threads::{directory_for, process_cgroup};
use super::{OWNER, ShieldError, Snapshot};
use crate::Host;
use crate::change::{PARTITION_DIRECTORY, home_of_threads};
use crate::journal::{Ledger, peek_journal};
use crate::tasks::{PF_KTHREAD, Stat};

/// Controllers of which threads of one process can have different shares.
const THREADED: [&str; 4] = ["cpu", "cpuset", "perf_event", "pids"];
/// The longest name of a task (`TASK_COMM_LEN`), without the zero at its end.
const MAX_COMM: usize = 15;

/// Threads that are to have CPUs for themselves.
#[derive(Debug, Clone, Copy)]
pub enum Chosen<'a> {
    /// Threads by number.
    Tids(&'a [u32]),
    /// Threads by name, of a unit or the cgroup at a path.
    Names {
        /// The unit, or the path from the root of the hierarchy.
        cgroup: &'a str,
        /// Their names, as in `/proc/TID/comm`.
        names: &'a [String],
    },
}

fn refuse(reason: String) -> ShieldError {
    ShieldError::ThreadNotAttached { reason }
}

/// What is wanted with the threads attached: what `asked` has, added to a shield that is set.
/// Refuses what cannot be had.
pub fn plan_attach_threads(
    host: &Host,
    chosen: Chosen<'_>,
    asked: &Wanted,
) -> Result<Wanted, ShieldError> {
    let content = peek_journal(host, OWNER)?;
    let set = base_wanted(content.wanted, asked);
    add_threads(host, &content.ledger, set, chosen, asked)
}

/// The same, added to what is `set` as this journal says.
pub(super) fn add_threads(
    host: &Host,
    ledger: &Ledger,
    set: Wanted,
    chosen: Chosen<'_>,
    asked: &Wanted,
) -> Result<Wanted, ShieldError> {
    let cgroup = Snapshot::read_cgroup(host);
    check_kernel(host, &cgroup).map_err(refuse)?;
    let mount = &cgroup.mount;
    let (home, threads) = match chosen {
        Chosen::Tids(tids) => find_home(host, mount, tids)?,
        Chosen::Names { cgroup, names } => (find_cgroup(host, mount, cgroup)?, check_names(names)?),
    };
    check_home(host, mount, &home, ledger)?;
    let path = directory_for(&home, &asked.cpus);
    let target = Target::Cgroup { path: format!("{mount}/{path}") };
    if host.path(format!("{mount}/{path}")).exists() && ledger.get(&target).is_none() {
        return Err(refuse(format!("/{path} is there, and irqpath did not make it; remove it")));
    }
    let mut wanted = set;
    choose_threads(&mut wanted, &path, threads);
    let wanted = add_attached(wanted, &path, asked)?;
    check_found(host, &wanted, &path, ledger)?;
    Ok(wanted)
}

/// The cgroup that all these threads' processes are in.
fn find_home(
    host: &Host,
    mount: &str,
    tids: &[u32],
) -> Result<(String, BTreeSet<LoneThread>), ShieldError> {
    let (mut home, mut threads) = (None, BTreeSet::new());
    for &tid in tids {
        let PlacedTask::Thread(id) = find_thread(host, tid)? else { continue };
        let stat = host.read_fact(&format!("proc/{tid}/stat"));
        let stat = stat.as_deref().and_then(Stat::parse_stat);
        if stat.is_some_and(|stat| stat.flags & PF_KTHREAD != 0) {
            return Err(refuse(format!("thread {tid} is the kernel's, which has no unit")));
        }
        let path = host.cgroup_of(tid).map(|path| process_cgroup(&path)).unwrap_or_default();
        let path = path.trim_start_matches('/').to_owned();
        if path.is_empty() {
            return Err(refuse(format!(
                "the process of thread {tid} is in no cgroup of its own; start it as a unit"
            )));
        }
        if let Some(other) = home.replace(path.clone()).filter(|other| *other != path) {
            return Err(refuse(format!(
                "the threads are in /{other} and /{path}; attach those of each with CPUs of their own"
            )));
        }
        threads.insert(LoneThread::Thread(id));
    }
    let home = find_cgroup(host, mount, &format!("/{}", home.unwrap_or_default()))?;
    Ok((home, threads))
}

fn check_names(names: &[String]) -> Result<BTreeSet<LoneThread>, ShieldError> {
    if let Some(name) = names.iter().find(|name| name.is_empty() || name.len() > MAX_COMM) {
        return Err(refuse(format!(
            "'{name}' is no name of a thread, which has 1 to {MAX_COMM} bytes; see ps -L -o comm"
        )));
    }
    Ok(names.iter().cloned().map(LoneThread::Named).collect())
}

/// Refuse a cgroup that cannot have threaded ones below it.
fn check_home(host: &Host, mount: &str, home: &str, ledger: &Ledger) -> Result<(), ShieldError> {
    let directory = format!("{mount}/{home}");
    let read = |file: &str| host.read_fact(&format!("{directory}/{file}")).unwrap_or_default();
    if Path::new(home).starts_with(PARTITION_DIRECTORY) {
        return Err(refuse(format!("/{home} is the shield's own; reset it first")));
    }
    if !["domain", "domain threaded"].contains(&read("cgroup.type").as_str()) {
        return Err(refuse(format!("/{home} is a threaded cgroup of somebody else")));
    }
    let words = read("cgroup.subtree_control");
    if let Some(word) = words.split_whitespace().find(|word| !THREADED.contains(word)) {
        return Err(refuse(format!("/{home} hands the controller {word} on to cgroups below it")));
    }
    let is_threaded = |name: &String| {
        let kind = host.read_fact(&format!("{directory}/{name}/cgroup.type"));
        let ours = home_of_threads(&format!("{home}/{name}")).is_some();
        ours || kind.is_some_and(|kind| kind == "threaded")
    };
    let is_cgroup = |name: &String| host.path(format!("{directory}/{name}")).is_dir();
    let names = host.names_in(&directory);
    if let Some(name) = names.iter().find(|name| is_cgroup(name) && !is_threaded(name)) {
        return Err(refuse(format!("/{home} has a cgroup for processes below it: {name}")));
    }
    match foreign_partition(host, mount, home, ledger) {
        Some(cpus) => Err(refuse(format!("/{home} already is a partition of CPU {cpus}"))),
        None => Ok(()),
    }
}

/// These threads go to `path`, wherever they were to go before.
fn choose_threads(wanted: &mut Wanted, path: &str, threads: BTreeSet<LoneThread>) {
    for (other, names) in &mut wanted.threads {
        let is_here = home_of_threads(other) == home_of_threads(path);
        let is_same = |name: &LoneThread| is_here || matches!(name, LoneThread::Thread(_));
        names.retain(|name| !(threads.contains(name) && is_same(name)));
    }
    wanted.threads.entry(path.to_owned()).or_default().extend(threads);
    let is_left =
        |(other, names): (&String, &BTreeSet<LoneThread>)| names.is_empty().then(|| other.clone());
    let empty: Vec<String> = wanted.threads.iter().filter_map(is_left).collect();
    for other in empty {
        *wanted = without(wanted.clone(), &other);
    }
}

/// Refuse names of which there is nothing now.
fn check_found(
    host: &Host,
    wanted: &Wanted,
    path: &str,
    ledger: &Ledger,
) -> Result<(), ShieldError> {
    let placed = Placed::locate(host, wanted, &host.read_tasks(), ledger);
    if placed.threads.contains_key(path) {
        return Ok(());
    }
    let home = home_of_threads(path).unwrap_or(path);
    Err(refuse(format!(
        "/{home} has no such thread; ps -L -o tid,comm -p PID lists those of a process"
    )))
}
