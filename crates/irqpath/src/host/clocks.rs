// SPDX-License-Identifier: GPL-2.0-or-later
//! The wall clock beside the monotonic one, so that results of several hosts can be laid beside each
//! other, and so that a process that stays notices when the wall clock is set.

use std::time::{Duration, SystemTime};

use irqpath_model::record::ClockReading;
use irqpath_report::openmetrics::Moment;
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

/// Readings that are further apart say nothing: this thread had to wait between them.
const MAX_APART: Duration = Duration::from_millis(20);

/// Read the clocks of a process that stays. `None` if the CPU was taken away each time.
pub fn read_moment() -> Option<Moment> {
    for _ in 0..TRIES {
        let boot_ns = read_ns(ClockId::Boottime);
        let stamp_ns = read_ns(ClockId::Monotonic);
        let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Goes on while the machine sleeps, so that a sleep in between is seen, too.
        let apart_ns = read_ns(ClockId::Boottime).saturating_sub(boot_ns);
        if Duration::from_nanos(apart_ns) <= MAX_APART {
            return Some(Moment { day_ns: day.as_nanos() as u64, boot_ns, stamp_ns });
        }
    }
    None
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

    #[test]
    fn a_moment_is_of_one_time_on_all_clocks() {
        let (moment, clocks) = (read_moment().unwrap(), read_clocks());
        assert!(moment.stamp_ns.abs_diff(clocks.monotonic_ns) < 10_000_000_000, "{moment:?}");
        assert!(moment.day_ns.abs_diff(clocks.realtime_ns) < 10_000_000_000, "{moment:?}");
        assert!(moment.boot_ns + 20_000_000 >= moment.stamp_ns, "{moment:?}");
    }
}
