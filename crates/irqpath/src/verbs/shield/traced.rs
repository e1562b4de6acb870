// SPDX-License-Identifier: GPL-2.0-or-later
//! What occupied the shielded CPUs while `verify` measured, by the tracer of `trace` and `jitter`.
//!
//! Where it cannot be had the kernel's counts remain, and the result says why.

use std::time::Duration;

use irqpath_analysis::Occupants;
use irqpath_model::shield::Measured;
use irqpath_model::{CpuList, Event, Missing, Names};
use irqpath_source::realtime::now_ns;
use irqpath_source::{Config, Source};
use irqpath_system::Host;

use crate::verbs::timing::conditions;

/// The tracer, if there is one.
pub struct Traced {
    source: Option<Box<dyn Source>>,
    occupants: Occupants,
    missing: Option<Missing>,
}

impl Traced {
    /// Start to trace these CPUs, unless `not` wanted.
    pub fn start(host: &Host, cpus: &CpuList, not: bool) -> anyhow::Result<Self> {
        let names = Names { irqs: host.irq_names()?, ..Names::default() };
        let (source, missing) = match if not { Ok(None) } else { open_source(host, cpus).map(Some) }
        {
            Ok(source) => (source, None),
            Err(missing) => (None, Some(missing)),
        };
        let occupants = Occupants::new(cpus, now_ns(), names);
        Ok(Self { source, occupants, missing })
    }

    /// Take over what has arrived. An error of the source comes back at the end.
    pub fn fetch_events(&mut self) {
        let Some(source) = &mut self.source else { return };
        let events = source.poll_events(Duration::ZERO).unwrap_or_default();
        self.take_events(events);
    }

    fn take_events(&mut self, events: Vec<Event>) {
        for event in events {
            self.occupants.push(event);
        }
        self.occupants.settle_occupants();
    }

    /// Write down what there was.
    pub fn finish(mut self, measured: &mut Measured) -> anyhow::Result<()> {
        measured.missing.extend(self.missing.take());
        let Some(mut source) = self.source.take() else { return Ok(()) };
        let end_ns = now_ns();
        let (events, snapshot) = source.finish()?;
        self.take_events(events);
        measured.occupied = self.occupants.finish(end_ns);
        measured.loss = snapshot.loss;
        measured.missing.extend(snapshot.missing);
        Ok(())
    }
}

fn open_source(host: &Host, cpus: &CpuList) -> Result<Box<dyn Source>, Missing> {
    // Every transition is wanted, and no path.
    let tids = vec![std::process::id()];
    let cpus = Some(cpus.clone());
    let config = Config { record_all: true, tids, cpus, no_user: true, ..Config::default() };
    conditions::open_tracer(host, &config)
}
