// SPDX-License-Identifier: GPL-2.0-or-later
//! The copy of the rings that a capture is made from. Its memory is allocated once.
//!
//! The kernel does not wait for the copy. A chunk is believed if it has the number that it should
//! have, and if the ring had not come round to it when everything was copied; a path if its place
//! had the same number before and after.

use std::mem::offset_of;

use irqpath_model::Occupancy;

use super::super::skel::types;
use super::mapped::Mapped;

pub struct Copy {
    /// Of each CPU in order, oldest first.
    pub chunks: Vec<types::ip_occ_chunk>,
    pub paths: Vec<types::ip_kept_path>,
    pub nmis: Vec<Occupancy>,
    pub stacks: Vec<(u16, types::ip_stack)>,
    /// CPUs of which the ring no longer held the beginning, and when what it held began.
    pub short: Vec<(u16, u64)>,
    /// Chunks and paths that the kernel overwrote meanwhile.
    pub nr_overwritten: u64,
}

impl Copy {
    pub fn with_room(nr_chunks: usize, nr_paths: usize) -> Self {
        Self {
            chunks: Vec::with_capacity(nr_chunks),
            paths: Vec::with_capacity(nr_paths),
            nmis: Vec::new(),
            stacks: Vec::new(),
            short: Vec::new(),
            nr_overwritten: 0,
        }
    }

    pub fn bytes_for(nr_chunks: usize, nr_paths: usize) -> u64 {
        let chunks = nr_chunks * size_of::<types::ip_occ_chunk>();
        (chunks + nr_paths * size_of::<types::ip_kept_path>()) as u64
    }

    pub fn clear(&mut self) {
        self.chunks.clear();
        self.paths.clear();
        self.nmis.clear();
        self.stacks.clear();
        self.short.clear();
        self.nr_overwritten = 0;
    }

    /// The chunks of `cpu` that cover `from_ns` and later; `head` is the number of the next
    /// transition.
    pub fn copy_chunks(
        &mut self,
        ring: &Mapped,
        cpu: usize,
        nr_cpus: usize,
        head: u64,
        from_ns: u64,
    ) {
        let per_cpu = (ring.nr_entries() / nr_cpus) as u64;
        let newest = head / chunk_len();
        let oldest = (newest + 1).saturating_sub(per_cpu);
        let mut first = newest;
        let mut begin_ns = u64::MAX;
        for nr in (oldest..=newest).rev() {
            let at = slot_of(cpu, per_cpu, nr);
            let begun = ring.read_word(at, offset_of!(types::ip_occ_chunk, begin_ns));
            let seq = ring.read_word(at, offset_of!(types::ip_occ_chunk, seq));
            if begun == 0 || seq != nr * chunk_len() {
                if nr == newest {
                    continue; // not opened yet
                }
                break;
            }
            (first, begin_ns) = (nr, begun);
            if begin_ns <= from_ns {
                break;
            }
        }
        if begin_ns > from_ns && first > 0 && begin_ns != u64::MAX {
            self.short.push((cpu as u16, begin_ns));
        }
        for nr in first..=newest {
            let Some(chunk) = ring.read::<types::ip_occ_chunk>(slot_of(cpu, per_cpu, nr)) else {
                break;
            };
            if chunk.begin_ns != 0 && chunk.seq == nr * chunk_len() {
                self.chunks.push(chunk);
            } else if nr != newest {
                self.nr_overwritten += 1;
            }
        }
    }

    /// The paths of `cpu` that ended at `from_ns` or later; `head` is the number of the next one.
    pub fn copy_paths(
        &mut self,
        ring: &Mapped,
        cpu: usize,
        nr_cpus: usize,
        head: u64,
        from_ns: u64,
    ) {
        let per_cpu = (ring.nr_entries() / nr_cpus) as u64;
        let mut oldest_ns = u64::MAX;
        for nr in (head.saturating_sub(per_cpu)..head).rev() {
            let at = slot_of(cpu, per_cpu, nr);
            let Some(kept) = ring.read::<types::ip_kept_path>(at) else { break };
            let after = ring.read_word(at, offset_of!(types::ip_kept_path, nr));
            if kept.nr != nr + 1 || after != nr + 1 {
                self.nr_overwritten += 1;
                continue;
            }
            let end_ns = kept.r.chain.ns.iter().copied().max().unwrap_or(0);
            if end_ns < from_ns {
                return;
            }
            oldest_ns = end_ns;
            self.paths.push(kept);
        }
        if head > per_cpu && oldest_ns != u64::MAX {
            self.short.push((cpu as u16, oldest_ns));
        }
    }

    /// The stacks that were taken on `cpu` since `from_ns`; `head` is the number of the next one.
    pub fn copy_stacks(
        &mut self,
        ring: &Mapped,
        cpu: usize,
        nr_cpus: usize,
        head: u64,
        from_ns: u64,
    ) {
        let per_cpu = (ring.nr_entries() / nr_cpus) as u64;
        for nr in (head.saturating_sub(per_cpu)..head).rev() {
            let at = slot_of(cpu, per_cpu, nr);
            let Some(stack) = ring.read::<types::ip_stack>(at) else { break };
            let after = ring.read_word(at, offset_of!(types::ip_stack, nr));
            if stack.nr == nr + 1 && after == nr + 1 && stack.until_ns >= from_ns {
                self.stacks.push((cpu as u16, stack));
            }
        }
    }

    /// Leave out the chunks to which the rings have come round; `heads` was read after the copy.
    pub fn drop_overwritten(&mut self, heads: &[u64], per_cpu: usize) {
        let before = self.chunks.len();
        self.chunks.retain(|chunk| {
            let head = heads.get(chunk.cpu as usize).copied().unwrap_or(u64::MAX);
            head / chunk_len() < chunk.seq / chunk_len() + per_cpu as u64
        });
        self.nr_overwritten += (before - self.chunks.len()) as u64;
    }
}

fn slot_of(cpu: usize, per_cpu: u64, nr: u64) -> usize {
    cpu * per_cpu as usize + (nr % per_cpu) as usize
}

pub fn chunk_len() -> u64 {
    types::ip_occ_chunk::default().e.len() as u64
}
