// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of interrupts and timer callbacks. A callback's name is looked up in the kernel's
//! symbols, which takes milliseconds of a CPU that is being measured: at the end, and only where
//! a file that grows meanwhile needs it, when the callback is first seen.

use std::collections::BTreeSet;

use irqpath_model::{Event, Names};
use irqpath_system::Host;

/// When callbacks are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// All new ones of a batch at once.
    Now,
    /// All of them when the measurement is over.
    AtTheEnd,
}

/// Names of interrupts, and of the timer callbacks that were met so far.
#[derive(Debug)]
pub struct KnownNames {
    host: Option<Host>,
    lookup: Lookup,
    names: Names,
    seen: BTreeSet<u64>,
    waiting: BTreeSet<u64>,
}

impl KnownNames {
    /// Names of this host.
    pub fn live(host: &Host, lookup: Lookup) -> anyhow::Result<Self> {
        let names = Names { irqs: host.irq_names()?, ..Names::default() };
        Ok(Self { host: Some(host.clone()), lookup, names, ..Self::recorded(Names::default()) })
    }

    /// Names as they were recorded: nothing to look up.
    pub fn recorded(names: Names) -> Self {
        Self {
            host: None,
            lookup: Lookup::AtTheEnd,
            names,
            seen: BTreeSet::new(),
            waiting: BTreeSet::new(),
        }
    }

    /// The names so far; a callback that waits to be looked up has none yet.
    pub fn get(&self) -> &Names {
        &self.names
    }

    /// Read the names of lines again. Those that cannot be read stay as they were.
    pub fn reread_lines(&mut self) {
        if let Some(Ok(irqs)) = self.host.as_ref().map(Host::irq_names) {
            self.names.irqs = irqs;
        }
    }

    /// What is known in the end.
    pub fn into_inner(self) -> Names {
        self.names
    }

    /// True if they are the running kernel's.
    pub fn is_live(&self) -> bool {
        self.host.is_some()
    }

    /// Learn the callbacks in `events`.
    pub fn learn_callbacks(&mut self, events: &[Event]) {
        if !self.is_live() {
            return;
        }
        for event in events {
            if let Event::Path(record) = event
                && record.timer_fn != 0
                && self.seen.insert(record.timer_fn)
            {
                self.waiting.insert(record.timer_fn);
            }
        }
        if self.lookup == Lookup::Now {
            self.complete_names();
        }
    }

    /// Look up what waits for it.
    pub fn complete_names(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        if let Some(host) = self.host.as_ref().filter(|_| !waiting.is_empty()) {
            // Hidden or absent symbols are no error: addresses are shown instead.
            self.names.symbols.extend(host.read_symbols(waiting).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Origin, PathEnd, PathRecord, Point, Task, Vector, Via};

    fn make_host(root: &std::path::Path) -> Host {
        for (file, text) in [
            ("proc/interrupts", "  CPU0\n 36: 1 PCI-MSIX-0 1-edge virtio1-req.0\n"),
            ("proc/kallsyms", "ffffffff81000010 t hrtimer_wakeup\n"),
        ] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Host::new(root)
    }

    fn timer_event(timer_fn: u64) -> Event {
        Event::Path(Box::new(PathRecord {
            origin: Origin::Vector(Vector::LocalTimer),
            via: Via::empty(),
            stamps: [None; Point::COUNT],
            timer_fn,
            target: Task::default(),
            end: PathEnd::SwitchIn,
            queues: Vec::new(),
            cgroup: None,
        }))
    }

    #[test]
    fn callbacks_are_looked_up_when_it_is_time() {
        let root = tempfile::tempdir().unwrap();
        let host = make_host(root.path());
        let (address, want) = (0xffff_ffff_8100_0010, "hrtimer_wakeup");
        for (lookup, at_once) in [(Lookup::Now, true), (Lookup::AtTheEnd, false)] {
            let mut names = KnownNames::live(&host, lookup).unwrap();
            assert_eq!(names.get().irqs[&36], "virtio1-req.0");
            names.learn_callbacks(&[timer_event(0), timer_event(address), timer_event(7)]);
            assert_eq!(names.get().symbol(address) == want, at_once, "{lookup:?}");
            names.complete_names();
            assert_eq!(names.get().symbol(address), want);
            assert_eq!(names.get().symbol(7), "0x7", "what is no symbol stays a number");
        }
    }

    #[test]
    fn a_recording_has_its_own_names() {
        let mut names = KnownNames::recorded(Names::default());
        names.learn_callbacks(&[timer_event(0xffff_ffff_8100_0010)]);
        names.complete_names();
        assert!(names.get().symbols.is_empty() && !names.is_live());
    }
}
