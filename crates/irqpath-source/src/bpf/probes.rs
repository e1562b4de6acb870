// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes in programs, as triggers: static ones (USDT) and functions.
//!
//! A binary may be a stranger's, and this process has privileges: it is read by `elf`, in memory-safe
//! code, and only if root or the caller owns it. The kernel gets a place in the file that was read
//! (`/proc/self/fd`), not a name that may have come to mean another file.
//!
//! The kernel follows the file, not its name. Once the binary is replaced, processes that run the old
//! one still trigger and those that start later do not: [`Probes::find_replaced`] tells. Once the file
//! itself is written to, the places in it lead into other code, and the kernel would put breakpoints
//! there: [`Probes::detach_rewritten`] takes them away.

#![allow(unsafe_code)] // the types of the skeleton; each use says why it is sound

mod elf;
mod skel;
mod stamp;

use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use irqpath_files::{input, owner};
use irqpath_model::Comm;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{Link, UprobeOpts};

use self::skel::{TriggerSkel, TriggerSkelBuilder};
use self::stamp::{FileStamp, leads_to};
use super::complaints::load_error;
use crate::SourceError;

/// Where a program shall stop by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A static probe: provider and name.
    Usdt(String, String),
    /// The first instruction of a function.
    Function(String),
}

/// A probe that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The program or library.
    pub binary: PathBuf,
    /// Where in it.
    pub place: Place,
}

/// A program was there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Which probe, in the order they were asked for.
    pub probe: usize,
    /// How often since the last look.
    pub nr: u64,
    /// When it was last, `CLOCK_MONOTONIC` ns.
    pub ns: u64,
    /// The thread that was last.
    pub tid: u32,
    /// Its name.
    pub comm: Comm,
}

/// Probes that are attached.
pub struct Probes {
    skel: TriggerSkel<'static>,
    attached: Vec<Attached>,
}

struct Attached {
    /// None are left once the binary was written to.
    links: Vec<Link>,
    path: PathBuf,
    /// The binary that was read.
    file: File,
    /// As it was before it was read.
    stamp: FileStamp,
    is_replaced: bool,
    /// How often the probe had been hit at the last look.
    seen: u64,
}

impl Probes {
    /// Attach all of them, in all processes. Needs what tracing needs.
    pub fn open(asked: &[Probe]) -> Result<Self, SourceError> {
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let open = TriggerSkelBuilder::default().open(storage).map_err(load_error)?;
        let skel = open.load().map_err(load_error)?;
        let room = skel.maps.bss_data.as_deref().map_or(0, |bss| bss.ip_probes.len());
        if asked.len() > room {
            let n = asked.len();
            return Err(SourceError::Load(format!("{n} probes; at most {room} are possible")));
        }
        let attached = asked.iter().enumerate().map(|(nr, probe)| attach_probe(&skel, nr, probe));
        let attached = attached.collect::<Result<_, _>>()?;
        Ok(Self { skel, attached })
    }

    /// What was hit since the last look. Hits in a binary that was written to are nobody's: they may
    /// have been of other code.
    pub fn poll_hits(&mut self) -> Vec<Hit> {
        let Some(bss) = self.skel.maps.bss_data.as_deref() else { return Vec::new() };
        let mut hits = Vec::new();
        for (probe, attached) in self.attached.iter_mut().enumerate() {
            if attached.links.is_empty() {
                continue;
            }
            // SAFETY: the slot is within the mapping of the object's data, and plain numbers. The
            // kernel writes to it, so it is read as it is now.
            let slot = unsafe { std::ptr::read_volatile(&raw const bss.ip_probes[probe]) };
            let nr = slot.nr.wrapping_sub(attached.seen);
            if nr == 0 {
                continue;
            }
            attached.seen = slot.nr;
            let words = slot.comm.map(u64::to_ne_bytes).concat();
            let comm = Comm::from_bytes(&words);
            hits.push(Hit { probe, nr, ns: slot.ns, tid: slot.tid, comm });
        }
        hits
    }

    /// The probes whose binary has been replaced since the last call, each once.
    pub fn find_replaced(&mut self) -> Vec<usize> {
        let mut found = Vec::new();
        for (nr, one) in self.attached.iter_mut().enumerate() {
            if !one.is_replaced && !leads_to(&one.path, &one.stamp) {
                one.is_replaced = true;
                found.push(nr);
            }
        }
        found
    }

    /// Detach the probes whose binary has been written to, and tell which these are, each once.
    pub fn detach_rewritten(&mut self) -> Vec<usize> {
        let mut found = Vec::new();
        for (nr, one) in self.attached.iter_mut().enumerate() {
            if !one.links.is_empty() && one.stamp.notice_write(&one.file, &one.path) {
                one.links.clear();
                found.push(nr);
            }
        }
        found
    }
}

fn attach_probe(
    skel: &TriggerSkel<'static>,
    nr: usize,
    probe: &Probe,
) -> Result<Attached, SourceError> {
    let refuse = |reason| SourceError::Probe { path: probe.binary.clone(), reason };
    let (file, stamp) = open_binary(&probe.binary)?;
    let mut links = Vec::new();
    for place in elf::find_places(&file, &probe.place).map_err(refuse)? {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let opts = UprobeOpts {
            ref_ctr_offset: place.semaphore,
            cookie: nr as u64,
            ..UprobeOpts::default()
        };
        let link = skel.progs.ip_uprobe.attach_uprobe_with_opts(-1, path, place.at, opts);
        links.push(link.map_err(|error| refuse(format!("the kernel refused it: {error}")))?);
    }
    let path = probe.binary.clone();
    Ok(Attached { links, path, file, stamp, is_replaced: false, seen: 0 })
}

fn open_binary(path: &Path) -> Result<(File, FileStamp), SourceError> {
    let io = |source| SourceError::Io { path: path.to_owned(), source };
    let file = input::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    let uid = metadata.uid();
    if !owner::is_trusted(uid) {
        let reason = format!("it belongs to {}, who is not you", owner::describe_user(uid));
        return Err(SourceError::Probe { path: path.to_owned(), reason });
    }
    Ok((file, FileStamp::of(&metadata)))
}
