// SPDX-License-Identifier: GPL-2.0-or-later
//! Transitions that the kernel side has not delivered by itself.
//!
//! With a slow path the kernel delivers the newest chunks of a busy CPU. What is older, what
//! belongs to an idle CPU, and chunks that are not full are read from the rings: at once for
//! the window of a reported path, and again a little later for what was still being written.
//! What arrives twice has the same sequence number.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use irqpath_model::{Event, LossReason, Occupancy, PathRecord, Snapshot};
use libbpf_rs::{MapCore, MapFlags};

use super::decode;
use super::skel::{IrqpathSkel, read, types};

const PULL_EVERY: Duration = Duration::from_millis(200);
/// An entry this old is completely written.
const SETTLED_NS: u64 = 100_000;

/// Reads the rings when somebody waits for what is in them.
pub struct Puller {
    record_all: bool,
    last: Instant,
    /// CPU to the start of the oldest window that was reported since the last pull.
    windows: BTreeMap<u16, u64>,
    /// CPUs whose newest transitions were not settled at the last pull.
    late: BTreeSet<u16>,
    /// Up to where each CPU's ring has been read.
    read_until_ns: BTreeMap<u16, u64>,
    nr_overruns: u64,
}

impl Puller {
    /// With `record_all` full chunks come by themselves and only the newest are read.
    pub fn new(record_all: bool) -> Self {
        Self {
            record_all,
            last: Instant::now(),
            windows: BTreeMap::new(),
            late: BTreeSet::new(),
            read_until_ns: BTreeMap::new(),
            nr_overruns: 0,
        }
    }

    /// A path was reported: its CPUs' transitions are wanted since its first stamp.
    pub fn want_windows(&mut self, record: &PathRecord) {
        let (false, Some(first)) = (self.record_all, record.first()) else { return };
        let queues = record.queues.iter().filter_map(|queue| queue.cpu);
        for cpu in record.stamps.iter().flatten().map(|stamp| stamp.cpu).chain(queues) {
            let from_ns = self.windows.entry(cpu).or_insert(u64::MAX);
            *from_ns = first.ns.min(*from_ns);
        }
    }

    /// What has been asked for since the last call, and, a few times a second, what was not
    /// settled then.
    pub fn pull_wanted(&mut self, skel: &IrqpathSkel<'_>) -> Vec<Event> {
        let mut windows = std::mem::take(&mut self.windows);
        let fresh: Vec<u16> = windows.keys().copied().collect();
        if self.last.elapsed() >= PULL_EVERY {
            self.last = Instant::now();
            if self.record_all {
                self.late.extend(0..nr_cpus());
            }
            for cpu in std::mem::take(&mut self.late) {
                windows.entry(cpu).or_insert(0);
            }
        }
        self.late.extend(fresh);
        windows
            .into_iter()
            .filter_map(|(cpu, from_ns)| self.read_window(skel, cpu, from_ns, settled_ns()))
            .collect()
    }

    /// What is still wanted, down to the newest transition; call it after detaching.
    pub fn pull_rest(&mut self, skel: &IrqpathSkel<'_>) -> Vec<Event> {
        let mut windows = std::mem::take(&mut self.windows);
        if self.record_all {
            self.late.extend(0..nr_cpus());
        }
        for cpu in std::mem::take(&mut self.late) {
            windows.entry(cpu).or_insert(0);
        }
        let now_ns = crate::realtime::now_ns();
        windows
            .into_iter()
            .filter_map(|(cpu, from_ns)| self.read_window(skel, cpu, from_ns, now_ns))
            .collect()
    }

    /// What was not read yet of a window; one that begins at 0 is that of the last looks.
    fn read_window(
        &mut self,
        skel: &IrqpathSkel<'_>,
        cpu: u16,
        from_ns: u64,
        until_ns: u64,
    ) -> Option<Event> {
        let done_ns = self.read_until_ns.get(&cpu).copied().unwrap_or(0);
        // A first look back to the beginning of time would only fetch old rings.
        let floor_ns = until_ns.saturating_sub(2 * PULL_EVERY.as_nanos() as u64);
        let from_ns = if from_ns == 0 { floor_ns } else { from_ns };
        self.read_until_ns.insert(cpu, until_ns);
        self.read_range(skel, cpu, from_ns.max(done_ns), until_ns)
    }

    /// Windows of which the ring no longer held the beginning.
    pub fn fill_snapshot(&self, snapshot: &mut Snapshot) {
        snapshot.loss.add_loss(LossReason::OccupancyOverrun, self.nr_overruns);
    }

