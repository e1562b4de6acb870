// SPDX-License-Identifier: GPL-2.0-or-later
//! Requests to a device, each with the type of its argument.
//!
//! Neighbours: `rtc`, `hpet` and `device` name their requests as constants. The rule to know: the
//! promise about what the kernel does with the argument is made once, where the constant is; a
//! call can then pass nothing else.

#![allow(unsafe_code)] // ioctl; each use says why it is sound

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd as _;

/// What the kernel does with the structure that an argument points to (`_IOW`, `_IOWR`, `_IOR`).
#[derive(Debug, Clone, Copy)]
pub(super) enum Direction {
    Write,
    Read,
    Both,
}

/// The number of a request: `_IOC` of `include/uapi/asm-generic/ioctl.h`.
const fn request_number(direction: u32, size: usize, kind: u8, nr: u8) -> u32 {
    direction << 30 | (size as u32) << 16 | (kind as u32) << 8 | nr as u32
}

fn call_ioctl(file: &File, number: u32, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the descriptor is open. Whoever made the request promised what the kernel does with
    // its argument, and both callers keep to that.
    match unsafe { libc::ioctl(file.as_raw_fd(), number as _, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A request that takes a number, or nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain(u32);

impl Plain {
    /// `_IO`.
    ///
    /// # Safety
    /// The kernel must not take the argument for an address.
    pub const unsafe fn new(kind: u8, nr: u8) -> Self {
        Self(request_number(0, 0, kind, nr))
    }

    /// `_IOW` with an `unsigned long` that is passed itself and not by its address, as some
    /// drivers have it.
    ///
    /// # Safety
    /// The kernel must not take the argument for an address.
    pub const unsafe fn with_long(kind: u8, nr: u8) -> Self {
        Self(request_number(1, size_of::<libc::c_ulong>(), kind, nr))
    }

    pub fn call_plain(self, file: &File, argument: libc::c_ulong) -> io::Result<()> {
        call_ioctl(file, self.0, argument)
    }
}

/// A request that takes the address of a `T`.
#[derive(Debug)]
pub(super) struct Typed<T> {
    number: u32,
    of: PhantomData<fn(T) -> T>,
}

impl<T> Typed<T> {
    /// `_IOR`, `_IOW` or `_IOWR`.
    ///
    /// # Safety
    /// The kernel must take the argument for the address of a `T`, which any bytes that it writes
    /// there must be.
    pub const unsafe fn new(direction: Direction, kind: u8, nr: u8) -> Self {
        let direction = match direction {
            Direction::Write => 1,
            Direction::Read => 2,
            Direction::Both => 3,
        };
        Self { number: request_number(direction, size_of::<T>(), kind, nr), of: PhantomData }
    }

    pub fn call_with(&self, file: &File, argument: &mut T) -> io::Result<()> {
        call_ioctl(file, self.number, &raw mut *argument as libc::c_ulong)
    }

    pub const fn number(&self) -> u32 {
        self.number
    }
}

impl Plain {
    pub const fn number(self) -> u32 {
        self.0
    }
}
