// SPDX-License-Identifier: GPL-2.0-or-later
//! `/dev/rtc`: the periodic interrupt of the real-time clock, and its update interrupt at 1 Hz.
//!
//! Nobody can say when the clock raised its interrupt. What is measured is therefore what
//! an interval between two returns took longer than the period. Since Linux 2.6.38 the RTC core
//! stands in for the periodic interrupt with a high resolution timer (`drivers/rtc/interface.c`,
//! `rtc_pie_update_irq`); only the update interrupt (an alarm every second) may be the chip's own.
//! Which it was shows in the count of the chip's interrupt line.

#![allow(unsafe_code)] // the promises about requests; each says why it holds

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::ioctl::Plain;
use super::{RespondError, SourceFacts, Waiter, Woken};
use crate::realtime::now_ns;

/// Fastest rate that the RTC core takes (`RTC_MAX_FREQ`), Hz.
const MAX_HZ: u64 = 8192;

// include/uapi/linux/rtc.h
// SAFETY: these four take no argument (drivers/rtc/dev.c).
const RTC_UIE_ON: Plain = unsafe { Plain::new(b'p', 0x03) };
// SAFETY: as above.
const RTC_UIE_OFF: Plain = unsafe { Plain::new(b'p', 0x04) };
// SAFETY: as above.
const RTC_PIE_ON: Plain = unsafe { Plain::new(b'p', 0x05) };
// SAFETY: as above.
const RTC_PIE_OFF: Plain = unsafe { Plain::new(b'p', 0x06) };
// SAFETY: it takes the rate itself.
const RTC_IRQP_SET: Plain = unsafe { Plain::with_long(b'p', 0x0c) };

/// What a measuring thread asks of it.
pub(crate) const REQUESTS: [u32; 4] =
    [RTC_UIE_ON.number(), RTC_UIE_OFF.number(), RTC_PIE_ON.number(), RTC_PIE_OFF.number()];

const NAMES: [&str; 2] = ["/dev/rtc0", "/dev/rtc"];
const ADVICE: &str = "the kernel found no real-time clock (CONFIG_RTC_CLASS); use --source timer";

pub(super) struct Rtc {
    path: PathBuf,
    file: File,
    hz: u64,
    last_ns: u64,
}

impl Rtc {
    pub(super) fn open(device: Option<&Path>, asked_hz: f64) -> Result<Self, RespondError> {
        let hz = asked_hz as u64;
        if asked_hz.fract() != 0.0 || !hz.is_power_of_two() || hz > MAX_HZ {
            return Err(RespondError::Rate {
                what: "an RTC",
                hz: asked_hz,
                advice: "it has 2, 4, 8 and so on to 8192 Hz, and 1 Hz by its update interrupt",
            });
        }
        let usual = NAMES.map(Path::new).into_iter().find(|path| path.exists());
        let path = device.or(usual).unwrap_or(Path::new(NAMES[0])).to_owned();
        let file = File::open(&path);
        let file = file.map_err(|error| RespondError::open(path.clone(), error, ADVICE))?;
        let rtc = Self { path, file, hz, last_ns: 0 };
        if hz > 1 {
            rtc.send_request(RTC_IRQP_SET, hz, "set this rate")?;
        }
        Ok(rtc)
    }

    fn send_request(&self, request: Plain, argument: u64, what: &str) -> Result<(), RespondError> {
        request.call_plain(&self.file, argument as libc::c_ulong).map_err(|source| {
            RespondError::Device {
                path: self.path.clone(),
                what: what.to_owned(),
                advice: match source.raw_os_error() {
                    Some(libc::EACCES) => {
                        "more than 64 Hz need CAP_SYS_RESOURCE: run with sudo, or ask for less"
                    }
                    _ => "this clock has no such interrupt; try another rate, or --source timer",
                },
                source,
            }
        })
    }

    fn interrupt_requests(&self) -> (Plain, Plain) {
        if self.hz == 1 { (RTC_UIE_ON, RTC_UIE_OFF) } else { (RTC_PIE_ON, RTC_PIE_OFF) }
    }
}

impl Waiter for Rtc {
    fn source_facts(&self) -> SourceFacts {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let which = if self.hz == 1 { "update" } else { "periodic" };
        SourceFacts {
            origin: format!("{which} interrupt of {}", self.path.display()),
            // drivers/rtc/rtc-cmos.c names its line after the device.
            lines: vec![if name == "rtc" { "rtc0".to_owned() } else { name }],
            period_ns: 1_000_000_000 / self.hz,
        }
    }

    fn start_interrupts(&mut self) -> Result<(), RespondError> {
        self.send_request(self.interrupt_requests().0, 0, "interrupt")?;
        // The first return tells where the periods begin.
        let mut count = [0_u8; size_of::<libc::c_ulong>()];
        match self.file.read(&mut count) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(RespondError::Wait(error));
            }
            _ => self.last_ns = now_ns(),
        }
        Ok(())
    }

    fn wait_for_interrupt(&mut self) -> io::Result<Woken> {
        let mut word = [0_u8; size_of::<libc::c_ulong>()];
        let len = self.file.read(&mut word)?;
        let now_ns = now_ns();
        let word = libc::c_ulong::from_ne_bytes(word);
        // The low byte says what kind of interrupt it was, the rest how many.
        let nr = if len == word.to_ne_bytes().len() { (word >> 8).max(1) } else { 1 };
        let beyond = (now_ns - self.last_ns).checked_sub(1_000_000_000 / self.hz);
        self.last_ns = now_ns;
        Ok(Woken { ns: beyond.unwrap_or(0), nr_missed: nr - 1, is_early: beyond.is_none() })
    }

    fn stop_interrupts(&mut self) -> u64 {
        // Closing the device does the same.
        let _ = self.interrupt_requests().1.call_plain(&self.file, 0);
        0
    }
}
