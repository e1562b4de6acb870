// SPDX-License-Identifier: GPL-2.0-or-later
//! The running kernel as a source: open, configure, load, attach, poll.
//!
//! Joining happens in `bpf/`; this module only moves settings in and records out. What the
//! kernel lacks is left out and named. Nothing stays behind: dropping the source detaches.

mod complaints;
mod decode;
mod features;
pub mod flight;
#[cfg(test)]
mod kernel_types_tests;
mod load;
pub mod meter;
mod overhead;
pub mod pairs;
pub mod probes;
mod rows;
#[cfg(test)]
mod rows_tests;
mod selection;
mod skel;
mod stats;
mod steal;
mod transitions;
mod urgency;
mod window;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, Instant};

use irqpath_model::{Event, Missing, PathStats, Snapshot};
use libbpf_rs::{Link, RingBuffer, RingBufferBuilder};

use self::complaints::load_error;
use self::load::Loaded;
use self::overhead::StatsSample;
pub use self::overhead::{ProgramCost, ProgramCosts};
use self::rows::Retirement;
use self::selection::Selection;
use self::skel::{IrqpathSkel, OpenIrqpathSkel};
use self::transitions::Puller;
use self::urgency::Urgency;
use self::window::Window;
use crate::realtime::now_ns;
use crate::{Config, Source, SourceError};

/// Default size of the record buffer: slow paths only, and everything.
const BUFFER_BYTES: u32 = 4 << 20;
const BUFFER_BYTES_ALL: u32 = 8 << 20;
/// The rings of transitions together, and one CPU's share at most and at least, in chunks.
const RINGS_BYTES: usize = 32 << 20;
const RING_CHUNKS: std::ops::RangeInclusive<usize> = 32..=1024;
/// The programs never wake the reader (a wakeup is what is being measured); it looks by itself.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Records taken at once: decoded ones are larger than those in the buffer, which is bounded.
const BATCH: usize = 512;

/// Tracing programs on the running kernel.
pub struct BpfSource {
    links: Vec<Link>,
    ring: RingBuffer<'static>,
    skel: IrqpathSkel<'static>,
    queue: Rc<RefCell<VecDeque<Event>>>,
    puller: Puller,
    /// How much of the queue the puller has looked at.
    nr_seen: usize,
    sample: StatsSample,
    urgency: Urgency,
    look_every: Duration,
    by_cgroup: bool,
    retirement: Retirement,
    missing: Vec<Missing>,
    window: Window,
}

impl BpfSource {
    /// Load and attach. Needs `CAP_BPF` and `CAP_PERFMON`, which the caller asks for first: from
    /// the kernel's answer they cannot be told. Needs a kernel with BTF.
    pub fn open(config: &Config) -> Result<Self, SourceError> {
        Self::start(config, load::load_programs(config, |_| {})?)
    }

    fn start(config: &Config, loaded: Loaded) -> Result<Self, SourceError> {
        let Loaded { skel, links, missing } = loaded;
        let sample = StatsSample::start();
        let queue = Rc::new(RefCell::new(VecDeque::new()));
        let sink = Rc::clone(&queue);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&skel.maps.ip_records, move |bytes| {
                if let Some(event) = decode::decode_record(bytes) {
                    sink.borrow_mut().push_back(event);
                }
                0
            })
            .map_err(load_error)?;
        let ring = builder.build().map_err(load_error)?;
        let puller = Puller::new(config.record_all);
        let window = Window::open(&skel).map_err(load_error)?;
        Ok(Self {
            links,
            ring,
            skel,
            queue,
            puller,
            nr_seen: 0,
            sample,
            urgency: Urgency::new(),
            look_every: config.look_every.unwrap_or(LOOK_EVERY),
            by_cgroup: config.by_cgroup,
            retirement: Retirement::default(),
            missing,
            window,
        })
    }

    /// What each program takes, for as long as it is asked.
    ///
    /// # Errors
    /// If this process has too many open files.
    pub fn program_costs(&self) -> std::io::Result<ProgramCosts> {
        ProgramCosts::open(&self.skel)
    }

    /// Entries first, so that no entry is left without its exit.
    fn detach_programs(&mut self) {
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    /// Move what the kernel has ready into the queue.
    /// Returns how many records that were.
    fn consume_ring(&mut self) -> Result<usize, SourceError> {
        let nr = self.ring.consume_raw_n(BATCH);
        if nr < 0 {
            return Err(load_error(libbpf_rs::Error::from_raw_os_error(-nr)));
        }
        self.sample.stop_when_due();
        let mut queue = self.queue.borrow_mut();
        for event in queue.range(self.nr_seen.min(queue.len())..) {
            if let Event::Path(record) = event {
                self.puller.want_windows(record);
            }
        }
        queue.extend(self.puller.pull_wanted(&self.skel));
        self.nr_seen = queue.len();
        Ok(nr as usize)
    }
}

impl Drop for BpfSource {
    fn drop(&mut self) {
        self.detach_programs();
    }
}

impl Source for BpfSource {
    fn poll_events(&mut self, timeout: Duration) -> Result<Vec<Event>, SourceError> {
        let deadline = Instant::now() + timeout;
        let mut slept = Duration::ZERO;
        loop {
            self.urgency.note_sleep(slept);
            self.consume_ring()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.queue.borrow().is_empty() || left.is_zero() {
                self.nr_seen = 0;
                return Ok(self.queue.borrow_mut().drain(..).collect());
            }
            slept = left.min(self.look_every);
            std::thread::sleep(slept);
        }
    }

