// SPDX-License-Identifier: GPL-2.0-or-later
//! `/dev/hpet`: a comparator of the HPET interrupts periodically, and the task reads the HPET's
//! counter through mmap as soon as it runs.
//!
//! This is the test of the document's timer card on hardware that every PC has: the device itself
//! says how long ago it raised its interrupt. Registers are those of the IA-PC HPET specification,
//! 1.0a; the requests are those of `include/uapi/linux/hpet.h`.

#![allow(unsafe_code)] // requests, mmap and device registers; each use says why it is sound

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::ioctl::{Direction, Plain, Typed};
use super::{RespondError, SourceFacts, Waiter, Woken};

/// What one block of registers takes, bytes; the driver maps a page.
const REGISTERS: usize = 1024;

// Offsets of registers.
const PERIOD_FS: usize = 0x004;
const COUNTER: usize = 0x0f0;
const TIMERS: usize = 0x100;
const TIMER_SIZE: usize = 0x20;
const COMPARATOR: usize = 0x08;

// SAFETY: it takes no argument (drivers/char/hpet.c).
const HPET_IE_ON: Plain = unsafe { Plain::new(b'h', 0x01) };
// SAFETY: as above.
const HPET_IE_OFF: Plain = unsafe { Plain::new(b'h', 0x02) };
// SAFETY: it writes a struct hpet_info, which has integers only.
const HPET_INFO: Typed<HpetInfo> = unsafe { Typed::new(Direction::Read, b'h', 0x03) };
// SAFETY: it takes no argument.
const HPET_EPI: Plain = unsafe { Plain::new(b'h', 0x04) };
// SAFETY: it takes the rate itself.
const HPET_IRQFREQ: Plain = unsafe { Plain::with_long(b'h', 0x06) };

/// What a measuring thread asks of it.
pub(crate) const REQUESTS: [u32; 2] = [HPET_IE_ON.number(), HPET_IE_OFF.number()];

const NAME: &str = "/dev/hpet";
const ADVICE: &str = "this machine has no HPET, or its kernel no driver for it (CONFIG_HPET)";

#[repr(C)]
#[derive(Debug, Default)]
struct HpetInfo {
    irq_freq: libc::c_ulong,
    flags: libc::c_ulong,
    hpet: u16,
    timer: u16,
}

/// The mapped registers, read only.
struct Registers(NonNull<u32>);

// SAFETY: the mapping belongs to the process and is only read.
unsafe impl Send for Registers {}

impl Registers {
    fn map_registers(file: &File) -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choice touches no memory of ours.
        let at = unsafe {
            mmap(std::ptr::null_mut(), REGISTERS, ProtFlags::READ, MapFlags::SHARED, file, 0)
        }?;
        NonNull::new(at.cast()).map(Self).ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    fn read(&self, offset: usize) -> u32 {
        assert!(offset + 4 <= REGISTERS && offset.is_multiple_of(4));
        // SAFETY: within the mapping and aligned, which was just checked; device registers have
        // to be read as volatile.
        unsafe { self.0.as_ptr().add(offset / 4).read_volatile() }
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody else knows the address.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), REGISTERS) };
    }
}

/// A comparator that belongs to us while the device is open.
pub(super) struct Hpet {
    path: PathBuf,
    file: File,
    registers: Registers,
    timer: usize,
    /// Length of a tick, fs.
    tick_fs: u32,
    period_ticks: u32,
    /// The counter at the last match that was answered.
    last: u32,
}

