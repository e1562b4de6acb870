// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's rings, mapped into this process, and the memory of the copy that a capture needs.

use irqpath_model::{Missing, Occupancy};
use libbpf_rs::{MapCore as _, MapFlags};

use super::super::complaints::load_error;
use super::super::skel::{IrqpathSkel, read, types};
use super::copy::Copy;
use super::mapped::Mapped;
use super::{Frozen, Written};
use crate::SourceError;

pub struct Rings {
    chunks: Mapped,
    paths: Mapped,
    stacks: Mapped,
    nr_cpus: usize,
    /// Memory for the next capture; `None` while one is being written.
    spare: Option<Copy>,
}

impl Rings {
    /// Map the rings of loaded programs, and allocate the copy.
    pub fn open(skel: &IrqpathSkel<'static>) -> Result<Self, SourceError> {
        let map = |error: std::io::Error| SourceError::Load(format!("no memory to read: {error}"));
        let chunks = Mapped::new(&skel.maps.ip_chunks).map_err(map)?;
        let paths = Mapped::new(&skel.maps.ip_kept_paths).map_err(map)?;
        let stacks = Mapped::new(&skel.maps.ip_stacks).map_err(map)?;
        let spare = Some(Copy::with_room(chunks.nr_entries(), paths.nr_entries()));
        let nr_cpus = libbpf_rs::num_possible_cpus().map_err(load_error)?;
        Ok(Self { chunks, paths, stacks, nr_cpus, spare })
    }

    /// Copy what they hold of `[from_ns, until_ns]`, with those of `nmis` that lie in it. `None`
    /// while the memory is in use.
    pub fn freeze<'a>(
        &mut self,
        skel: &IrqpathSkel<'static>,
        (from_ns, until_ns): (u64, u64),
        nmis: impl Iterator<Item = &'a Occupancy>,
        missing: Vec<Missing>,
    ) -> Result<Option<Frozen>, SourceError> {
        let Some(mut copy) = self.spare.take() else { return Ok(None) };
        copy.clear();
        let before = read_heads(skel)?;
        for (cpu, heads) in before.iter().enumerate() {
            copy.copy_chunks(&self.chunks, cpu, self.nr_cpus, heads.occ_head, from_ns);
            copy.copy_paths(&self.paths, cpu, self.nr_cpus, heads.nr_kept, from_ns);
            copy.copy_stacks(&self.stacks, cpu, self.nr_cpus, heads.nr_stacks, from_ns);
        }
        let after: Vec<u64> = read_heads(skel)?.iter().map(|heads| heads.occ_head).collect();
        copy.drop_overwritten(&after, self.chunks.nr_entries() / self.nr_cpus);
        copy.nmis.extend(nmis.filter(|nmi| (from_ns..=until_ns).contains(&nmi.ns)).cloned());
        Ok(Some(Frozen::new(copy, from_ns, until_ns, missing)))
    }

    /// The memory of a capture comes back.
    pub fn recycle(&mut self, frozen: Frozen) {
        self.spare = Some(frozen.into_copy());
    }

    /// Memory of one capture's copy, bytes, whether it is in use or not.
    pub fn copy_bytes(&self) -> u64 {
        Copy::bytes_for(self.chunks.nr_entries(), self.paths.nr_entries())
    }

    /// Bytes that are mapped: they count as resident pages of this process.
    pub fn mapped_bytes(&self) -> u64 {
        self.chunks.nr_bytes() + self.paths.nr_bytes() + self.stacks.nr_bytes()
    }
}

/// How much has gone through the rings since the start.
pub fn count_written(skel: &IrqpathSkel<'static>) -> Result<Written, SourceError> {
    let heads = read_heads(skel)?;
    Ok(Written {
        nr_transitions: heads.iter().map(|heads| heads.occ_head).sum(),
        nr_paths: heads.iter().map(|heads| heads.nr_kept).sum(),
        nr_stacks: heads.iter().map(|heads| heads.nr_stacks).sum(),
        stacks_ns: heads.iter().map(|heads| heads.stacks_ns).sum(),
    })
}

fn read_heads(skel: &IrqpathSkel<'static>) -> Result<Vec<types::ip_cpu>, SourceError> {
    let zero = 0u32.to_ne_bytes();
    let cpus = skel.maps.ip_cpus.lookup_percpu(&zero, MapFlags::ANY);
    let cpus = cpus.map_err(load_error)?.unwrap_or_default();
    Ok(cpus.iter().filter_map(|bytes| read(bytes)).collect())
}
