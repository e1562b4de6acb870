// SPDX-License-Identifier: GPL-2.0-or-later
//! `/dev/intsight`: the test device of the kernel module, which stamps the cycle counter just
//! before it raises its interrupt.
//!
//! The structures are those of `kernel/module/intsight/intsight_uapi.h`, and the tests compare
//! them; a size that is not the module's is refused by it.

#![allow(unsafe_code)] // requests and plain structures; each use says why it is sound

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ioctl::{Direction, Plain, Typed};
use super::{RespondError, SourceFacts, Waiter, Woken};
use crate::ticks::read_counter;

const NAME: &str = "/dev/intsight";
const ADVICE: &str =
    "load the kernel module with modprobe intsight nr_devices=1, docs/test-device.md says how";

#[repr(C)]
#[derive(Debug, Default)]
struct Info {
    size: u32,
    flags: u32,
    index: u32,
    mode: u32,
    irq: u32,
    intruder_irq: u32,
    cycles_khz: u64,
    reserved: [u64; 2],
}

#[repr(C)]
#[derive(Debug, Default)]
struct Arm {
    size: u32,
    flags: u32,
    delay_ns: u64,
    period_ns: u64,
    count: u64,
    reserved: [u64; 2],
}

#[repr(C)]
#[derive(Debug, Default)]
struct Event {
    size: u32,
    flags: u32,
    seq: u64,
    missed: u64,
    due_ns: u64,
    raise: u64,
    primary: u64,
    handler: u64,
    wake: u64,
    resumed: u64,
    task: u64,
    raise_cpu: u32,
    handler_cpu: u32,
    task_cpu: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Debug, Default)]
struct Counts {
    size: u32,
    flags: u32,
    expired: u64,
    raised: u64,
    handled: u64,
    overruns: u64,
    spurious: u64,
    read: u64,
}

// SAFETY: it reads and writes this structure, which has integers only.
const INFO: Typed<Info> = unsafe { Typed::new(Direction::Both, b'i', 0xc0) };
// SAFETY: it reads this structure.
const ARM: Typed<Arm> = unsafe { Typed::new(Direction::Write, b'i', 0xc2) };
// SAFETY: it takes no argument.
const DISARM: Plain = unsafe { Plain::new(b'i', 0xc3) };
// SAFETY: it reads and writes this structure, which has integers only.
const COUNTS: Typed<Counts> = unsafe { Typed::new(Direction::Both, b'i', 0xc8) };

/// What a measuring thread asks of it.
pub(crate) const REQUESTS: [u32; 3] = [ARM.number(), DISARM.number(), COUNTS.number()];

pub(super) struct Device {
    path: PathBuf,
    file: File,
    info: Info,
    period_ns: u64,
    /// Raises that did not happen because the one before was not handled, before this test.
    nr_overruns: u64,
}

impl Device {
    pub(super) fn open(device: Option<&Path>, period: Duration) -> Result<Self, RespondError> {
        let path = device.unwrap_or(Path::new(NAME)).to_owned();
        let file = File::options().read(true).write(true).open(&path);
        let file = file.map_err(|error| RespondError::open(path.clone(), error, ADVICE))?;
        let mut info = Info { size: size_of::<Info>() as u32, ..Info::default() };
        INFO.call_with(&file, &mut info).map_err(|source| RespondError::Device {
            path: path.clone(),
            what: "describe itself".to_owned(),
            advice: "use the module of this irqpath",
            source,
        })?;
        let mut device =
            Self { path, file, info, period_ns: period.as_nanos() as u64, nr_overruns: 0 };
        device.nr_overruns = device.read_overruns().unwrap_or(0);
        Ok(device)
    }

    fn read_overruns(&self) -> io::Result<u64> {
        let mut counts = Counts { size: size_of::<Counts>() as u32, ..Counts::default() };
        COUNTS.call_with(&self.file, &mut counts)?;
        Ok(counts.overruns)
    }

    fn cycles_to_ns(&self, cycles: u64) -> u64 {
        (u128::from(cycles) * 1_000_000 / u128::from(self.info.cycles_khz.max(1))) as u64
    }
}

impl Waiter for Device {
    fn source_facts(&self) -> SourceFacts {
        let how = if self.info.mode == 0 { "as drivers do" } else { "woken from hardirq" };
        SourceFacts {
            origin: format!("{} (irq {}, {how})", self.path.display(), self.info.irq),
            lines: vec![format!("intsight{}", self.info.index)],
            period_ns: self.period_ns,
        }
    }

    fn start_interrupts(&mut self) -> Result<(), RespondError> {
        let size = size_of::<Arm>() as u32;
        let (delay_ns, period_ns) = (self.period_ns, self.period_ns);
        let mut arm = Arm { size, delay_ns, period_ns, ..Arm::default() };
        ARM.call_with(&self.file, &mut arm).map_err(|source| RespondError::Device {
            path: self.path.clone(),
            what: "be armed".to_owned(),
            advice: "it may be in use, and takes at most 100 000 interrupts a second",
            source,
        })
    }

    fn wait_for_interrupt(&mut self) -> io::Result<Woken> {
        let mut event = Event::default();
        // SAFETY: the structure has only integers, so that any bytes are a value of it, and the
        // length is its own.
        let got = unsafe {
            libc::read(self.file.as_raw_fd(), (&raw mut event).cast(), size_of::<Event>())
        };
        let now = read_counter().unwrap_or(0);
        match got {
            -1 => return Err(io::Error::last_os_error()),
            n if n as usize != size_of::<Event>() => {
                return Err(io::Error::other("the event has another size"));
            }
            _ => {}
        }
        let ns = now.checked_sub(event.raise).map(|cycles| self.cycles_to_ns(cycles));
        Ok(Woken { ns: ns.unwrap_or(0), nr_missed: event.missed, is_early: ns.is_none() })
    }

    fn stop_interrupts(&mut self) -> u64 {
        // Closing the device does the same.
        let _ = DISARM.call_plain(&self.file, 0);
        self.read_overruns().unwrap_or(0).saturating_sub(self.nr_overruns)
    }
}

#[cfg(test)]
mod tests;