    /// The transitions of `cpu` in `[from_ns, until_ns]`, oldest first.
    fn read_range(
        &mut self,
        skel: &IrqpathSkel<'_>,
        cpu: u16,
        from_ns: u64,
        until_ns: u64,
    ) -> Option<Event> {
        let ring = Ring::of_cpu(skel, cpu)?;
        let mut parts: Vec<Vec<Occupancy>> = Vec::new();
        let mut is_whole = false;
        let most = bound_window(ring.nr_chunks, nr_cpus().into(), self.record_all);
        for nr in (0..=ring.head).rev().take(most as usize) {
            let Some(chunk) = ring.read_chunk(skel, nr) else {
                // The head may not be opened yet; further back it was overwritten.
                if nr == ring.head {
                    continue;
                }
                self.nr_overruns += u64::from(from_ns > 0 && !self.record_all);
                is_whole = true; // or counted
                break;
            };
            if self.record_all && chunk.delivered == chunk_len() {
                break; // it came by itself, and so did those before it
            }
            parts.push(decode::decode_chunk(&chunk, until_ns));
            is_whole = chunk.begin_ns <= from_ns;
            if is_whole {
                break;
            }
        }
        let has_more = most < ring.nr_chunks && ring.head >= u64::from(most);
        self.nr_overruns += u64::from(has_more && !is_whole);
        let mut entries = Vec::with_capacity(parts.iter().map(Vec::len).sum());
        entries.extend(parts.into_iter().rev().flatten());
        (!entries.is_empty()).then_some(Event::Occupancy(entries))
    }
}

/// Chunks of a window at most: as many as a ring has where there is no flight recorder. The rings of
/// one hold far more, and a path of seconds would fetch all of it.
fn bound_window(nr_chunks: u32, nr_cpus: u32, record_all: bool) -> u32 {
    nr_chunks.min(super::ring_chunks(nr_cpus, record_all))
}

struct Ring {
    cpu: u32,
    nr_chunks: u32,
    /// Number of the chunk that is being written.
    head: u64,
}

impl Ring {
    fn of_cpu(skel: &IrqpathSkel<'_>, cpu: u16) -> Option<Self> {
        let zero = 0u32.to_ne_bytes();
        let cpus = skel.maps.ip_cpus.lookup_percpu(&zero, MapFlags::ANY).ok()??;
        let state: types::ip_cpu = read(cpus.get(usize::from(cpu))?)?;
        Some(Self {
            cpu: u32::from(cpu),
            nr_chunks: skel.maps.ip_chunks.max_entries() / u32::from(nr_cpus()),
            head: state.occ_head / chunk_len(),
        })
    }

    fn read_chunk(&self, skel: &IrqpathSkel<'_>, nr: u64) -> Option<types::ip_occ_chunk> {
        let index = self.cpu * self.nr_chunks + (nr % u64::from(self.nr_chunks)) as u32;
        let bytes = skel.maps.ip_chunks.lookup(&index.to_ne_bytes(), MapFlags::ANY).ok()??;
        // Another lap's chunk is in the slot until the first entry of this lap is written.
        read::<types::ip_occ_chunk>(&bytes).filter(|c| c.begin_ns != 0 && c.seq == nr * chunk_len())
    }
}

fn chunk_len() -> u64 {
    types::ip_occ_chunk::default().e.len() as u64
}

fn nr_cpus() -> u16 {
    libbpf_rs::num_possible_cpus().unwrap_or(1) as u16
}

fn settled_ns() -> u64 {
    crate::realtime::now_ns().saturating_sub(SETTLED_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_large_rings_is_as_long_as_without_a_recorder() {
        let alone = super::super::ring_chunks(2, false);
        assert_eq!(bound_window(alone, 2, false), alone);
        assert_eq!(bound_window(alone * 16, 2, false), alone);
        for nr_cpus in [1, 2, 8, 64, 256] {
            let chunks = u64::from(bound_window(1 << 20, nr_cpus, false) * nr_cpus);
            let transitions = chunks * chunk_len();
            let bytes = transitions * size_of::<Occupancy>() as u64;
            assert!(bytes <= 64 << 20, "{nr_cpus} CPUs: {bytes} bytes of all windows");
        }
        assert_eq!(bound_window(1 << 20, 2, true), super::super::ring_chunks(2, true));
    }
}
