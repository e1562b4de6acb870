// SPDX-License-Identifier: GPL-2.0-or-later
//! A source of paths and the learner that listens to it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use irqpath_analysis::learn::{Carriers, Learner};
use irqpath_model::tune::Learned;
use irqpath_model::{Event, Names};
use irqpath_source::realtime::now_ns;
use irqpath_source::replay::Replay;
use irqpath_source::{Config, Source};
use irqpath_system::{Host, tune};

use crate::host::signals::Stop;
use crate::output::console::print_note;
use crate::session;

/// One look at the source.
pub const STEP: Duration = Duration::from_millis(100);

/// What is being learned.
pub struct Lessons {
    source: Box<dyn Source>,
    carriers: Carriers,
    learner: Learner,
    started: Instant,
}

impl Lessons {
    /// From the running kernel, and from what was the reason for what is tuned already.
    pub fn live(host: &Host) -> anyhow::Result<Self> {
        // Every path counts: the share of a line's wakeups needs those of ordinary tasks too.
        let config = Config { record_all: true, no_user: true, ..Config::default() };
        let mut lessons = Self::from_source(session::open_live(&config)?);
        for missing in lessons.source.take_snapshot()?.missing {
            print_note(&format!("missing: {}: {}", missing.what, missing.consequence));
        }
        lessons.learner.adopt_known(&tune::known_associations(host)?, now_ns());
        Ok(lessons)
    }

    fn from_source(source: Box<dyn Source>) -> Self {
        let (carriers, learner) = (Carriers::default(), Learner::default());
        Self { source, carriers, learner, started: Instant::now() }
    }

    /// Listen for so long.
    pub fn listen(
        &mut self,
        duration: Duration,
        stop: &Stop,
        mut tick: impl FnMut(),
    ) -> anyhow::Result<()> {
        let started = Instant::now();
        while !stop.is_requested() {
            let left = duration.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            let events = self.source.poll_events(left.min(STEP))?;
            self.take_events(events);
            tick();
        }
        Ok(())
    }

    fn take_events(&mut self, events: Vec<Event>) {
        for event in events {
            self.carriers.push(event);
        }
        for (record, carriers) in self.carriers.drain_ready() {
            self.learner.record_path(&record, &carriers);
        }
    }

    /// What is known of the tasks that are still there.
    pub fn report_learned(&mut self, host: &Host) -> anyhow::Result<Learned> {
        let starts: BTreeMap<u32, u64> = host
            .live_threads()
            .iter()
            .map(|thread| (thread.id.tid, thread.id.start_ticks))
            .collect();
        self.learner.retain_living(|tid| starts.get(&tid).copied());
        // Asked anew each time: devices come and go.
        let names = Names { irqs: host.irq_names()?, ..Names::default() };
        Ok(Learned {
            duration_ns: self.started.elapsed().as_nanos() as u64,
            associations: self.learner.associations(&names),
            loss: self.source.take_snapshot()?.loss,
        })
    }
}

/// From a recording. Its tasks are not those of this host, so nothing is looked up.
pub fn learn_from_recording(path: &Path) -> anyhow::Result<Learned> {
    let replay = Replay::open(path)?;
    let (names, duration_ns) = (replay.meta().names.clone(), replay.meta().duration_ns);
    let mut lessons = Lessons::from_source(Box::new(replay));
    while !lessons.source.is_exhausted() {
        let events = lessons.source.poll_events(STEP)?;
        lessons.take_events(events);
    }
    let (events, snapshot) = lessons.source.finish()?;
    lessons.take_events(events);
    for (record, carriers) in lessons.carriers.flush_all() {
        lessons.learner.record_path(&record, &carriers);
    }
    let associations = lessons.learner.associations(&names);
    Ok(Learned { duration_ns, associations, loss: snapshot.loss })
}