    fn take_snapshot(&mut self) -> Result<Snapshot, SourceError> {
        let leaving = self.retirement.leaving();
        let snapshot = stats::read_snapshot(&self.skel, leaving, self.by_cgroup);
        let mut snapshot = snapshot.map_err(load_error)?;
        StatsSample::fill_snapshot(&self.skel, &mut snapshot);
        self.puller.fill_snapshot(&mut snapshot);
        self.window.cut_snapshot(&mut snapshot);
        snapshot.overhead.urgent_ns = self.urgency.total().as_nanos() as u64;
        snapshot.missing.clone_from(&self.missing);
        Ok(snapshot)
    }

    fn retire_idle(&mut self, idle: Duration) -> Result<Vec<PathStats>, SourceError> {
        let retired = self.retirement.retire_idle(&mut self.skel, idle, self.by_cgroup);
        retired.map_err(load_error)
    }

    fn finish(&mut self) -> Result<(Vec<Event>, Snapshot), SourceError> {
        let attached = !self.links.is_empty();
        self.window.close(&self.skel).map_err(load_error)?;
        self.sample.stop();
        let until_ns = now_ns();
        self.detach_programs();
        while self.consume_ring()? > 0 {}
        let mut events: Vec<Event> = self.queue.borrow_mut().drain(..).collect();
        if attached {
            events.extend(self.puller.pull_rest(&self.skel));
            events = events.into_iter().filter_map(|event| clip_event(event, until_ns)).collect();
        }
        Ok((events, self.take_snapshot()?))
    }
}

/// Chunks per CPU: long rings where there are few CPUs, so that a window of a tenth of a second
/// is still there when it is asked for; a bounded total where there are many. Short ones where
/// every full chunk is delivered by itself.
fn ring_chunks(nr_cpus: u32, record_all: bool) -> u32 {
    if record_all {
        return *RING_CHUNKS.start() as u32;
    }
    let fair = RINGS_BYTES / size_of::<skel::types::ip_occ_chunk>() / nr_cpus as usize;
    let chunks = fair.clamp(*RING_CHUNKS.start(), *RING_CHUNKS.end());
    // A power of two, not above: the programs mask with it.
    1 << chunks.ilog2()
}

/// Settings and table sizes, before loading.
fn configure_programs(
    open: &mut OpenIrqpathSkel<'static>,
    config: &Config,
    selection: &Selection,
    rq_to_stolen: i64,
) -> Result<(), SourceError> {
    let nr_cpus = libbpf_rs::num_possible_cpus().map_err(load_error)? as u32;
    let bytes = match (config.buffer_bytes, config.record_all) {
        (0, false) => BUFFER_BYTES,
        (0, true) => BUFFER_BYTES_ALL,
        (bytes, _) => bytes,
    };
    let nr_chunks = ring_chunks(nr_cpus, config.record_all);
    open.maps.ip_chunks.set_max_entries(nr_chunks * nr_cpus).map_err(load_error)?;
    open.maps
        .ip_records
        .set_max_entries(bytes.max(4096).next_power_of_two())
        .map_err(load_error)?;
    let max_paths = config.max_paths.map_or(rows::MAX_PATHS, u32::from).min(rows::MAX_PATHS);
    rows::size_tables(open, max_paths, nr_cpus).map_err(load_error)?;
    let rodata = open.maps.rodata_data.as_deref_mut().expect("the object has constants");
    let c = &mut rodata.ip_config;
    c.threshold_ns = config.threshold_ns.unwrap_or(0);
    c.rq_to_stolen = rq_to_stolen;
    c.record_all = u8::from(config.record_all);
    c.no_user = u8::from(selection.leaves_out("sys_exit"));
    c.hardirqs_only = u8::from(selection.hardirqs_only());
    c.nr_chunks = nr_chunks;
    c.slot_salt = RandomState::new().hash_one(0) as u32 | 1;
    c.by_cgroup = u8::from(config.by_cgroup);
    c.max_paths = max_paths;
    c.self_tgid = std::process::id();
    let max = c.tid.len();
    for (what, n) in [
        ("--irq", config.origins.len()),
        ("--task", config.tids.len()),
        ("--task", config.comms.len()),
    ] {
        if n > max {
            return Err(SourceError::Load(format!("{n} times {what}; at most {max} are possible")));
        }
    }
    for (i, &origin) in config.origins.iter().enumerate() {
        (c.origin_kind[i], c.origin_nr[i]) = decode::origin_words(origin);
    }
    c.nr_origins = config.origins.len() as u8;
    c.tid[..config.tids.len()].copy_from_slice(&config.tids);
    c.nr_tids = config.tids.len() as u8;
    for (i, name) in config.comms.iter().enumerate() {
        c.comm[i] = decode::comm_words(name);
    }
    c.nr_comms = config.comms.len() as u8;
    if let Some(cpus) = &config.cpus {
        c.filter_cpus = 1;
        for cpu in cpus.iter() {
            c.cpus[usize::from(cpu >> 6)] |= 1 << (cpu & 63);
        }
    }
    config.flight.as_ref().map_or(Ok(()), |flight| flight::configure(open, flight, nr_cpus))
}

/// The part of an event that lies before `until_ns`, when the first program was detached: an exit
/// after that may have had an entry which nobody saw.
fn clip_event(event: Event, until_ns: u64) -> Option<Event> {
    match event {
        Event::Path(record) => {
            record.last().is_none_or(|last| last.ns <= until_ns).then_some(Event::Path(record))
        }
        Event::Occupancy(mut block) => {
            block.retain(|transition| transition.ns <= until_ns);
            (!block.is_empty()).then_some(Event::Occupancy(block))
        }
    }
}

#[cfg(test)]
mod tests;
