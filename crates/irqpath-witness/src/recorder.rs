// SPDX-License-Identifier: GPL-2.0-or-later
//! Records everything that `bpf/witness.bpf.c` writes down, until it is told to stop.
//!
//! A thread of its own empties the ring buffer, so that a busy test loses nothing. A record is
//! only worth something if it is whole: [`Record::nr_lost`] says so, and a test must look.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use libbpf_rs::btf::types::{DataSec, Typedef, Var};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{
    Btf, Error, Link, MapCore as _, MapFlags, Object, ObjectBuilder, Program, Result,
    RingBufferBuilder,
};

use crate::enclose::enclose_events;
use crate::event::{EVENT_BYTES, Event, decode_event};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/witness.bpf.o"));
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Everything that happened while the recorder ran.
#[derive(Debug, Default)]
pub struct Record {
    /// In order of time.
    pub events: Vec<Event>,
    /// Events that found no room. Anything but 0 makes the record useless as a reference.
    pub nr_lost: u64,
    /// Runs that the kernel skipped because a program interrupted itself, by program. Only those
    /// can do it that run with interrupts on.
    pub skipped: BTreeMap<String, u64>,
    /// True if [`Event::steal_ns`] is known.
    pub has_steal: bool,
}

impl Record {
    /// Take from a record that was begun after irqpath was attached, and ended before it was detached,
    /// when it read the clock at the same events.
    pub fn enclose(&mut self, closing: &Self) {
        enclose_events(&mut self.events, &closing.events);
    }
}

/// A recorder at work.
#[derive(Debug)]
pub struct Recorder {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Record>>,
}

impl Recorder {
    /// Load and attach; returns when every event is being recorded. `buffer_bytes` must hold what
    /// happens while the reading thread has no CPU.
    ///
    /// # Errors
    /// What libbpf says, in particular where the privilege is missing.
    pub fn start(buffer_bytes: u32) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, attached) = channel();
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("witness".to_owned())
            .spawn(move || record_events(buffer_bytes, &told, &ready))
            .map_err(Error::from)?;
        // A thread that failed has dropped its end.
        if attached.recv().is_ok() {
            return Ok(Self { stop, thread });
        }
        match thread.join() {
            Ok(Err(error)) => Err(error),
            _ => Err(Error::from_raw_os_error(22)),
        }
    }

    /// Detach and hand over the record.
    ///
    /// # Errors
    /// What libbpf says.
    pub fn finish(self) -> Result<Record> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|_| Err(Error::from_raw_os_error(5)))
    }
}

fn record_events(buffer_bytes: u32, stop: &AtomicBool, ready: &Sender<()>) -> Result<Record> {
    let btf = Btf::from_vmlinux()?;
    let rq_to_steal = rq_to_steal(&btf);
    let object = load_object(&btf, buffer_bytes, rq_to_steal)?;
    let bytes = Rc::new(RefCell::new(Vec::<u8>::new()));
    let sink = Rc::clone(&bytes);
    let map = object.maps().find(|map| map.name() == "events").ok_or_else(no_such)?;
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, move |event| {
        sink.borrow_mut().extend_from_slice(event);
        0
    })?;
    let ring = builder.build()?;
    let links = attach_programs(&object)?;
    let first_ns = now_ns();
    let _ = ready.send(());
    while !stop.load(Ordering::Acquire) {
        ring.consume()?;
        std::thread::sleep(LOOK_EVERY);
    }
    let nr_lost = read_count(&object, "lost")?;
    let skipped = read_skipped(&object)?;
    let last_ns = now_ns();
    drop(links);
    ring.consume()?;
    drop(ring);
    let bytes = bytes.take();
    let mut events: Vec<Event> = bytes.chunks_exact(EVENT_BYTES).filter_map(decode_event).collect();
    // Before and after that only some of the programs were there.
    events.retain(|event| (first_ns..=last_ns).contains(&event.ns));
    // An interrupt between the reservation and the clock read of an event comes before it.
    events.sort_by_key(|event| event.ns);
    Ok(Record { events, nr_lost, skipped, has_steal: rq_to_steal != 0 })
}

fn load_object(btf: &Btf<'_>, buffer_bytes: u32, rq_to_steal: i64) -> Result<Object> {
    // Aligned as an ELF file must be.
    let aligned = OBJECT.to_vec();
    let mut open = ObjectBuilder::default().open_memory(&aligned)?;
    for mut program in open.progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let tracepoint = section.strip_prefix("tp_btf/").unwrap_or_default();
        let prototype = format!("btf_trace_{tracepoint}");
        if btf.type_by_name::<Typedef<'_>>(&prototype).is_none() {
            program.set_autoload(false);
        }
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "events" {
            map.set_max_entries(buffer_bytes)?;
        } else if name.ends_with(".rodata") {
            map.set_initial_value(&rq_to_steal.to_ne_bytes())?;
        }
    }
    open.load()
}

fn attach_programs(object: &Object) -> Result<Vec<Link>> {
    object.progs_mut().filter(|p| p.autoload()).map(|program| program.attach()).collect()
}

/// How far a CPU's `steal_time` lies behind its `runqueues`; 0 where the kernel lacks either.
fn rq_to_steal(btf: &Btf<'_>) -> i64 {
    let offset_of = |name: &str| {
        let id = btf.type_by_name::<Var<'_>>(name)?.type_id();
        let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
        section.iter().find(|var| var.ty == id).map(|var| i64::from(var.offset))
    };
    match (offset_of("runqueues"), offset_of("steal_time")) {
        (Some(rq), Some(steal)) => steal - rq,
        _ => 0,
    }
}

/// The sum of a count that each CPU has.
fn read_count(object: &Object, name: &str) -> Result<u64> {
    let map = object.maps().find(|map| map.name() == name).ok_or_else(no_such)?;
    let counts = map.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
    let counts = counts.iter().filter_map(|count| count.first_chunk());
    Ok(counts.map(|count| u64::from_ne_bytes(*count)).sum())
}

fn read_skipped(object: &Object) -> Result<BTreeMap<String, u64>> {
    let programs = object.progs().filter(libbpf_rs::ProgramImpl::autoload);
    let ids = programs.map(|p| Program::id_from_fd(p.as_fd())).collect::<Result<Vec<u32>>>()?;
    let infos = ProgInfoIter::default().filter(|info| ids.contains(&info.id));
    let missed = infos.filter(|info| info.recursion_misses > 0);
    Ok(missed.map(|i| (i.name.to_string_lossy().into_owned(), i.recursion_misses)).collect())
}

fn no_such() -> Error {
    Error::from_raw_os_error(2)
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
