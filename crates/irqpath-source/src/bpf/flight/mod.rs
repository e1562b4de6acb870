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

mod copy;
mod frozen;
mod mapped;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use irqpath_model::{Event, Missing, Occupancy, PathRecord, Snapshot};
use libbpf_rs::{Link, MapCore as _, MapFlags, RingBuffer, RingBufferBuilder};

use self::copy::Copy;
pub use self::frozen::Frozen;
use self::mapped::Mapped;
use super::complaints::load_error;
use super::load::{self, Loaded};
use super::overhead::StatsSample;
use super::skel::{IrqpathSkel, OpenIrqpathSkel, read, types};
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
    chunks: Mapped,
    paths: Mapped,
    stacks: Mapped,
    nr_cpus: usize,
    /// Memory for the next capture; `None` while one is being written.
    spare: Option<Copy>,
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
        let map = |error: std::io::Error| SourceError::Load(format!("no memory to read: {error}"));
        let chunks = Mapped::new(&skel.maps.ip_chunks).map_err(map)?;
        let paths = Mapped::new(&skel.maps.ip_kept_paths).map_err(map)?;
        let stacks = Mapped::new(&skel.maps.ip_stacks).map_err(map)?;
        let spare = Some(Copy::with_room(chunks.nr_entries(), paths.nr_entries()));
        let nr_cpus = libbpf_rs::num_possible_cpus().map_err(load_error)?;
        Ok(Self {
            links,
            ring,
            skel,
            sample,
            missing,
            queue,
            chunks,
            paths,
            stacks,
            nr_cpus,
            spare,
        })
    }

    /// What was reported since the last look.
    pub fn poll_paths(&mut self) -> Result<Reported, SourceError> {
        let nr = self.ring.consume_raw();
        if nr < 0 {
            return Err(load_error(libbpf_rs::Error::from_raw_os_error(-nr)));
        }
        self.sample.stop_when_due(&self.skel);
        let mut queue = self.queue.borrow_mut();
        let paths = std::mem::take(&mut queue.paths);
        Ok(Reported { paths, nr_more: std::mem::take(&mut queue.nr_dropped) })
    }

    /// True if there is memory for a capture: the last one is written, and was given back.
    pub fn is_free(&self) -> bool {
        self.spare.is_some()
    }

    /// Copy what the rings hold of `[from_ns, until_ns]`. `None` while the memory is in use.
    pub fn freeze(&mut self, from_ns: u64, until_ns: u64) -> Result<Option<Frozen>, SourceError> {
        let Some(mut copy) = self.spare.take() else { return Ok(None) };
        copy.clear();
        let before = self.heads()?;
        for (cpu, heads) in before.iter().enumerate() {
            copy.copy_chunks(&self.chunks, cpu, self.nr_cpus, heads.occ_head, from_ns);
            copy.copy_paths(&self.paths, cpu, self.nr_cpus, heads.nr_kept, from_ns);
            copy.copy_stacks(&self.stacks, cpu, self.nr_cpus, heads.nr_stacks, from_ns);
        }
        let after: Vec<u64> = self.heads()?.iter().map(|heads| heads.occ_head).collect();
        copy.drop_overwritten(&after, self.chunks.nr_entries() / self.nr_cpus);
        let queue = self.queue.borrow();
        let nmis = queue.nmis.iter().filter(|nmi| (from_ns..=until_ns).contains(&nmi.ns));
        copy.nmis.extend(nmis.cloned());
        Ok(Some(Frozen::new(copy, from_ns, until_ns, self.missing.clone())))
    }

    /// The memory of a capture comes back.
    pub fn recycle(&mut self, frozen: Frozen) {
        self.spare = Some(frozen.into_copy());
    }

    /// What the programs count for each line and CPU, their losses and their cost, since the start.
    pub fn take_counts(&self) -> Result<Snapshot, SourceError> {
        let mut snapshot = stats::read_counts(&self.skel).map_err(load_error)?;
        self.sample.fill_snapshot(&self.skel, &mut snapshot);
        snapshot.missing.clone_from(&self.missing);
        Ok(snapshot)
    }

    /// How much has gone through the rings.
    pub fn count_written(&self) -> Result<Written, SourceError> {
        let heads = self.heads()?;
        Ok(Written {
            nr_transitions: heads.iter().map(|heads| heads.occ_head).sum(),
            nr_paths: heads.iter().map(|heads| heads.nr_kept).sum(),
            nr_stacks: heads.iter().map(|heads| heads.nr_stacks).sum(),
            stacks_ns: heads.iter().map(|heads| heads.stacks_ns).sum(),
        })
    }

    /// Memory of one capture's copy, bytes, whether it is in use or not.
    pub fn copy_bytes(&self) -> u64 {
        Copy::bytes_for(self.chunks.nr_entries(), self.paths.nr_entries())
    }

    /// Bytes of the kernel's rings that are mapped: they count as resident pages of this process.
    pub fn mapped_bytes(&self) -> u64 {
        self.chunks.nr_bytes() + self.paths.nr_bytes() + self.stacks.nr_bytes()
    }

    /// Detach. The rings stay as they are, and can still be frozen.
    pub fn detach_programs(&mut self) {
        self.sample.stop(&self.skel);
        while let Some(link) = self.links.pop() {
            drop(link);
        }
    }

    fn heads(&self) -> Result<Vec<types::ip_cpu>, SourceError> {
        let zero = 0u32.to_ne_bytes();
        let cpus = self.skel.maps.ip_cpus.lookup_percpu(&zero, MapFlags::ANY);
        let cpus = cpus.map_err(load_error)?.unwrap_or_default();
        Ok(cpus.iter().filter_map(|bytes| read(bytes)).collect())
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
            Some(Event::Path(_)) if self.paths.len() >= MAX_REPORTED => self.nr_dropped += 1,
            Some(Event::Path(record)) => self.paths.push(*record),
            Some(Event::Occupancy(nmis)) => {
                self.nmis.extend(nmis);
                let excess = self.nmis.len().saturating_sub(MAX_NMIS);
                self.nmis.drain(..excess);
            }
            None => {}
        }
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

/// The tables of the flight recorder: no statistics, and rings that user space can map.
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
    maps.ip_records.set_max_entries(RECORDS_BYTES).map_err(load_error)?;
    for map in [&mut maps.ip_paths, &mut maps.ip_shares, &mut maps.ip_hist_pages] {
        map.set_max_entries(1).map_err(load_error)?;
    }
    let rodata = open.maps.rodata_data.as_deref_mut().expect("the object has constants");
    rodata.ip_config.nr_chunks = nr_chunks;
    rodata.ip_config.nr_kept_paths = nr_paths;
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
