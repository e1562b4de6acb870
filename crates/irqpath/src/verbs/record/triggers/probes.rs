// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes in programs as triggers, and what has become of their binaries.

use std::time::{Duration, Instant};

use irqpath_model::record::{ProbeCounts, Trigger};
use irqpath_source::bpf::probes::{Place, Probe, Probes};

use super::Happened;
use crate::output::console;

/// How often the names of the binaries are looked up. Whether a binary was written to is looked at
/// each time: the kernel puts breakpoints into it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The probes that were asked for.
pub struct Watched {
    asked: Vec<Probe>,
    probes: Probes,
    looked: Instant,
    counts: ProbeCounts,
    notes: Vec<String>,
}

impl Watched {
    /// Attach them.
    pub fn open(asked: Vec<Probe>) -> anyhow::Result<Self> {
        let probes = Probes::open(&asked)?;
        let (looked, counts) = (Instant::now(), ProbeCounts::default());
        Ok(Self { asked, probes, looked, counts, notes: Vec::new() })
    }

    /// What was hit since the last look, each probe once. Says so when a binary has been replaced or
    /// written to.
    pub fn poll_hits(&mut self) -> Vec<Happened> {
        self.note_rewritten();
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
            self.counts.nr_replaced += 1;
            self.add_note(note);
        }
    }

    fn note_rewritten(&mut self) {
        for nr in self.probes.detach_rewritten() {
            let probe = &self.asked[nr];
            let note = format!(
                "{} was changed in place: its probe {} is detached and triggers no more; start the \
                 recorder again",
                probe.binary.display(),
                describe(probe)
            );
            self.counts.nr_rewritten += 1;
            self.add_note(note);
        }
    }

    fn add_note(&mut self, note: String) {
        console::print_note(&note);
        self.notes.push(note);
    }

    /// What became of the binaries.
    pub fn counts(&self) -> ProbeCounts {
        self.counts
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
