// SPDX-License-Identifier: GPL-2.0-or-later
//! A source of paths and the learner that listens to it.
//!
//! Tracing every path costs the tasks that are to be served most of what they gain. A watch therefore
//! traces only at first, and then counts which threads wake which real-time tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use irqpath_analysis::learn::{Carriers, Learner};
use irqpath_model::tune::{Association, Learned, LiveThread};
use irqpath_model::{Event, Loss, Names, Snapshot, TaskId};
use irqpath_source::bpf::pairs::Pairs;
use irqpath_source::realtime::now_ns;
use irqpath_source::replay::Replay;
use irqpath_source::{Config, Source};
use irqpath_system::Host;

use super::pairs::PairLessons;
use super::plan::{Selection, known_otherwise, pinned_now};
use crate::host::signals::Stop;
use crate::output::console::print_note;
use crate::session;

/// One look at the source.
pub const STEP: Duration = Duration::from_millis(100);

/// What is being learned.
pub struct Lessons {
    /// `None` once the watch counts pairs only.
    source: Option<Box<dyn Source>>,
    pairs: Option<PairLessons>,
    loss: Loss,
    carriers: Carriers,
    learner: Learner,
    started: Instant,
}

impl Lessons {
    /// From the running kernel; [`Self::adopt_known`] has to follow. With `watch`, ready for
    /// [`Self::start_watch`]. With `selective`, [`Self::selection`] has whom every thread wakes.
    pub fn live(watch: bool, selective: bool) -> anyhow::Result<Self> {
        // Every path counts: the share of a line's wakeups needs those of ordinary tasks too.
        let config = Config { record_all: true, no_user: true, ..Config::default() };
        let mut lessons = Self { source: Some(session::open_live(&config)?), ..Self::empty() };
        for missing in lessons.take_snapshot()?.missing {
            print_note(&format!("missing: {}: {}", missing.what, missing.consequence));
        }
        if selective {
            let pairs = Pairs::open(true)
                .map_err(|error| anyhow!("--selective needs to know whom threads wake: {error}"))?;
            lessons.pairs = Some(PairLessons::with_wakeups(pairs));
        } else if watch {
            lessons.pairs = open_pairs();
        }
        Ok(lessons)
    }

    /// Begin with what was the reason for what is tuned already, and with the threads that are
    /// there. Paths until now do not count: packets may have come by other threads then.
    pub fn adopt_known(&mut self, host: &Host) -> anyhow::Result<()> {
        if let Some(source) = &mut self.source {
            let events = source.poll_events(Duration::ZERO)?;
            for event in events {
                self.carriers.push(event);
            }
            drop(self.carriers.flush_all());
        }
        self.learner.adopt_known(&known_otherwise(host)?, now_ns());
        self.carriers.know_threads(&host.live_threads());
        Ok(())
    }

    /// Nothing but what is known already.
    pub fn of_known(known: &[Association]) -> Self {
        let mut lessons = Self::empty();
        lessons.learner.adopt_known(known, now_ns());
        lessons
    }

    fn empty() -> Self {
        let (carriers, learner) = (Carriers::default(), Learner::default());
        let (source, pairs, loss) = (None, None, Loss::default());
        Self { source, pairs, loss, carriers, learner, started: Instant::now() }
    }

    fn take_snapshot(&mut self) -> anyhow::Result<Snapshot> {
        let source = self.source.as_mut();
        Ok(source.map_or_else(|| Ok(Snapshot::default()), |source| source.take_snapshot())?)
    }

    /// From now on, count pairs instead of tracing paths. Without pairs the tracing goes on.
    pub fn start_watch(&mut self, host: &Host) -> anyhow::Result<()> {
        let Some(pairs) = &mut self.pairs else { return Ok(()) };
        pairs.skip_past(host)?;
        let Some(mut source) = self.source.take() else { return Ok(()) };
        let (events, snapshot) = source.finish()?;
        self.loss = snapshot.loss;
        self.take_events(events);
        for (record, carriers) in self.carriers.flush_all() {
            self.learner.record_path(&record, &carriers);
        }
        Ok(())
    }

