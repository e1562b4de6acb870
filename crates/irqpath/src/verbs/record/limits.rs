// SPDX-License-Identifier: GPL-2.0-or-later
//! How many captures may be made in how much time, and how many lines may say that one failed.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::values::parse_duration;

/// More in any time would be no limit.
const MAX_CAPTURES: usize = 10_000;

/// So many in so much time: `6/min`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    n: usize,
    within: Duration,
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = || "write a number and a time, as 6/min, 1/10s or 20/h".to_owned();
        let (n, unit) = text.split_once('/').ok_or_else(help)?;
        let n =
            n.trim().parse().ok().filter(|n| (1..=MAX_CAPTURES).contains(n)).ok_or_else(help)?;
        let unit = Some(unit.trim()).filter(|unit| !unit.is_empty()).ok_or_else(help)?;
        let one = if unit.starts_with(|c: char| c.is_ascii_digit()) { "" } else { "1" };
        let within = parse_duration(&format!("{one}{unit}")).map_err(|_| help())?;
        Ok(Self { n, within })
    }
}

/// Counts by a clock that is never set.
#[derive(Debug)]
pub struct Limiter {
    rate: Rate,
    made: VecDeque<Instant>,
}

impl Limiter {
    /// Nothing was made yet.
    pub fn new(rate: Rate) -> Self {
        Self { rate, made: VecDeque::new() }
    }

    /// From now on; what was made still counts.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// May one more be made? If so, it counts.
    pub fn admit(&mut self, now: Instant) -> bool {
        while self.made.front().is_some_and(|&at| now.duration_since(at) >= self.rate.within) {
            self.made.pop_front();
        }
        let admitted = self.made.len() < self.rate.n;
        if admitted {
            self.made.push_back(now);
        }
        admitted
    }
}

/// How often one kind of failure has a line.
const LINE_EVERY: Duration = Duration::from_secs(3600);

/// Lines about what fails again and again: the first one, and later one an hour.
#[derive(Debug, Default)]
pub struct Rarely {
    last: Option<Instant>,
    nr_left_out: u64,
}

impl Rarely {
    /// May this failure have a line? If so, how many had none since the last one.
    pub fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.duration_since(last) < LINE_EVERY) {
            self.nr_left_out += 1;
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.nr_left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, n, seconds) in [
            ("6/min", 6, 60),
            ("1/10s", 1, 10),
            ("20/h", 20, 3600),
            ("3 / s", 3, 1),
            ("2/1m", 2, 60),
        ] {
            assert_eq!(
                text.parse(),
                Ok(Rate { n, within: Duration::from_secs(seconds) }),
                "{text}"
            );
        }
        for text in ["", "6", "0/min", "-1/min", "6/", "6/fortnight", "x/s", "10001/s", "1/0s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_failure_that_stays_has_a_line_an_hour_that_counts_the_others() {
        let mut rarely = Rarely::default();
        let start = Instant::now();
        let lines: Vec<(u64, u64)> = (0..800)
            .map(|nr| nr * 10)
            .filter_map(|s| Some((s, rarely.admit(start + Duration::from_secs(s))?)))
            .collect();
        assert_eq!(lines, [(0, 0), (3600, 359), (7200, 359)]);
    }

    #[test]
    fn no_more_than_the_rate_in_any_span() {
        let mut limiter = Limiter::new("2/10s".parse().unwrap());
        let start = Instant::now();
        let admitted: Vec<u64> =
            (0..40).filter(|&second| limiter.admit(start + Duration::from_secs(second))).collect();
        assert_eq!(admitted, [0, 1, 10, 11, 20, 21, 30, 31]);
    }
}
