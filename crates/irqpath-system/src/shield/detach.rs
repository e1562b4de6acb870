// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes back what one attached cgroup had. The others stay attached, and a shield of its own stays
//! set. With the last of all of them everything is as it was before.

use irqpath_model::shield::{Reset, Set, Wanted};

use super::ended::{without, without_ended};
use super::entry::Entry;
use super::reset::reset_as_seen;
use super::set::set_as_seen;
use super::{OWNER, ShieldError};
use crate::Host;
use crate::change::Access;
use crate::journal::peek_journal;

/// Whose CPUs go back.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// Those of a cgroup, by its path from the root with a slash, of a unit, or of a container.
    Named(&'a str),
    /// Those of the container with this id, and of nothing else.
    Container(&'a str),
}

/// What is left when a cgroup has given its CPUs back.
#[derive(Debug)]
pub enum Detached {
    /// Something else is shielded.
    Rest(Box<Set>),
    /// Nothing is.
    Nothing(Box<Reset>),
}

/// Take back what an attached cgroup had. It may have ended.
pub fn detach(
    host: &Host,
    access: &dyn Access,
    whose: Whose<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Detached, ShieldError> {
    change(host, access, is_stopped, &|wanted| {
        let path = find_attached(&wanted, whose)?;
        Ok(without_ended(host, without(wanted, &path)))
    })
}

/// Take back what containers and programs had that have ended, although nobody said so. `None` if there
/// are none.
pub(super) fn detach_ended(
    host: &Host,
    access: &dyn Access,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Detached>, ShieldError> {
    let Some(entry) = Entry::parse(peek_journal(host, OWNER)?.wanted) else { return Ok(None) };
    if without_ended(host, entry.wanted.clone()) == entry.wanted {
        return Ok(None);
    }
    change(host, access, is_stopped, &|wanted| Ok(without_ended(host, wanted))).map(Some)
}

/// Take back what was given to a cgroup in vain; it has again what it had `before`.
pub(super) fn take_back(
    host: &Host,
    access: &dyn Access,
    path: &str,
    before: Option<&Wanted>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Detached, ShieldError> {
    change(host, access, is_stopped, &|wanted| {
        let mut rest = without(wanted, path);
        if let Some(before) = before {
            give_again(&mut rest, before, path);
        }
        Ok(rest)
    })
}

/// Everything that a cgroup had.
fn give_again(rest: &mut Wanted, before: &Wanted, path: &str) {
    let Some(cpus) = before.attached.get(path) else { return };
    rest.cpus = rest.cpus.union(cpus);
    rest.attached.insert(path.to_owned(), cpus.clone());
    if let Some(threads) = before.threads.get(path) {
        rest.threads.insert(path.to_owned(), threads.clone());
    }
    if let Some(borrowed) = before.borrowed.get(path) {
        rest.borrowed.insert(path.to_owned(), borrowed.clone());
    }
    let of_it = before.containers.iter().filter(|(_, its)| *its == path);
    rest.containers.extend(of_it.map(|(id, its)| (id.clone(), its.clone())));
    let bound = before.irqs.iter().filter(|(_, list)| *list == cpus);
    rest.irqs.extend(bound.map(|(name, list)| (name.clone(), list.clone())));
}

/// Change what is wanted, also if others do so at the same time.
fn change(
    host: &Host,
    access: &dyn Access,
    is_stopped: &dyn Fn() -> bool,
    rest: &dyn Fn(Wanted) -> Result<Wanted, ShieldError>,
) -> Result<Detached, ShieldError> {
    loop {
        let seen = peek_journal(host, OWNER)?.wanted;
        let entry = Entry::parse(seen.clone()).ok_or(ShieldError::NotSet)?;
        let rest = rest(entry.wanted)?;
        let done = if rest.cpus.is_empty() {
            reset_as_seen(host, access, Some(&seen)).map(|it| Detached::Nothing(Box::new(it)))
        } else {
            set_as_seen(host, access, &rest, Some(&seen), is_stopped)
                .map(|it| Detached::Rest(Box::new(it)))
        };
        match done {
            Err(ShieldError::ChangedMeanwhile) => {}
            done => return done,
        }
    }
}

/// The path of an attached cgroup.
fn find_attached(wanted: &Wanted, whose: Whose<'_>) -> Result<String, ShieldError> {
    let name = match whose {
        Whose::Container(id) => {
            let path = wanted.containers.get(id).cloned();
            return path.ok_or_else(|| ShieldError::NothingAttached { name: id.to_owned() });
        }
        Whose::Named(name) => name,
    };
    let is_unit = |last: &str| {
        let kinds = ["service", "scope", "slice"];
        last == name || last.rsplit_once('.').is_some_and(|(s, k)| s == name && kinds.contains(&k))
    };
    let is_named = |path: &&String| match name.strip_prefix('/') {
        Some(whole) => *path == whole.trim_end_matches('/'),
        None => {
            is_unit(path.rsplit('/').next().unwrap_or_default())
                || wanted.containers.get(name) == Some(*path)
        }
    };
    let found: Vec<&String> = wanted.attached.keys().filter(is_named).collect();
    match found.as_slice() {
        [path] => Ok((*path).clone()),
        [] => Err(ShieldError::NothingAttached { name: name.to_owned() }),
        several => {
            let list: Vec<String> = several.iter().map(|path| format!("/{path}")).collect();
            Err(ShieldError::AmbiguousUnit { name: name.to_owned(), found: list.join(", ") })
        }
    }
}
