// SPDX-License-Identifier: GPL-2.0-or-later
//! An array of the kernel's in this process's memory, to read it without a system call for each
//! entry.

#![allow(unsafe_code, clippy::cast_ptr_alignment)] // mmap, and copies out of it; each use says why it is sound

use std::io;
use std::os::fd::AsFd as _;
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use libbpf_rs::{MapCore, MapMut};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::super::skel::Plain;

/// A mapped array. The kernel writes to it while it is read.
pub struct Mapped {
    start: NonNull<u8>,
    len: usize,
    stride: usize,
    nr_entries: usize,
}

impl Mapped {
    /// Map a whole array, which must have been made with `BPF_F_MMAPABLE`.
    pub fn new(map: &MapMut<'_>) -> io::Result<Self> {
        // As the kernel lays entries out.
        let stride = (map.value_size() as usize).next_multiple_of(8);
        let nr_entries = map.max_entries() as usize;
        let len = stride * nr_entries;
        // SAFETY: a new mapping at a place that the kernel chooses; it overlaps nothing of ours.
        let start = unsafe {
            mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, map.as_fd(), 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len, stride, nr_entries })
    }

    /// Bytes of it, which the kernel puts into this process's page table at once.
    pub fn nr_bytes(&self) -> u64 {
        self.len as u64
    }

    pub fn nr_entries(&self) -> usize {
        self.nr_entries
    }

    /// A copy of one entry, which the kernel may be writing: the caller finds out by its content.
    pub fn read<T: Plain>(&self, at: usize) -> Option<T> {
        if at >= self.nr_entries || size_of::<T>() > self.stride {
            return None;
        }
        // SAFETY: the entry lies within the mapping, which lives as long as `self`; any bytes are a
        // value of T. Bytes that change meanwhile make a value that is mixed, never an invalid one.
        let value = unsafe {
            ptr::read_volatile(self.start.as_ptr().add(at * self.stride).cast::<Aligned<T>>())
        };
        fence(Ordering::Acquire);
        Some(value.0)
    }

    /// The word at `offset` of an entry; 0 beyond the array.
    pub fn read_word(&self, at: usize, offset: usize) -> u64 {
        if at >= self.nr_entries
            || offset + size_of::<u64>() > self.stride
            || !offset.is_multiple_of(8)
        {
            return 0;
        }
        // SAFETY: the word lies within the entry, which lies within the mapping. Both it and the
        // offset are aligned to eight bytes, so the word is read at once.
        let Aligned(word) = unsafe {
            let start = self.start.as_ptr().add(at * self.stride + offset);
            ptr::read_volatile(start.cast::<Aligned<u64>>())
        };
        fence(Ordering::Acquire);
        word
    }
}

/// Entries begin at a multiple of eight bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Aligned<T>(T);

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
