// SPDX-License-Identifier: GPL-2.0-or-later
//! Transitions that the kernel side has not delivered by itself.
//!
//! A busy CPU delivers the window of a slow path at once. An idle CPU has no event on which to
//! do so, and a chunk that is not full waits: those are read straight from the rings, a few
//! times a second. What arrives twice has the same sequence number.

use std::time::{Duration, Instant};

use irqpath_model::{Event, Occupancy};
use libbpf_rs::{MapCore, MapFlags};

use super::decode;
use super::skel::{IrqpathSkel, read, types};

const CHUNKS: u32 = 32; // IP_CHUNKS
const CHUNK_LEN: u64 = 64; // IP_CHUNK_LEN
const PULL_EVERY: Duration = Duration::from_millis(200);
/// An entry this old is completely written.
const SETTLED_NS: u64 = 1_000_000;

/// Reads the rings when it is time to.
pub struct Puller {
    record_all: bool,
    last: Instant,
    wanted: bool,
}

impl Puller {
    /// With `record_all` every pull is wanted, otherwise only after a path was reported.
    pub fn new(record_all: bool) -> Self {
        Self { record_all, last: Instant::now(), wanted: false }
    }

    /// The newest two chunks of each CPU, if it is time and somebody may miss them.
    pub fn tick(&mut self, skel: &IrqpathSkel<'_>, saw_path: bool) -> Option<Vec<Event>> {
        self.wanted |= saw_path || self.record_all;
        if !self.wanted || self.last.elapsed() < PULL_EVERY {
            return None;
        }
        self.last = Instant::now();
        self.wanted = saw_path;
        Some(pull(skel, 2, super::stats::now_ns().saturating_sub(SETTLED_NS)))
    }

    /// Everything that is still in the rings; call it after detaching.
    pub fn everything(skel: &IrqpathSkel<'_>) -> Vec<Event> {
        pull(skel, u64::from(CHUNKS), u64::MAX)
    }
}

fn pull(skel: &IrqpathSkel<'_>, nr_chunks: u64, until_ns: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let zero = 0u32.to_ne_bytes();
    let Ok(Some(cpus)) = skel.maps.ip_cpus.lookup_percpu(&zero, MapFlags::ANY) else {
        return events;
    };
    for (cpu, bytes) in cpus.iter().enumerate() {
        let Some(state) = read::<types::ip_cpu>(bytes) else { continue };
        let head = state.occ_head / CHUNK_LEN;
        let mut entries: Vec<Occupancy> = Vec::new();
        for nr in head.saturating_sub(nr_chunks - 1)..=head {
            entries.extend(chunk(skel, cpu as u32, nr, until_ns));
        }
        if !entries.is_empty() {
            events.push(Event::Occupancy(entries));
        }
    }
    events
}

fn chunk(skel: &IrqpathSkel<'_>, cpu: u32, nr: u64, until_ns: u64) -> Vec<Occupancy> {
    let index = cpu * CHUNKS + (nr % u64::from(CHUNKS)) as u32;
    let bytes = skel.maps.ip_chunks.lookup(&index.to_ne_bytes(), MapFlags::ANY);
    let chunk = match bytes {
        Ok(Some(bytes)) => read::<types::ip_occ_chunk>(&bytes),
        _ => None,
    };
    match chunk {
        // Another lap's chunk is in the slot until the first entry of this lap is written.
        Some(c) if c.begin_ns != 0 && c.seq == nr * CHUNK_LEN => decode::chunk(&c, until_ns),
        _ => Vec::new(),
    }
}
