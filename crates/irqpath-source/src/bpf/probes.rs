// SPDX-License-Identifier: GPL-2.0-or-later
//! Probes in programs, as triggers: static ones (USDT) and functions.
//!
//! A binary may be a stranger's, and this process has privileges: it is read by `elf`, in memory-safe
//! code, and only if root or the caller owns it. The kernel gets a place in the file that was read
//! (`/proc/self/fd`), not a name that may have come to mean another file.
//!
//! The kernel follows the file, not its name. Once the binary is replaced, processes that run the old
//! one still trigger and those that start later do not: [`Probes::find_replaced`] tells.

#![allow(unsafe_code)] // the types of the skeleton; each use says why it is sound

mod elf;
mod skel;

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
    _links: Vec<Link>,
    /// Each binary, and the file that it was.
    binaries: Vec<(PathBuf, File)>,
    /// How often each had been hit at the last look.
    seen: Vec<u64>,
    is_replaced: Vec<bool>,
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
        let (mut links, mut binaries) = (Vec::new(), Vec::new());
        for (nr, probe) in asked.iter().enumerate() {
            let file = open_binary(&probe.binary)?;
            let found = elf::find_places(&file, &probe.place)
                .map_err(|reason| SourceError::Probe { path: probe.binary.clone(), reason })?;
            for place in found {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                let opts = UprobeOpts {
                    ref_ctr_offset: place.semaphore,
                    cookie: nr as u64,
                    ..UprobeOpts::default()
                };
                let link = skel.progs.ip_uprobe.attach_uprobe_with_opts(-1, path, place.at, opts);
                links.push(link.map_err(|error| SourceError::Probe {
                    path: probe.binary.clone(),
                    reason: format!("the kernel refused it: {error}"),
                })?);
            }
            binaries.push((probe.binary.clone(), file));
        }
        let (seen, is_replaced) = (vec![0; asked.len()], vec![false; asked.len()]);
        Ok(Self { skel, _links: links, binaries, seen, is_replaced })
    }

    /// What was hit since the last look.
    pub fn poll_hits(&mut self) -> Vec<Hit> {
        let Some(bss) = self.skel.maps.bss_data.as_deref() else { return Vec::new() };
        let mut hits = Vec::new();
        for (probe, seen) in self.seen.iter_mut().enumerate() {
            // SAFETY: the slot is within the mapping of the object's data, and plain numbers. The
            // kernel writes to it, so it is read as it is now.
            let slot = unsafe { std::ptr::read_volatile(&raw const bss.ip_probes[probe]) };
            let nr = slot.nr.wrapping_sub(*seen);
            if nr == 0 {
                continue;
            }
            *seen = slot.nr;
            let words = slot.comm.map(u64::to_ne_bytes).concat();
            let comm = Comm::from_bytes(&words);
            hits.push(Hit { probe, nr, ns: slot.ns, tid: slot.tid, comm });
        }
        hits
    }

    /// The probes whose binary has been replaced since the last call, each once.
    pub fn find_replaced(&mut self) -> Vec<usize> {
        let mut found = Vec::new();
        for (nr, (path, file)) in self.binaries.iter().enumerate() {
            if !self.is_replaced[nr] && !is_same(path, file) {
                self.is_replaced[nr] = true;
                found.push(nr);
            }
        }
        found
    }
}

fn is_same(path: &Path, file: &File) -> bool {
    let (Ok(now), Ok(then)) = (path.metadata(), file.metadata()) else { return false };
    (now.dev(), now.ino(), now.size()) == (then.dev(), then.ino(), then.size())
}

fn open_binary(path: &Path) -> Result<File, SourceError> {
    let io = |source| SourceError::Io { path: path.to_owned(), source };
    let file = input::open(path).map_err(io)?;
    let uid = file.metadata().map_err(io)?.uid();
    if !owner::is_trusted(uid) {
        let reason = format!("it belongs to {}, who is not you", owner::describe_user(uid));
        return Err(SourceError::Probe { path: path.to_owned(), reason });
    }
    Ok(file)
}
