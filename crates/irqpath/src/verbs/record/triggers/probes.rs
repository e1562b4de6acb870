// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes in programs as triggers, and what has become of their binaries.

use std::time::{Duration, Instant};

use irqpath_model::record::Trigger;
use irqpath_source::bpf::probes::{Place, Probe, Probes};

use super::Happened;
use crate::output::console;

/// How often the binaries are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The probes that were asked for.
pub struct Watched {
    asked: Vec<Probe>,
    probes: Probes,
    looked: Instant,
    notes: Vec<String>,
}

impl Watched {
    /// Attach them.
    pub fn open(asked: Vec<Probe>) -> anyhow::Result<Self> {
        let probes = Probes::open(&asked)?;
        Ok(Self { asked, probes, looked: Instant::now(), notes: Vec::new() })
    }

    /// What was hit since the last look, each probe once. Says so when a binary has been replaced.
    pub fn poll_hits(&mut self) -> Vec<Happened> {
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.note_replaced();
        }
        let hits = self.probes.poll_hits();
        hits.into_iter()
            .map(|hit| {
                let probe = &self.asked[hit.probe];
                let times = if hit.nr > 1 { format!(", {} times", hit.nr) } else { String::new() };
                let what = format!("{}:{} at {}{times}", hit.comm, hit.tid, describe(probe));
                Happened { trigger: kind(probe), what, at_ns: hit.ns }
            })
            .collect()
    }

    fn note_replaced(&mut self) {
        for nr in self.probes.find_replaced() {
            let note = format!(
                "{} was replaced: programs that started before still trigger, later ones do not; \
                 start the recorder again",
                self.asked[nr].binary.display()
            );
            console::print_note(&note);
            self.notes.push(note);
        }
    }

    /// What has to be told at the end.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

fn kind(probe: &Probe) -> Trigger {
    match probe.place {
        Place::Usdt(..) => Trigger::Usdt,
        Place::Function(_) => Trigger::Uprobe,
    }
}

fn describe(probe: &Probe) -> String {
    match &probe.place {
        Place::Usdt(provider, name) => format!("{provider}:{name}"),
        Place::Function(name) => name.clone(),
    }
}
