// SPDX-License-Identifier: GPL-2.0-or-later
//! The flight recorder: the kernel keeps the newest transitions and paths of every CPU in rings, and
//! user space copies them when something has happened.
//!
//! While nothing happens nobody reads: a look at the record buffer, which holds the paths over the
//! threshold, is all. A copy ([`Frozen`]) is a [`Source`](crate::Source) like a recording. The rings
//! go on meanwhile; what they overwrite under the copy is found out and left out.
//!
//! Rule: everything is mapped and allocated before the process is confined, so that the memory is the
//! one that was asked for.

mod beside;
mod copy;
mod frozen;
mod mapped;
mod rings;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use irqpath_model::{Event, Missing, Occupancy, PathRecord, Snapshot};
use libbpf_rs::{Link, RingBuffer, RingBufferBuilder};

pub use self::beside::RecordingSource;
pub use self::frozen::Frozen;
use self::rings::Rings;
use super::complaints::load_error;
use super::load::{self, Loaded};
use super::overhead::StatsSample;
use super::skel::{IrqpathSkel, OpenIrqpathSkel, types};
use super::{decode, stats};
use crate::{Config, Flight, SourceError};

/// The record buffer holds paths over the threshold and NMIs only.
const RECORDS_BYTES: u32 = 1 << 20;
/// NMIs come as records; as many are kept.
const MAX_NMIS: usize = 4096;
/// Paths over the threshold that one look reports; more in so short a time are only counted.
const MAX_REPORTED: usize = 256;
/// `IP_STACKS` of `bpf/irqpath.h`.
const STACKS: u32 = 128;
/// Of `include/uapi/linux/bpf.h`.
const BPF_F_MMAPABLE: u32 = 1 << 10;

/// The kernel's rings, while they are written.
pub struct FlightRecorder {
    links: Vec<Link>,
    ring: RingBuffer<'static>,
    skel: IrqpathSkel<'static>,
    sample: StatsSample,
    missing: Vec<Missing>,
    queue: Rc<RefCell<Queue>>,
    rings: Rings,
}

#[derive(Default)]
struct Queue {
    paths: Vec<PathRecord>,
    /// Beyond [`MAX_REPORTED`].
    nr_dropped: u64,
    nmis: VecDeque<Occupancy>,
}

/// What has happened since the last look.
pub struct Reported {
    /// Paths over the threshold, oldest first.
    pub paths: Vec<PathRecord>,
    /// More of them, of which nothing else is known.
    pub nr_more: u64,
}

/// What the rings hold, in total since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Transitions of all CPUs.
    pub nr_transitions: u64,
    /// Paths of all CPUs.
    pub nr_paths: u64,
    /// Stacks that were taken.
    pub nr_stacks: u64,
    /// What taking them took, ns.
    pub stacks_ns: u64,
}

impl FlightRecorder {
    /// Load and attach; `config.flight` says how much is kept. Needs what
    /// [`BpfSource::open`](super::BpfSource::open) needs.
    pub fn open(config: &Config) -> Result<Self, SourceError> {
        let Loaded { skel, links, missing } = load::load_programs(config, |_| {})?;
        let sample = StatsSample::start();
        let queue = Rc::new(RefCell::new(Queue::default()));
        let sink = Rc::clone(&queue);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&skel.maps.ip_records, move |bytes| {
                sink.borrow_mut().add_record(bytes);
                0
            })
            .map_err(load_error)?;
        let ring = builder.build().map_err(load_error)?;
        let rings = Rings::open(&skel)?;
        Ok(Self { links, ring, skel, sample, missing, queue, rings })
    }

    /// How much has gone through the rings.
    pub fn count_written(&self) -> Result<Written, SourceError> {
        rings::count_written(&self.skel)
    }

    /// Detach. The rings stay as they are, and can still be frozen.
    pub fn detach_programs(&mut self) {
        self.sample.stop();
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }
}

/// What a recorder needs of the rings that the programs fill.
pub trait Recording {
    /// What was reported since the last look.
    fn poll_paths(&mut self) -> Result<Reported, SourceError>;

    /// Copy what the rings hold of `[from_ns, until_ns]`. `None` while the memory is in use.
    fn freeze(&mut self, from_ns: u64, until_ns: u64) -> Result<Option<Frozen>, SourceError>;

    /// The memory of a capture comes back.
    fn recycle(&mut self, frozen: Frozen);

    /// What the programs count for each line and CPU, their losses and their cost, since the start.
    fn take_counts(&self) -> Result<Snapshot, SourceError>;

    /// Memory of one capture's copy, bytes, whether it is in use or not.
    fn copy_bytes(&self) -> u64;

    /// Bytes of the kernel's rings that are mapped: they count as resident pages of this process.
    fn mapped_bytes(&self) -> u64;
}

impl Recording for FlightRecorder {
    fn poll_paths(&mut self) -> Result<Reported, SourceError> {
        let nr = self.ring.consume_raw();
        if nr < 0 {
            return Err(load_error(libbpf_rs::Error::from_raw_os_error(-nr)));
        }
        self.sample.stop_when_due();
        Ok(self.queue.borrow_mut().take_reported())
    }

    fn freeze(&mut self, from_ns: u64, until_ns: u64) -> Result<Option<Frozen>, SourceError> {
        let queue = self.queue.borrow();
        let missing = self.missing.clone();
        self.rings.freeze(&self.skel, (from_ns, until_ns), queue.nmis.iter(), missing)
    }

