// SPDX-License-Identifier: GPL-2.0-or-later
//! Turns copies of the rings into result directories, on a thread of its own: the recorder hears
//! triggers meanwhile.
//!
//! A capture that cannot be written leaves nothing, and the recorder goes on. Older captures are
//! dropped once it is on the disk: one that fails costs none of them. The names of timers'
//! callbacks are looked up once each, as that takes milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use irqpath_files::output::{StagedDir, Store};
use irqpath_model::record::{Capture, Clocks, KernelStack, Suppressed, Written};
use irqpath_model::{Event, Meta, Names, Snapshot};
use irqpath_report::parquet::Table;
use irqpath_report::stacks::write_folded;
use irqpath_source::bpf::flight::Frozen;
use irqpath_source::{Source, SourceError};
use irqpath_system::Host;
use jiff::Timestamp;

use super::memory::Watch;
use crate::host::names::KnownNames;
use crate::output::export;
use crate::output::files::fill_file;
use crate::output::streams::Streams;
use crate::session::{Session, Threshold};

/// How often memory and disk are looked at while a capture is written: after so many steps.
const LOOK_EVERY: usize = 8;
/// Names of functions that are remembered from stacks.
const MAX_FUNCTIONS: usize = 20_000;

/// The stacks of a capture, for flame graphs.
const STACKS: &str = "stacks.folded";

/// What is to be written.
pub struct Job {
    pub frozen: Frozen,
    /// Its number is still missing.
    pub capture: Capture,
    /// The last letters of its name.
    pub label: &'static str,
    pub threshold_ns: Option<u64>,
    pub clocks: Clocks,
}

/// What became of it.
pub struct Done {
    /// With its memory.
    pub frozen: Frozen,
    pub result: Result<Written, Unwritten>,
    /// Why an old capture is still there that should have gone.
    pub undropped: Option<anyhow::Error>,
    pub disk: Disk,
    pub memory: Watch,
}

/// Why there is no capture.
pub struct Unwritten {
    pub why: Suppressed,
    pub error: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for Unwritten {
    fn from(error: E) -> Self {
        Self { why: Suppressed::Failed, error: error.into() }
    }
}

/// What the captures take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk {
    pub nr_bytes: u64,
    pub nr_dropped: u64,
    /// The number of the oldest that is left.
    pub oldest: Option<u32>,
}

/// The thread.
pub struct Writer {
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Start it. `meta` is what all captures have in common.
    pub fn start(store: Store, host: Host, meta: Meta, watch: Watch) -> anyhow::Result<Self> {
        let (jobs, asked) = channel::<Job>();
        let (answers, done) = channel();
        let (symbols, functions) = (BTreeMap::new(), BTreeMap::new());
        let mut work = Work { store, host, meta, symbols, functions, watch };
        let spawned = thread::Builder::new().name("writer".to_owned()).spawn(move || {
            for job in asked {
                if answers.send(work.write_job(job)).is_err() {
                    return;
                }
            }
        });
        let thread =
            spawned.context("no thread can be started; check the limits of this session")?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread) })
    }

    /// Hand over a capture.
    pub fn begin(&self, job: Job) -> anyhow::Result<()> {
        let jobs = self.jobs.as_ref().context("the writer was ended")?;
        jobs.send(job).map_err(|_| anyhow!("the thread that writes captures has ended"))
    }

    /// A capture that is done, if there is one by then.
    pub fn wait_done(&self, timeout: Duration) -> Option<Done> {
        self.done.recv_timeout(timeout).ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    store: Store,
    host: Host,
    meta: Meta,
    /// Of all captures so far.
    symbols: BTreeMap<u64, String>,
    /// Functions in which the addresses of stacks lie.
    functions: BTreeMap<u64, String>,
    watch: Watch,
}

impl Work {
    fn write_job(&mut self, job: Job) -> Done {
        let Job { frozen, capture, label, threshold_ns, clocks } = job;
        let started = Instant::now();
        let mut meta = self.describe(&frozen, capture, clocks);
        let source = Arc::new(Mutex::new(frozen));
        let result = self.write_capture(Shared(source.clone()), label, &mut meta, threshold_ns);
        let result = result.map(|(directory, nr_bytes)| Written {
            directory,
            capture: meta.capture.unwrap_or_default(),
            nr_bytes,
            took_ns: started.elapsed().as_nanos() as u64,
        });
        let undropped = result.as_ref().ok().and_then(|_| self.store.drop_excess().err());
        self.watch.look();
        let frozen = Arc::into_inner(source).expect("the session has dropped its source");
        Done {
            frozen: frozen.into_inner().unwrap_or_else(PoisonError::into_inner),
            result,
            undropped: undropped.map(anyhow::Error::from),
            disk: measure_disk(&self.store),
            memory: self.watch,
        }
    }

    fn describe(&mut self, frozen: &Frozen, capture: Capture, clocks: Clocks) -> Meta {
        let begins = clocks.end.offset_ns() + i128::from(capture.begins_ns);
        let started_at = Timestamp::from_nanosecond(begins).map(|at| format!("{at:.0}"));
        Meta {
            started_at: started_at.unwrap_or_default(),
            duration_ns: capture.ends_ns.saturating_sub(capture.begins_ns),
            names: self.find_names(frozen),
            // Each capture is a result of its own, which `irqpath merge` takes once.
            run_id: format!("{}-{}", self.meta.run_id, capture.begins_ns),
            clocks: Some(clocks),
            capture: Some(capture),
            ..self.meta.clone()
        }
    }

