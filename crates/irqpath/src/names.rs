// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of interrupts and timer callbacks, completed while records come in: a callback is looked
//! up in the kernel's symbols when it is first seen, all new ones of a batch at once.

use std::collections::BTreeSet;

use irqpath_model::{Event, Names};
use irqpath_system::Host;

/// Names that grow.
#[derive(Debug)]
pub struct KnownNames {
    host: Option<Host>,
    names: Names,
    asked: BTreeSet<u64>,
}

impl KnownNames {
    /// Names of this host.
    pub fn live(host: &Host) -> anyhow::Result<Self> {
        let names = Names { irqs: host.irq_names()?, ..Names::default() };
        Ok(Self { host: Some(host.clone()), names, asked: BTreeSet::new() })
    }

    /// Names as they were recorded: nothing to look up.
    pub fn recorded(names: Names) -> Self {
        Self { host: None, names, asked: BTreeSet::new() }
    }

    /// What is known.
    pub fn get(&self) -> &Names {
        &self.names
    }

    /// True if they are the running kernel's.
    pub fn is_live(&self) -> bool {
        self.host.is_some()
    }

    /// Learn the callbacks in `events`. True if there were new ones.
    pub fn learn(&mut self, events: &[Event]) -> bool {
        let Some(host) = &self.host else { return false };
        let addresses = events.iter().filter_map(|e| match e {
            Event::Path(r) if r.timer_fn != 0 => Some(r.timer_fn),
            _ => None,
        });
        let new: BTreeSet<u64> = addresses.filter(|a| !self.asked.contains(a)).collect();
        let any = !new.is_empty();
        if any {
            // Hidden or absent symbols are no error: addresses are shown instead.
            self.names.symbols.extend(host.symbols(new.iter().copied()).unwrap_or_default());
            self.asked.extend(new);
        }
        any
    }
}