impl Hpet {
    pub(super) fn open(device: Option<&Path>, hz: f64) -> Result<Self, RespondError> {
        let path = device.unwrap_or(Path::new(NAME)).to_owned();
        let whole = hz as libc::c_ulong;
        if hz.fract() != 0.0 || whole == 0 {
            let advice = "it takes a whole number of interrupts per second";
            return Err(RespondError::Rate { what: "an HPET", hz, advice });
        }
        let file = File::open(&path);
        let file = file.map_err(|error| RespondError::open(path.clone(), error, ADVICE))?;
        let fail = |what: &str, advice, source| RespondError::Device {
            path: path.clone(),
            what: what.to_owned(),
            advice,
            source,
        };
        let registers = Registers::map_registers(&file).map_err(|source| {
            fail("be mapped", "boot with hpet_mmap=1 (CONFIG_HPET_MMAP)", source)
        })?;
        let mut info = HpetInfo::default();
        HPET_INFO
            .call_with(&file, &mut info)
            .map_err(|source| fail("describe itself", "check that it is an HPET", source))?;
        HPET_IRQFREQ.call_plain(&file, whole).map_err(|source| {
            let advice = "more than dev.hpet.max-user-freq need CAP_SYS_RESOURCE: run with sudo";
            fail("set this rate", advice, source)
        })?;
        HPET_EPI.call_plain(&file, 0).map_err(|source| {
            fail("interrupt periodically", "its free comparator is not periodic", source)
        })?;
        let tick_fs = registers.read(PERIOD_FS).max(1);
        let period_ticks = period_ticks(tick_fs, whole as u64);
        let timer = usize::from(info.timer);
        Ok(Self { path, file, registers, timer, tick_fs, period_ticks, last: 0 })
    }

    fn read_comparator(&self) -> u32 {
        self.registers.read(TIMERS + TIMER_SIZE * self.timer + COMPARATOR)
    }

    fn ticks_to_ns(&self, ticks: u32) -> u64 {
        (u128::from(ticks) * u128::from(self.tick_fs) / 1_000_000) as u64
    }
}

/// The period as the driver rounds it (`hpet_time_div`).
pub(super) fn period_ticks(tick_fs: u32, hz: u64) -> u32 {
    const FS: u64 = 1_000_000_000_000_000;
    let tick_fs = u64::from(tick_fs);
    let tick_hz = (FS + tick_fs / 2) / tick_fs;
    ((tick_hz + hz / 2) / hz).clamp(1, u64::from(u32::MAX)) as u32
}

/// Ticks since the first match that was not answered, and how many matches were missed; also the
/// newest match. `next` is what the comparator waits for, `last` the match answered before.
pub(super) fn find_lateness(counter: u32, next: u32, last: u32, period: u32) -> (u32, u64, u32) {
    let mut newest = next.wrapping_sub(period);
    // Another match between the reads of counter and comparator: it is answered next time.
    if counter.wrapping_sub(newest) > u32::MAX / 2 {
        newest = newest.wrapping_sub(period);
    }
    let nr = (newest.wrapping_sub(last).wrapping_add(period / 2) / period).max(1);
    let first = newest.wrapping_sub((nr - 1).wrapping_mul(period));
    (counter.wrapping_sub(first), u64::from(nr - 1), newest)
}

impl Waiter for Hpet {
    fn source_facts(&self) -> SourceFacts {
        SourceFacts {
            origin: format!("timer {} of {}", self.timer, self.path.display()),
            // drivers/char/hpet.c: "hpet%d" with the number of the timer.
            lines: vec![format!("hpet{}", self.timer)],
            period_ns: self.ticks_to_ns(self.period_ticks),
        }
    }

    fn start_interrupts(&mut self) -> Result<(), RespondError> {
        HPET_IE_ON.call_plain(&self.file, 0).map_err(|source| RespondError::Device {
            path: self.path.clone(),
            what: "interrupt".to_owned(),
            advice: "it has no free interrupt line; see the kernel's log",
            source,
        })?;
        self.last = self.read_comparator().wrapping_sub(self.period_ticks);
        Ok(())
    }

    fn wait_for_interrupt(&mut self) -> io::Result<Woken> {
        let mut nr = [0_u8; size_of::<libc::c_ulong>()];
        // Not read_exact: it waits on when a signal comes, so that nothing could end a wait for an
        // interrupt that never comes.
        if self.file.read(&mut nr)? != nr.len() {
            return Err(io::Error::other("the count of interrupts has another size"));
        }
        let counter = self.registers.read(COUNTER);
        let next = self.read_comparator();
        let (ticks, nr_missed, newest) = find_lateness(counter, next, self.last, self.period_ticks);
        self.last = newest;
        Ok(Woken { ns: self.ticks_to_ns(ticks), nr_missed, is_early: false })
    }

    fn stop_interrupts(&mut self) -> u64 {
        // Closing the device does the same.
        let _ = HPET_IE_OFF.call_plain(&self.file, 0);
        0
    }
}