    /// What becomes of threads that serve nobody.
    pub fn selection(&self) -> Selection<'_> {
        self.pairs.as_ref().and_then(PairLessons::wakeups).map_or(Selection::Off, Selection::By)
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
            match &mut self.source {
                Some(source) => {
                    let events = source.poll_events(left.min(STEP))?;
                    self.take_events(events);
                }
                None => std::thread::sleep(left.min(STEP)),
            }
            tick();
        }
        Ok(())
    }

    /// Listen for so long, or until a thread has to become real-time at once: then true.
    pub fn listen_for_news(&mut self, duration: Duration, stop: &Stop) -> anyhow::Result<bool> {
        let started = Instant::now();
        while !stop.is_requested() {
            let left = duration.saturating_sub(started.elapsed());
            if left.is_zero() {
                break;
            }
            self.listen(left.min(STEP), stop, || {})?;
            if self.pairs.as_mut().is_some_and(PairLessons::has_news) {
                return Ok(true);
            }
        }
        Ok(false)
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
        let threads: BTreeMap<u32, LiveThread> =
            host.live_threads().into_iter().map(|thread| (thread.id.tid, thread)).collect();
        self.carriers.know_threads(threads.values());
        if let Some(pairs) = &mut self.pairs {
            // What a path teaches is not learned a second time from its pair.
            let learner = self.source.is_none().then_some(&mut self.learner);
            pairs.learn_from(host, &threads, learner)?;
        }
        self.learner.retain_living(|tid| threads.get(&tid).map(|thread| thread.id.start_ticks));
        // Asked anew each time: devices come and go.
        let names = Names { irqs: host.irq_names()?, ..Names::default() };
        if self.source.is_some() {
            self.loss = self.take_snapshot()?.loss;
        }
        let associations = self.learner.associations(&names);
        if let (None, Some(pairs)) = (&self.source, &mut self.pairs) {
            let threads: Vec<LiveThread> = threads.into_values().collect();
            let known = associations.iter().filter(|one| one.established);
            let mut served: BTreeSet<TaskId> = known.map(|one| one.task).collect();
            served.extend(pinned_now(host)?.iter().map(|one| one.task));
            pairs.decide_open(host, &threads, &served)?;
        }
        Ok(Learned {
            duration_ns: self.started.elapsed().as_nanos() as u64,
            associations,
            loss: self.loss.clone(),
        })
    }
}

/// From a recording. Its tasks are not those of this host, so nothing is looked up.
pub fn learn_from_recording(path: &Path) -> anyhow::Result<Learned> {
    let replay = Replay::open(path)?;
    let (names, duration_ns) = (replay.meta().names.clone(), replay.meta().duration_ns);
    let mut replay: Box<dyn Source> = Box::new(replay);
    let mut lessons = Lessons::empty();
    while !replay.is_exhausted() {
        let events = replay.poll_events(STEP)?;
        lessons.take_events(events);
    }
    let (events, snapshot) = replay.finish()?;
    lessons.take_events(events);
    for (record, carriers) in lessons.carriers.flush_all() {
        lessons.learner.record_path(&record, &carriers);
    }
    let associations = lessons.learner.associations(&names);
    Ok(Learned { duration_ns, associations, loss: snapshot.loss })
}

/// Without the small object a watch goes on tracing paths, which costs more.
fn open_pairs() -> Option<PairLessons> {
    match Pairs::open(false) {
        Ok(pairs) => Some(PairLessons::new(pairs)),
        Err(error) => {
            print_note(&format!(
                "the watch goes on tracing every path, which delays tasks: {error}; \
                 on x86 to trace less needs CONFIG_KALLSYMS_ALL=y"
            ));
            None
        }
    }
}
