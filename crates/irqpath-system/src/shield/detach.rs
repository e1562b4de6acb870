// SPDX-License-Identifier: GPL-2.0-or-later
//! Takes back what one attached cgroup had. The others stay attached, and a shield of its own stays
//! set; with the last of all of them everything is as it was before.

use irqpath_model::shield::{Reset, Set, Wanted};

use super::entry::Entry;
use super::reset::reset_as_seen;
use super::set::set_as_seen;
use super::{OWNER, ShieldError};
use crate::Host;
use crate::change::Access;
use crate::journal::peek_journal;

/// What is left when a cgroup has given its CPUs back.
#[derive(Debug)]
pub enum Detached {
    /// Something else is shielded.
    Rest(Box<Set>),
    /// Nothing is.
    Nothing(Box<Reset>),
}

/// Take back what the attached cgroup `name` had: a path from the root with a slash, the name of a unit,
/// or the number of a container, which a runtime makes part of the name of its scope. The cgroup may
/// have ended.
pub fn detach(
    host: &Host,
    access: &dyn Access,
    name: &str,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Detached, ShieldError> {
    loop {
        let seen = peek_journal(host, OWNER)?.wanted;
        let wanted = Entry::parse(seen.clone()).ok_or(ShieldError::NotSet)?.wanted;
        let path = find_attached(&wanted, name)?;
        let rest = without(wanted, &path);
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

/// The path of an attached cgroup. Of a name, all of its forms are looked for.
fn find_attached(wanted: &Wanted, name: &str) -> Result<String, ShieldError> {
    let is_named = |path: &&String| {
        if name.contains('/') {
            return path.as_str() == name.trim_matches('/');
        }
        let last = path.rsplit('/').next().unwrap_or_default();
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        last == name || stem == name || stem.rsplit_once('-').is_some_and(|(_, id)| id == name)
    };
    let mut found: Vec<&String> = wanted.attached.keys().filter(is_named).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path.clone()),
        (None, _) => Err(ShieldError::NothingAttached { name: name.to_owned() }),
        (Some(last), false) => {
            found.push(last);
            let list: Vec<String> = found.iter().map(|path| format!("/{path}")).collect();
            Err(ShieldError::AmbiguousUnit { name: name.to_owned(), found: list.join(", ") })
        }
    }
}

/// The same shield without a cgroup, its CPUs, and the interrupts that were bound to these alone.
fn without(mut wanted: Wanted, path: &str) -> Wanted {
    let cpus = wanted.attached.remove(path).unwrap_or_default();
    wanted.threads.remove(path);
    wanted.cpus = wanted.cpus.difference(&cpus);
    for bound in wanted.irqs.values_mut() {
        *bound = bound.difference(&cpus);
    }
    wanted.irqs.retain(|_, bound| !bound.is_empty());
    wanted
}
