// SPDX-License-Identifier: GPL-2.0-or-later
//! Which kernel threads wake which real-time tasks: the small object for `tune --watch`.
//!
//! It is attached beside the tasks that it serves, for as long as something may be learned, so it
//! counts pairs and nothing else (`bpf/learn.bpf.c`). The counts lie in memory that the kernel shares with this process; to
//! read them takes no system call. The rule to know: both sides change them at any time, so every
//! access is atomic, and only this side frees a slot.

#![allow(unsafe_code)] // counts in shared memory; each use says why it is sound

mod skel;

use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use libbpf_rs::Link;
use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};

use self::skel::{LearnSkel, LearnSkelBuilder};
use super::complaints::{self, load_error};
use super::load::BTF_PATH;
use crate::SourceError;

/// A kernel thread and a task that it woke. Interrupts that came while the thread ran do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The thread that woke it.
    pub waker_tid: u32,
    /// The task, which was real-time.
    pub wakee_tid: u32,
    /// Wakeups since the last look.
    pub nr: u32,
}

/// The small object, loaded. Dropping it detaches.
pub struct Pairs {
    skel: LearnSkel<'static>,
    link: Option<Link>,
    nr_news: u64,
}

impl Pairs {
    /// Load and attach. Needs what tracing needs. With `kernel_wakees`, real-time kernel threads count
    /// as tasks, too.
    pub fn open(kernel_wakees: bool) -> Result<Self, SourceError> {
        if !Path::new(BTF_PATH).exists() {
            return Err(SourceError::NoBtf(BTF_PATH.into()));
        }
        complaints::start_listening();
        // The skeleton borrows this for as long as it lives, which is as long as the process.
        let storage = Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = LearnSkelBuilder::default().open(storage).map_err(load_error)?;
        let rodata = open.maps.rodata_data.as_deref_mut().expect("the object has constants");
        rodata.ip_kernel_wakees = u8::from(kernel_wakees);
        let skel = open.load().map_err(load_error)?;
        let mut pairs = Self { skel, link: None, nr_news: 0 };
        pairs.attach()?;
        Ok(pairs)
    }

    /// Count from now on. Patches the kernel's code, which interrupts every CPU, and so does the end.
    pub fn attach(&mut self) -> Result<(), SourceError> {
        if self.link.is_none() {
            let link = self.skel.progs.ip_sched_waking.attach_trace().map_err(load_error)?;
            self.link = Some(link);
            self.take_counts();
        }
        Ok(())
    }

    /// Cost nothing until [`Self::attach`].
    pub fn detach(&mut self) {
        self.link = None;
    }

    /// True while wakeups are counted.
    pub fn is_attached(&self) -> bool {
        self.link.is_some()
    }

    /// True if since the last call an interrupt's thread that is ordinary has begun to serve a task.
    pub fn has_news(&mut self) -> bool {
        let bss = self.skel.maps.bss_data.as_deref_mut().expect("the object has variables");
        // SAFETY: an aligned number within the mapping of the object's data, which the exclusive
        // borrow keeps; the kernel accesses it atomically, too.
        let now = unsafe { AtomicU64::from_ptr(&raw mut bss.ip_news) }.load(Ordering::Relaxed);
        std::mem::replace(&mut self.nr_news, now) != now
    }

    /// The pairs that were seen since the last call; a pair may be there twice.
    pub fn take_counts(&mut self) -> Vec<Pair> {
        let bss = self.skel.maps.bss_data.as_deref_mut().expect("the object has variables");
        let mut found = Vec::new();
        for slot in &mut bss.ip_pairs {
            // SAFETY: both are aligned numbers within the mapping of the object's data, which the
            // exclusive borrow keeps; the kernel accesses them atomically, too.
            let (key, nr) = unsafe {
                (AtomicU64::from_ptr(&raw mut slot.key), AtomicU32::from_ptr(&raw mut slot.nr))
            };
            let mut pair = key.load(Ordering::Relaxed);
            if pair == 0 {
                continue;
            }
            let mut taken = nr.swap(0, Ordering::Relaxed);
            if taken == 0 {
                key.store(0, Ordering::Release);
                // Of a program that had found the key before, or of the slot's next pair.
                taken = nr.swap(0, Ordering::Acquire);
                pair = match key.load(Ordering::Relaxed) {
                    0 => pair,
                    next => next,
                };
            }
            if taken > 0 {
                let (waker_tid, wakee_tid) = ((pair >> 32) as u32, pair as u32);
                found.push(Pair { waker_tid, wakee_tid, nr: taken });
            }
        }
        found
    }

    /// Wakeups so far that found no slot.
    pub fn nr_lost(&mut self) -> u64 {
        let bss = self.skel.maps.bss_data.as_deref_mut().expect("the object has variables");
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(&raw mut bss.ip_pairs_lost) }.load(Ordering::Relaxed)
    }
}
