// SPDX-License-Identifier: GPL-2.0-or-later
//! The rate of a cycle counter that user space can read, measured against `CLOCK_MONOTONIC`
//! while something else goes on. The longer that takes, the more exact it is.

#![allow(unsafe_code)] // reading the counters; each use says why it is sound

use irqpath_model::bench::{Clock, ClockRate, RateSource};

use crate::realtime::now_ns;

/// A shorter measurement is not used: reading both clocks takes some 100 ns.
const MIN_NS: u64 = 50_000_000;

/// How often both clocks are read at each end; the tightest pair counts.
const NR_TRIES: usize = 16;

/// One moment by both clocks.
#[derive(Debug, Clone, Copy)]
struct Moment {
    ticks: u64,
    ns: u64,
}

/// A measurement that goes on.
#[derive(Debug)]
pub struct TickMeter {
    start: Moment,
}

impl TickMeter {
    /// The counter of this architecture that [`TickMeter`] can measure.
    pub const CLOCK: Option<Clock> = if cfg!(target_arch = "x86_64") {
        Some(Clock::Tsc)
    } else if cfg!(target_arch = "aarch64") {
        Some(Clock::Cntvct)
    } else {
        None
    };

    /// Start; `None` on an architecture without such a counter.
    pub fn start() -> Option<Self> {
        read_moment().map(|start| Self { start })
    }

    /// The rate since the start; `None` if that is too short or the counter stood still.
    pub fn measure_rate(&self) -> Option<ClockRate> {
        let end = read_moment()?;
        let ns = end.ns.checked_sub(self.start.ns).filter(|&ns| ns >= MIN_NS)?;
        let ticks = end.ticks.checked_sub(self.start.ticks)?;
        let hz = (u128::from(ticks) * 1_000_000_000 + u128::from(ns / 2)) / u128::from(ns);
        let hz = u64::try_from(hz).ok().filter(|&hz| hz > 0)?;
        Some(ClockRate { hz, source: RateSource::Given })
    }
}

fn read_moment() -> Option<Moment> {
    let read = |_| {
        let before = read_counter()?;
        let ns = now_ns();
        let after = read_counter()?;
        let width = after.saturating_sub(before);
        Some((width, Moment { ticks: before + width / 2, ns }))
    };
    let moments = (0..NR_TRIES).map(read).collect::<Option<Vec<_>>>()?;
    moments.into_iter().min_by_key(|(width, _)| *width).map(|(_, moment)| moment)
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::unnecessary_wraps)] // not every architecture has one
pub(crate) fn read_counter() -> Option<u64> {
    // SAFETY: every x86-64 CPU has the instruction, and Linux lets user space use it.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(target_arch = "aarch64")]
#[allow(clippy::unnecessary_wraps)] // not every architecture has one
pub(crate) fn read_counter() -> Option<u64> {
    let ticks: u64;
    // SAFETY: reads a register that Linux lets user space read on arm64; touches no memory.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    Some(ticks)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn read_counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn two_measurements_agree() {
        let Some(meter) = TickMeter::start() else {
            eprintln!("skipped: two_measurements_agree: no counter on this architecture");
            return;
        };
        assert!(meter.measure_rate().is_none(), "too short");
        std::thread::sleep(Duration::from_millis(60));
        let first = meter.measure_rate().unwrap().hz as f64;
        std::thread::sleep(Duration::from_millis(60));
        let second = meter.measure_rate().unwrap().hz as f64;
        assert!((first / second - 1.0).abs() < 1e-3, "{first} Hz, then {second} Hz");
    }
}
