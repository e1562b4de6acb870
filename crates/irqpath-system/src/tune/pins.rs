// SPDX-License-Identifier: GPL-2.0-or-later
//! Pins between boots, and what they mean on this host now.
//!
//! There are two lists: what `tune pin` was told, and what `tune apply` last took from a file. Neither
//! changes a priority; who does goes through the journal as with what was learned. The rule to know:
//! names of tasks and units are compared whole, and only real-time tasks are asked for.

use std::path::{Path, PathBuf};

use irqpath_model::tune::{Association, Carrier, LiveThread, MAX_PINS, Pin, PinFile, SECONDARY};
use irqpath_model::{Comm, Names, Origin, Policy, TaskId};

use super::TuneError;
use crate::Host;
use crate::journal::state;

/// What `tune pin` was told, and what `tune apply` took over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinList {
    /// One at a time.
    ByHand,
    /// A whole file.
    FromFile,
}

impl PinList {
    const ALL: [Self; 2] = [Self::ByHand, Self::FromFile];

    const fn file_name(self) -> &'static str {
        match self {
            Self::ByHand => "tune.pins",
            Self::FromFile => "tune.applied",
        }
    }
}

/// Longest file of pins that is read.
pub const MAX_PIN_FILE: u64 = 1 << 20;

/// Reads a text of pins from `path`, which is for the error.
pub fn parse_pins(path: &Path, text: &str) -> Result<PinFile, TuneError> {
    let bad = |reason: String| TuneError::BadPins { path: path.to_owned(), reason };
    let file: PinFile = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
        bad(format!("line {line}: {}", error.message().replace('\n', " ")))
    })?;
    file.find_fault().map_or(Ok(file), |fault| Err(bad(fault)))
}

/// Pins as a file has them.
pub fn format_pins(file: &PinFile) -> String {
    const HEAD: &str = "# Which interrupts serve which real-time tasks. irqpath tune apply FILE takes \
        it over.\n";
    // Strings and numbers only: nothing that TOML lacks.
    HEAD.to_owned() + &toml::to_string(file).unwrap_or_default()
}

/// One list of pins; empty if there is none.
pub fn read_pins(host: &Host, list: PinList) -> Result<PinFile, TuneError> {
    let (path, text) = state::read_text(host, list.file_name(), MAX_PIN_FILE)?;
    text.map_or_else(|| Ok(PinFile::default()), |text| parse_pins(&path, &text))
}

/// Every pin, of both lists.
pub fn all_pins(host: &Host) -> Result<Vec<Pin>, TuneError> {
    let mut all = PinFile::default();
    for list in PinList::ALL {
        for pin in read_pins(host, list)?.serve {
            all.add_pin(pin);
        }
    }
    Ok(all.serve)
}

/// Put a list in place of the one before. An empty one leaves no file.
pub fn write_pins(host: &Host, list: PinList, file: &PinFile) -> Result<(), TuneError> {
    super::check_rights(host)?;
    if file.serve.len() > MAX_PINS {
        let (path, reason) =
            (PathBuf::from(list.file_name()), format!("more than {MAX_PINS} pins"));
        return Err(TuneError::BadPins { path, reason });
    }
    let text = (!file.serve.is_empty()).then(|| format_pins(file));
    Ok(state::replace_text(host, list.file_name(), text.as_deref())?)
}

/// Take pins off both lists; returns them.
pub fn remove_pins(host: &Host, unwanted: impl Fn(&Pin) -> bool) -> Result<Vec<Pin>, TuneError> {
    let mut removed = PinFile::default();
    for list in PinList::ALL {
        let mut file = read_pins(host, list)?;
        let (gone, kept) = file.serve.into_iter().partition(&unwanted);
        file.serve = kept;
        if !Vec::is_empty(&gone) {
            write_pins(host, list, &file)?;
        }
        for pin in gone {
            removed.add_pin(pin);
        }
    }
    Ok(removed.serve)
}

/// What the pins mean now: one association for each line and task that is there.
pub fn resolve_pins(
    host: &Host,
    pins: &[Pin],
    threads: &[LiveThread],
) -> Result<Vec<Association>, TuneError> {
    if pins.is_empty() {
        return Ok(Vec::new());
    }
    let names = Names { irqs: host.irq_names()?, ..Names::default() };
    let mut found = Vec::new();
    for pin in pins {
        let tasks: Vec<_> = threads.iter().filter(|thread| is_meant(host, pin, thread)).collect();
        for (&irq, actions) in &names.irqs {
            let is_line = actions.split(',').any(|action| action.trim() == pin.irq)
                && pin
                    .device
                    .as_ref()
                    .is_none_or(|device| host.pci_device(irq).as_ref() == Some(device));
            if is_line {
                let line = names.origin(Origin::Irq(irq));
                found.extend(tasks.iter().map(|task| pinned(pin, irq, line.clone(), task)));
            }
        }
    }
    Ok(found)
}

fn is_meant(host: &Host, pin: &Pin, thread: &LiveThread) -> bool {
    let policy = thread.scheduling.policy;
    let is_real_time = policy.is_fixed_priority() || policy == Policy::Deadline;
    let is_named = |comm: &Comm| Comm::from(thread.comm.as_str()) == *comm;
    !thread.kernel
        && is_real_time
        && pin.comm.as_ref().is_none_or(is_named)
        && pin.unit.as_ref().is_none_or(|unit| host.is_in_unit(thread.id.tid, unit))
}

fn pinned(pin: &Pin, irq: u32, line: String, task: &LiveThread) -> Association {
    let cut = |name: String| Comm::from_bytes(&name.as_bytes()[..name.len().min(15)]);
    let through = pin.through.iter().map(|name| match name.as_str() {
        SECONDARY => cut(format!("irq/{irq}-s-{}", pin.irq)),
        name => Comm::from(name),
    });
    let own = cut(format!("irq/{irq}-{}", pin.irq));
    let carriers = std::iter::once(own).chain(through);
    Association {
        origin: Origin::Irq(irq),
        line,
        task: TaskId { ..task.id },
        comm: Comm::from(task.comm.as_str()),
        carriers: carriers.map(|comm| Carrier { comm, nr: 0 }).collect(),
        nr: 0,
        recent: 0.0,
        share: 0.0,
        confidence: 0.0,
        age_ns: 0,
        established: true,
        pinned: true,
    }
}

impl Host {
    /// The PCI device of a line, if it is one's.
    pub(crate) fn pci_device(&self, irq: u32) -> Option<String> {
        const DEVICES: &str = "sys/bus/pci/devices";
        let has_it = |device: &String| {
            let directory = format!("{DEVICES}/{device}");
            self.path(format!("{directory}/msi_irqs/{irq}")).exists()
                || self.read_number(&format!("{directory}/irq")) == Some(irq.into())
        };
        self.names_in(DEVICES).into_iter().find(has_it)
    }

    /// True if a task is in this unit of systemd, or in a cgroup of that name.
    fn is_in_unit(&self, tid: u32, unit: &str) -> bool {
        let path = self.cgroup_path(tid).unwrap_or_default();
        path.split('/').any(|part| part == unit)
    }

    /// The innermost service or scope of a task.
    pub fn unit_of(&self, tid: u32) -> Option<String> {
        let path = self.cgroup_path(tid)?;
        let is_unit = |part: &&str| matches!(part.rsplit_once('.'), Some((_, "service" | "scope")));
        path.split('/').rev().find(is_unit).map(str::to_owned)
    }

    fn cgroup_path(&self, tid: u32) -> Option<String> {
        let text = self.read(&format!("proc/{tid}/cgroup")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
    }
}