    fn recycle(&mut self, frozen: Frozen) {
        self.rings.recycle(frozen);
    }

    fn take_counts(&self) -> Result<Snapshot, SourceError> {
        let mut snapshot = stats::read_counts(&self.skel).map_err(load_error)?;
        StatsSample::fill_snapshot(&self.skel, &mut snapshot);
        snapshot.missing.clone_from(&self.missing);
        Ok(snapshot)
    }

    fn copy_bytes(&self) -> u64 {
        self.rings.copy_bytes()
    }

    fn mapped_bytes(&self) -> u64 {
        self.rings.mapped_bytes()
    }
}

impl Drop for FlightRecorder {
    fn drop(&mut self) {
        self.detach_programs();
    }
}

impl Queue {
    fn add_record(&mut self, bytes: &[u8]) {
        match decode::decode_record(bytes) {
            Some(Event::Path(record)) => self.add_path(*record),
            Some(Event::Occupancy(nmis)) => self.add_nmis(nmis.into_iter()),
            None => {}
        }
    }

    fn add_path(&mut self, record: PathRecord) {
        if self.paths.len() >= MAX_REPORTED {
            self.nr_dropped += 1;
        } else {
            self.paths.push(record);
        }
    }

    fn add_nmis(&mut self, nmis: impl Iterator<Item = Occupancy>) {
        self.nmis.extend(nmis);
        let excess = self.nmis.len().saturating_sub(MAX_NMIS);
        self.nmis.drain(..excess);
    }

    fn take_reported(&mut self) -> Reported {
        let paths = std::mem::take(&mut self.paths);
        Reported { paths, nr_more: std::mem::take(&mut self.nr_dropped) }
    }
}

/// The rings' sizes within what they may take together: a power of two of chunks per CPU, as the
/// programs mask with it, and what is left in paths.
pub(super) fn ring_sizes(ring_bytes: usize, nr_cpus: usize) -> (u32, u32) {
    let (chunk, path) = (size_of::<types::ip_occ_chunk>(), size_of::<types::ip_kept_path>());
    let of_cpu = ring_bytes / nr_cpus;
    // At least a third is for paths.
    let chunks = (of_cpu * 2 / 3 / chunk).max(MIN_CHUNKS);
    let chunks = 1 << chunks.ilog2();
    let paths = of_cpu.saturating_sub(chunks * chunk) / path;
    (chunks as u32, paths.max(MIN_PATHS) as u32)
}

const MIN_CHUNKS: usize = 16;
const MIN_PATHS: usize = 64;

/// The tables of the flight recorder: rings that user space can map, and, unless `beside` says that
/// they are kept as well, no statistics.
pub(super) fn configure(
    open: &mut OpenIrqpathSkel<'static>,
    flight: &Flight,
    nr_cpus: u32,
) -> Result<(), SourceError> {
    let (nr_chunks, nr_paths) = ring_sizes(flight.ring_bytes, nr_cpus as usize);
    let maps = &mut open.maps;
    maps.ip_chunks.set_max_entries(nr_chunks * nr_cpus).map_err(load_error)?;
    maps.ip_chunks.set_map_flags(BPF_F_MMAPABLE).map_err(load_error)?;
    maps.ip_kept_paths.set_max_entries(nr_paths * nr_cpus).map_err(load_error)?;
    maps.ip_kept_paths.set_map_flags(BPF_F_MMAPABLE).map_err(load_error)?;
    let nr_stacks = if flight.stack_ns.is_some() { STACKS * nr_cpus } else { 1 };
    maps.ip_stacks.set_max_entries(nr_stacks).map_err(load_error)?;
    maps.ip_stacks.set_map_flags(BPF_F_MMAPABLE).map_err(load_error)?;
    if !flight.beside {
        maps.ip_records.set_max_entries(RECORDS_BYTES).map_err(load_error)?;
        for map in [&mut maps.ip_paths, &mut maps.ip_shares, &mut maps.ip_hist_pages] {
            map.set_max_entries(1).map_err(load_error)?;
        }
    }
    let rodata = open.maps.rodata_data.as_deref_mut().expect("the object has constants");
    rodata.ip_config.nr_chunks = nr_chunks;
    rodata.ip_config.nr_kept_paths = nr_paths;
    rodata.ip_config.only_keeps = u8::from(!flight.beside);
    rodata.ip_config.kept_ns = flight.threshold_ns.unwrap_or(0);
    rodata.ip_config.stack_ns = flight.stack_ns.unwrap_or(0);
    for &(point, ns) in &flight.stages {
        rodata.ip_config.stage_ns[point.index()] = ns;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_fit_into_their_memory_and_both_have_a_share() {
        let (chunk, path) = (size_of::<types::ip_occ_chunk>(), size_of::<types::ip_kept_path>());
        for mib in [1, 4, 13, 32, 100, 512, 3000] {
            for cpus in [1, 2, 7, 64] {
                let bytes = mib << 20;
                let (chunks, paths) = ring_sizes(bytes, cpus);
                assert!(chunks.is_power_of_two(), "{mib} MiB on {cpus} CPUs: {chunks}");
                let used = cpus * (chunks as usize * chunk + paths as usize * path);
                let least = cpus * (MIN_CHUNKS * chunk + MIN_PATHS * path);
                assert!(used <= bytes.max(least), "{mib} MiB on {cpus} CPUs take {used}");
                assert!(used * 10 >= bytes * 9, "{mib} MiB on {cpus} CPUs use only {used}");
            }
        }
    }
}