    /// The names of lines as they are now, and those of callbacks that were met so far.
    fn find_names(&mut self, frozen: &Frozen) -> Names {
        let met = frozen.timer_callbacks();
        let new: BTreeSet<u64> =
            met.iter().copied().filter(|at| !self.symbols.contains_key(at)).collect();
        if !new.is_empty() {
            // Hidden or absent symbols are no error: addresses are shown instead.
            self.symbols.extend(self.host.read_symbols(new).unwrap_or_default());
        }
        let symbols = met.iter().filter_map(|at| Some((*at, self.symbols.get(at)?.clone())));
        let irqs = self.host.irq_names().unwrap_or_else(|_| self.meta.names.irqs.clone());
        Names { irqs, symbols: symbols.collect() }
    }

    fn find_functions(&mut self, stacks: &[KernelStack]) {
        if self.functions.len() > MAX_FUNCTIONS {
            self.functions.clear();
        }
        let met = stacks.iter().flat_map(|stack| &stack.frames).copied();
        let new: BTreeSet<u64> = met.filter(|at| !self.functions.contains_key(at)).collect();
        if !new.is_empty() {
            // As with callbacks.
            self.functions.extend(self.host.read_functions(new).unwrap_or_default());
        }
    }

    fn write_capture(
        &mut self,
        source: Shared,
        label: &str,
        meta: &mut Meta,
        threshold_ns: Option<u64>,
    ) -> Result<(String, u64), Unwritten> {
        let (nr, staged) = self.store.begin_result(label)?;
        if let Some(capture) = &mut meta.capture {
            capture.nr = nr;
        }
        self.fill_result(source, &staged, meta, threshold_ns)?;
        let nr_bytes = staged.nr_bytes()?;
        if nr_bytes > self.store.budget() {
            return Err(self.over_budget(nr_bytes));
        }
        let path = self.store.commit_result(nr, staged)?;
        Ok((path.display().to_string(), nr_bytes))
    }

    fn over_budget(&self, nr_bytes: u64) -> Unwritten {
        let budget = self.store.budget() >> 20;
        let error = anyhow!(
            "a capture needs more than {} MiB, the budget of disk is {budget}; raise it, or keep less",
            nr_bytes >> 20
        );
        Unwritten { why: Suppressed::Budget, error }
    }

    /// Before the memory is beyond its limit, the capture is given up: the recorder is there for the
    /// next one.
    fn check_memory(&mut self) -> Result<(), Unwritten> {
        self.watch.look();
        let excess = self.watch.check();
        excess.map_err(|error| Unwritten { why: Suppressed::Memory, error })
    }

    /// Everything that `trace -o DIR --perfetto --record` writes.
    fn fill_result(
        &mut self,
        source: Shared,
        staged: &StagedDir,
        meta: &Meta,
        threshold_ns: Option<u64>,
    ) -> Result<(), Unwritten> {
        let mut streams = open_streams(staged, meta)?;
        let stacks = source.lock().stacks();
        if !stacks.is_empty() {
            self.find_functions(&stacks);
            streams.write_stacks(&stacks, &self.functions)?;
            let path = staged.target().join(STACKS);
            let file = staged.create_file(STACKS)?;
            fill_file(file, &path, |w| write_folded(w, &stacks, &self.functions))?;
        }
        let names = KnownNames::recorded(meta.names.clone());
        let threshold = Threshold { ns: threshold_ns, is_virtual: meta.cpu.is_virtual() };
        let mut session = Session::start(Box::new(source), names, streams, threshold);
        let mut nr_steps = 0;
        while !session.is_exhausted() {
            session.poll_source(Duration::ZERO)?;
            nr_steps += 1;
            if nr_steps % LOOK_EVERY == 0 {
                self.check_memory()?;
                let nr_bytes = staged.nr_bytes()?;
                if nr_bytes > self.store.budget() {
                    return Err(self.over_budget(nr_bytes));
                }
            }
        }
        self.check_memory()?;
        let finished = session.finish()?;
        self.check_memory()?;
        let mut streams = finished.streams;
        for (name, exporter) in export::DIRECTORY {
            let file = staged.create_file(name)?;
            let path = staged.target().join(name);
            fill_file(file, &path, |w| exporter(w, meta, &finished.summary))?;
        }
        let snapshot = finished.snapshot.unwrap_or_default();
        streams.commit_recording(meta, &snapshot)?;
        Ok(())
    }
}

/// What captures take; some may be left from before.
pub fn measure_disk(store: &Store) -> Disk {
    Disk { nr_bytes: store.nr_bytes(), nr_dropped: store.nr_dropped(), oldest: store.oldest() }
}

fn open_streams(staged: &StagedDir, meta: &Meta) -> anyhow::Result<Streams> {
    let mut streams = Streams::default();
    let place = |name: &str| Path::join(staged.target(), name);
    let table = Table::Paths.file_name();
    streams.add_samples(staged.create_file(&table)?, place(&table), meta)?;
    streams.add_perfetto(staged.create_file("trace.pftrace")?, place("trace.pftrace"));
    let file = staged.create_file("trace.rec")?;
    streams.add_recording_file(file, place("trace.rec"), meta)?;
    Ok(streams)
}

/// The copy, of which the session is a user and the recorder the owner.
struct Shared(Arc<Mutex<Frozen>>);

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Frozen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Shared {
    fn poll_events(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError> {
        self.lock().poll_events(timeout)
    }

    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        self.lock().take_snapshot()
    }

    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        self.lock().finish()
    }

    fn is_exhausted(&self) -> bool {
        self.lock().is_exhausted()
    }
}
