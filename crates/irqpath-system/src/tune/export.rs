// SPDX-License-Identifier: GPL-2.0-or-later
//! From what was learned or asked for to pins: numbers become the names that stay.

use std::collections::BTreeMap;

use irqpath_model::tune::{Association, LiveThread, Pin, SECONDARY};
use irqpath_model::{Comm, Origin};

use super::TuneError;
use crate::{Host, SystemError};

/// Wakeups that a thread must have carried to be written down.
const MIN_CARRIED: u64 = 3;
/// Longest name of a task, bytes.
const MAX_COMM: usize = 15;

/// The pins that say what was learned, and how many associations no name can say: those that no
/// interrupt line starts.
pub fn describe_associations(
    host: &Host,
    known: &[Association],
) -> Result<(Vec<Pin>, usize), TuneError> {
    let names = host.irq_names()?;
    let (mut pins, mut nr_nameless) = (Vec::new(), 0);
    for one in known.iter().filter(|one| one.established && !one.pinned) {
        match describe_one(host, &names, one) {
            Some(pin) if pins.contains(&pin) => {}
            Some(pin) => pins.push(pin),
            None => nr_nameless += 1,
        }
    }
    Ok((pins, nr_nameless))
}

fn describe_one(host: &Host, names: &BTreeMap<u32, String>, one: &Association) -> Option<Pin> {
    let Origin::Irq(irq) = one.origin else { return None };
    let carries = |comm: &str| one.carriers.iter().any(|carrier| carrier.comm.as_str() == comm);
    let actions: Vec<&str> = split_actions(names.get(&irq)?).collect();
    // Of a shared line, the action whose thread woke the task.
    let of_thread = |action: &&&str| carries(&cut_name(&format!("irq/{irq}-{action}")));
    let action = actions.iter().find(of_thread).or(actions.first())?;
    let seen = one.carriers.iter().filter(|carrier| carrier.nr >= MIN_CARRIED);
    let mut through: Vec<String> =
        seen.filter_map(|carrier| describe_carrier(irq, carrier.comm.as_str())).collect();
    through.dedup();
    let unit = host.unit_of(one.task.tid).filter(|unit| unit.ends_with(".service"));
    let (device, comm) = (find_device(host, names, irq, action), Some(one.comm.clone()));
    Some(Pin { irq: (*action).to_owned(), device, through, comm, unit })
}

fn split_actions(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn cut_name(name: &str) -> String {
    Comm::from_bytes(&name.as_bytes()[..name.len().min(MAX_COMM)]).as_str().to_owned()
}

/// A thread beside the line's own, without the numbers of this boot.
fn describe_carrier(irq: u32, comm: &str) -> Option<String> {
    if comm.starts_with(&format!("irq/{irq}-s-")) {
        Some(SECONDARY.to_owned())
    } else if comm.starts_with("napi/") {
        Some(comm.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned())
    } else {
        let stays = comm.starts_with("ksoftirqd/") || comm.starts_with("ktimers/");
        stays.then(|| comm.to_owned())
    }
}

/// Only where the name alone would mean several lines.
fn find_device(
    host: &Host,
    names: &BTreeMap<u32, String>,
    irq: u32,
    action: &str,
) -> Option<String> {
    let has_it = |names: &&String| split_actions(names).any(|name| name == action);
    (names.values().filter(has_it).count() > 1).then(|| host.pci_device(irq))?
}

/// The pins that `--irq` and `--task` of a command line mean: one for each interrupt that fits.
pub fn make_pins(
    host: &Host,
    irq: &str,
    task: &str,
    threads: &[LiveThread],
) -> Result<Vec<Pin>, TuneError> {
    let (comm, unit) = read_task(task, threads)?;
    let pin = |irq: &str, device| Pin {
        irq: irq.to_owned(),
        device,
        through: Vec::new(),
        comm: comm.clone(),
        unit: unit.clone(),
    };
    let found = find_actions(host, irq)?;
    if found.is_empty() && irq.parse::<u32>().is_ok() {
        let candidates = String::from("see the first column of /proc/interrupts");
        return Err(SystemError::UnknownInterrupt { wanted: irq.to_owned(), candidates }.into());
    }
    if found.is_empty() {
        return Ok(vec![pin(irq, None)]);
    }
    Ok(found.iter().map(|(action, device)| pin(action, device.clone())).collect())
}

/// Actions with that name, or else those of that line, or else those with it in their name.
pub fn find_actions(host: &Host, wanted: &str) -> Result<Vec<(String, Option<String>)>, TuneError> {
    let names = host.irq_names()?;
    let all =
        || names.iter().flat_map(|(&irq, names)| split_actions(names).map(move |name| (irq, name)));
    let number = wanted.parse::<u32>().ok();
    let exact: Vec<_> = all().filter(|&(_, name)| name == wanted).collect();
    let chosen: Vec<_> = match number {
        _ if !exact.is_empty() => return Ok(vec![(wanted.to_owned(), None)]),
        Some(number) => all().filter(|&(irq, _)| irq == number).collect(),
        None => all().filter(|(_, n)| n.to_lowercase().contains(&wanted.to_lowercase())).collect(),
    };
    let named = |(irq, name): (u32, &str)| {
        let device = number.and_then(|_| find_device(host, &names, irq, name));
        (name.to_owned(), device)
    };
    let mut named: Vec<_> = chosen.into_iter().map(named).collect();
    named.sort_unstable();
    named.dedup();
    Ok(named)
}

/// `PID`, `UNIT.service` or a name.
fn read_task(
    task: &str,
    threads: &[LiveThread],
) -> Result<(Option<Comm>, Option<String>), TuneError> {
    let bad = |reason| TuneError::BadTask { task: task.to_owned(), reason };
    if let Ok(tid) = task.parse::<u32>() {
        let thread = threads.iter().find(|thread| thread.id.tid == tid && !thread.kernel);
        let thread = thread.ok_or_else(|| bad("there is no such task of user space"))?;
        return Ok((Some(Comm::from(thread.comm.as_str())), None));
    }
    let kinds = [".service", ".scope", ".slice"];
    if kinds.iter().any(|kind| task.ends_with(kind)) {
        return Ok((None, Some(task.to_owned())));
    }
    if task.is_empty() || task.len() > MAX_COMM {
        return Err(bad("names of tasks have 1 to 15 bytes"));
    }
    Ok((Some(Comm::from(task)), None))
}
