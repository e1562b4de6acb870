// SPDX-License-Identifier: GPL-2.0-or-later
//! What a capture of the flight recorder is of, and the clocks beside each other. Neighbour:
//! [`crate::record`] has the rest of the recorder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two clocks, read at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReading {
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime_ns: u64,
    /// The two readings are at most so far apart, ns.
    pub within_ns: u64,
}

impl ClockReading {
    /// What has to be added to a monotonic time to get the wall-clock time, ns.
    pub fn offset_ns(&self) -> i128 {
        i128::from(self.realtime_ns) - i128::from(self.monotonic_ns)
    }
}

/// A wall clock that is steered runs at most so much faster or slower: 500 ppm.
const MAX_SLEW: i128 = 2000;
/// Less is within what two readings differ by.
const MIN_JUMP_NS: i128 = 1_000_000;

/// The wall clock beside the monotonic one, at both ends of a measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// At its start.
    pub start: ClockReading,
    /// At its end.
    pub end: ClockReading,
}

impl Clocks {
    /// How far the wall clock was set forwards (or back, if less than 0) in between, ns. `None` if
    /// all it did can be steering, which is at most 500 ppm.
    pub fn jump_ns(&self) -> Option<i64> {
        let moved = self.end.offset_ns() - self.start.offset_ns();
        let passed = i128::from(self.end.monotonic_ns.saturating_sub(self.start.monotonic_ns));
        let steered = passed / MAX_SLEW + MIN_JUMP_NS;
        (moved.abs() > steered).then(|| i64::try_from(moved).unwrap_or(i64::MAX))
    }
}

/// What a capture of the flight recorder is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// Its number.
    pub nr: u32,
    /// The name of the [`Trigger`].
    pub trigger: String,
    /// What happened, in words.
    pub what: String,
    /// When it happened, `CLOCK_MONOTONIC` ns.
    pub at_ns: u64,
    /// From when on it has everything.
    pub begins_ns: u64,
    /// When it ends.
    pub ends_ns: u64,
    /// How long before the trigger it should begin, ns.
    pub keep_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(monotonic_ns: u64, realtime_ns: u64) -> ClockReading {
        ClockReading { monotonic_ns, realtime_ns, within_ns: 100 }
    }

    #[test]
    fn a_jump_is_told_from_steering() {
        let second = 1_000_000_000;
        let start = reading(5 * second, 1_700_000_000 * second);
        let after = |passed: u64, moved: i64| Clocks {
            start,
            end: reading(
                start.monotonic_ns + passed,
                (start.realtime_ns + passed).wrapping_add_signed(moved),
            ),
        };
        for (passed, moved, want) in [
            (10 * second, 0, None),
            (10 * second, 4_000_000, None),
            (10 * second, -5_000_000, None),
            (10 * second, 7_000_000, Some(7_000_000)),
            (second, -3_600_000_000_000, Some(-3_600_000_000_000)),
            (0, 999_999, None),
        ] {
            assert_eq!(after(passed, moved).jump_ns(), want, "{moved} in {passed}");
        }
        let absurd = Clocks { start: reading(0, 0), end: reading(0, u64::MAX) };
        assert_eq!(absurd.jump_ns(), Some(i64::MAX));
    }
}
