// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel's own timers: `clock_nanosleep` until absolute times, and a periodic timerfd.
//!
//! Both expire by the high resolution timer of this CPU, and the latency is measured from the
//! programmed expiry. A return that is later than the next expiry misses it: that one is counted
//! and not waited for, and the late return is measured from the first expiry it missed.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{RespondError, SourceFacts, Waiter, Woken};
use crate::realtime::now_ns;

fn to_timespec(ns: u64) -> Timespec {
    let duration = Duration::from_nanos(ns);
    Timespec {
        tv_sec: duration.as_secs().cast_signed(),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

/// How late `now_ns` is after an expiry, and how many more have gone by since.
pub(super) fn find_lateness(due_ns: u64, now_ns: u64, period_ns: u64) -> Woken {
    match now_ns.checked_sub(due_ns) {
        Some(ns) => Woken { ns, nr_missed: ns / period_ns, is_early: false },
        None => Woken { is_early: true, ..Woken::default() },
    }
}

/// `clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME)`.
pub(super) struct Sleep {
    period_ns: u64,
    next_ns: u64,
}

impl Sleep {
    pub(super) fn new(period: Duration) -> Self {
        Self { period_ns: period.as_nanos() as u64, next_ns: 0 }
    }
}

impl Waiter for Sleep {
    fn source_facts(&self) -> SourceFacts {
        SourceFacts {
            origin: "hrtimer of clock_nanosleep".to_owned(),
            lines: Vec::new(),
            period_ns: self.period_ns,
        }
    }

    fn start_interrupts(&mut self) -> Result<(), RespondError> {
        self.next_ns = now_ns() + self.period_ns;
        Ok(())
    }

    fn wait_for_interrupt(&mut self) -> io::Result<Woken> {
        clock_nanosleep_absolute(ClockId::Monotonic, &to_timespec(self.next_ns))?;
        let woken = find_lateness(self.next_ns, now_ns(), self.period_ns);
        self.next_ns += self.period_ns * (1 + woken.nr_missed);
        Ok(woken)
    }

    fn stop_interrupts(&mut self) -> u64 {
        0
    }
}

/// A periodic timerfd that is read.
pub(super) struct Descriptor {
    timer: OwnedFd,
    period_ns: u64,
    next_ns: u64,
}

impl Descriptor {
    pub(super) fn new(period: Duration) -> Result<Self, RespondError> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
            .map_err(|error| RespondError::Thread(error.into()))?;
        Ok(Self { timer, period_ns: period.as_nanos() as u64, next_ns: 0 })
    }

    fn set_timer(&self, at_ns: u64, period_ns: u64) -> io::Result<()> {
        let when = Itimerspec { it_value: to_timespec(at_ns), it_interval: to_timespec(period_ns) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &when)?;
        Ok(())
    }
}

impl Waiter for Descriptor {
    fn source_facts(&self) -> SourceFacts {
        SourceFacts {
            origin: "hrtimer of a timerfd".to_owned(),
            lines: Vec::new(),
            period_ns: self.period_ns,
        }
    }

    fn start_interrupts(&mut self) -> Result<(), RespondError> {
        self.next_ns = now_ns() + self.period_ns;
        self.set_timer(self.next_ns, self.period_ns).map_err(RespondError::Wait)
    }

    fn wait_for_interrupt(&mut self) -> io::Result<Woken> {
        let mut nr = [0_u8; 8];
        rustix::io::read(&self.timer, &mut nr)?;
        let now_ns = now_ns();
        // What the kernel counted is what this read consumed; what expires after it is read next.
        let nr_expired = u64::from_ne_bytes(nr).max(1);
        let woken = find_lateness(self.next_ns, now_ns, self.period_ns);
        self.next_ns += self.period_ns * nr_expired;
        Ok(Woken { nr_missed: nr_expired - 1, ..woken })
    }

    fn stop_interrupts(&mut self) -> u64 {
        // It goes with the descriptor anyway.
        let _ = self.set_timer(0, 0);
        0
    }
}
