// SPDX-License-Identifier: GPL-2.0-or-later
//! The wall clock beside the monotonic one, so that results of several hosts can be laid beside each
//! other.

use irqpath_model::record::ClockReading;
use rustix::time::{ClockId, clock_gettime};

/// How often it is tried; the closest pair of readings counts.
const TRIES: usize = 8;

/// Read both clocks.
pub fn read_clocks() -> ClockReading {
    let readings = (0..TRIES).map(|_| {
        let before = read_ns(ClockId::Monotonic);
        let realtime_ns = read_ns(ClockId::Realtime);
        let within_ns = read_ns(ClockId::Monotonic).saturating_sub(before);
        ClockReading { monotonic_ns: before + within_ns / 2, realtime_ns, within_ns }
    });
    readings.min_by_key(|reading| reading.within_ns).unwrap_or_default()
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::record::Clocks;

    #[test]
    fn two_readings_agree() {
        let clocks = Clocks { start: read_clocks(), end: read_clocks() };
        assert!(clocks.start.within_ns < 100_000_000, "{clocks:?}");
        assert_eq!(clocks.jump_ns(), None, "{clocks:?}");
    }
}
