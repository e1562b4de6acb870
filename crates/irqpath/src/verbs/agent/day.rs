// SPDX-License-Identifier: GPL-2.0-or-later
//! The clock of the day while the agent runs: it may be set at any time, by NTP above all.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use irqpath_report::openmetrics::{DayClock, Moment};

use crate::host::clocks::read_moment;
use crate::output::console;

/// How often the clocks are compared.
const COMPARE_EVERY: Duration = Duration::from_secs(1);

/// The clock that all times in the numbers come from, and when it was last compared.
#[derive(Debug)]
pub struct Day {
    clock: DayClock,
    last: Moment,
    compared: Instant,
}

impl Day {
    /// As the clocks are now.
    ///
    /// # Errors
    /// If they cannot be read close to each other.
    pub fn begin() -> anyhow::Result<Self> {
        let now = read_moment().context("the clocks cannot be read: the machine is too busy")?;
        Ok(Self { clock: DayClock::new(now), last: now, compared: Instant::now() })
    }

    /// The clock of stamps when the clocks were last read, ns.
    pub fn now_ns(&self) -> u64 {
        self.last.stamp_ns
    }

    pub fn clock(&self) -> &DayClock {
        &self.clock
    }

    /// Compares the clocks if that is due. Says if the clock was set, and returns true then.
    pub fn follow_when_due(&mut self) -> bool {
        self.compared.elapsed() >= COMPARE_EVERY && self.follow()
    }

    /// The same at once: numbers are about to get their times.
    pub fn follow(&mut self) -> bool {
        self.compared = Instant::now();
        // A machine that is too busy now is asked again in a second.
        let Some(now) = read_moment() else { return false };
        self.last = now;
        let Some(jump_ns) = self.clock.follow(now) else { return false };
        console::print_note(&describe_jump(jump_ns));
        true
    }
}

fn describe_jump(jump_ns: i64) -> String {
    let way = if jump_ns > 0 { "forward" } else { "back" };
    let seconds = Duration::from_nanos(jump_ns.unsigned_abs()).as_secs_f64();
    format!(
        "the clock was set {way} by {seconds:.3} s; exemplars and starts of young series follow \
         (irqpath_clock_jumps_total)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_one_line_with_its_direction() {
        let forward = describe_jump(1_750_000_000_000_000_000);
        assert!(forward.contains("set forward by 1750000000.000 s;"), "{forward}");
        let back = describe_jump(-1_500_000_000);
        assert!(back.contains("set back by 1.500 s;") && !back.contains('\n'), "{back}");
    }
}
