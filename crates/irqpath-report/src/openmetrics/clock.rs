// SPDX-License-Identifier: GPL-2.0-or-later
//! The time of day of stamps, by a clock that may be set while the agent runs.
//!
//! A stamp counts the time that the machine is awake. The time that it slept is added first, then
//! the distance to the clock of the day. Whoever reads the clocks calls [`DayClock::follow`]; all
//! times that are exposed come from one `DayClock`, so that a start is never later than now.
//!
//! Exemplars have the time of day as it is known now. The start of a cumulative series is different:
//! to a collector, a start that moves is a reset, and the whole count is added once more. A series
//! therefore keeps its start, unless the clock was set by more than the age of the series. Such a
//! start says nothing, or lies in the future, which the data model of OTLP forbids.

use std::time::{Duration, SystemTime};

/// Clocks that differ less agree: reading them takes time.
const TOLERANCE_NS: u64 = 100_000_000;
/// Bounds the memory; the oldest goes first.
const MAX_KEPT: usize = 256;

/// Three clocks at one moment, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The clock of the day, since 1970.
    pub day_ns: u64,
    /// `CLOCK_BOOTTIME`: goes on while the machine sleeps.
    pub boot_ns: u64,
    /// `CLOCK_MONOTONIC`, the clock of stamps.
    pub stamp_ns: u64,
}

/// Turns stamps into times of day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayClock {
    /// From which stamp on the machine has slept for how long.
    slept: Vec<(u64, u64)>,
    /// From which time since boot on starts are how far behind the clock of the day. The last one is
    /// true now.
    offsets: Vec<(u64, i64)>,
    nr_jumps: u64,
}

impl DayClock {
    /// As the clocks are now.
    pub fn new(now: Moment) -> Self {
        let slept = vec![(0, now.boot_ns.saturating_sub(now.stamp_ns))];
        Self { slept, offsets: vec![(0, offset_of(now))], nr_jumps: 0 }
    }

    /// Compares the clocks, and follows them. Returns by how many ns the clock of the day was set, if
    /// it was.
    pub fn follow(&mut self, now: Moment) -> Option<i64> {
        self.follow_sleep(now);
        let offset = offset_of(now);
        let jump = offset.saturating_sub(self.offset());
        if jump.unsigned_abs() <= TOLERANCE_NS {
            return None;
        }
        self.nr_jumps += 1;
        let ends = self.offsets.iter().skip(1).map(|&(from, _)| from).chain([now.boot_ns]);
        let mut all = Vec::new();
        for (&(from, before), end) in self.offsets.iter().zip(ends) {
            // Whatever began until then is older than its start is wrong.
            let kept = now.boot_ns.saturating_sub(before.abs_diff(offset)).min(end);
            if kept > from {
                all.extend([(from, before), (kept, offset)]);
            } else {
                all.push((from, offset));
            }
        }
        all.dedup_by_key(|(_, offset)| *offset);
        self.offsets = all;
        drop_oldest(&mut self.offsets);
        Some(jump)
    }

    /// The clock of the day does not show that: it goes on, too.
    fn follow_sleep(&mut self, now: Moment) {
        let slept = now.boot_ns.saturating_sub(now.stamp_ns);
        let known = self.slept.last().map_or(0, |&(_, slept)| slept);
        if slept > known.saturating_add(TOLERANCE_NS) {
            self.slept.push((now.stamp_ns, slept));
            drop_oldest(&mut self.slept);
        }
    }

    /// How often the clock was set.
    pub fn nr_jumps(&self) -> u64 {
        self.nr_jumps
    }

    /// The time of day of a stamp, as it is known now.
    pub fn stamped_at(&self, stamp_ns: u64) -> SystemTime {
        time_of(self.boot_of(stamp_ns), self.offset())
    }

    /// The start of a series that began with this stamp. It stays the same for as long as it can.
    pub fn began_at(&self, stamp_ns: u64) -> SystemTime {
        let boot_ns = self.boot_of(stamp_ns);
        time_of(boot_ns, find_last(&self.offsets, boot_ns))
    }

    fn boot_of(&self, stamp_ns: u64) -> u64 {
        stamp_ns.saturating_add(find_last(&self.slept, stamp_ns))
    }

    fn offset(&self) -> i64 {
        self.offsets.last().map_or(0, |&(_, offset)| offset)
    }
}

fn offset_of(now: Moment) -> i64 {
    now.day_ns.cast_signed().saturating_sub(now.boot_ns.cast_signed())
}

/// A clock that is far from 1970 on either side stops there.
fn time_of(boot_ns: u64, offset: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(boot_ns.saturating_add_signed(offset))
}

/// What is true at this time.
fn find_last<T: Copy + Default>(all: &[(u64, T)], ns: u64) -> T {
    let at = all.partition_point(|&(from, _)| from <= ns);
    all.get(at.saturating_sub(1)).map(|&(_, value)| value).unwrap_or_default()
}

/// What the next one says is true of the time before it, too.
fn drop_oldest<T>(all: &mut Vec<(u64, T)>) {
    all.drain(..all.len().saturating_sub(MAX_KEPT));
    if let Some((from, _)) = all.first_mut() {
        *from = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const DAY: u64 = 86_400 * S;
    /// In 2025.
    const RIGHT: u64 = 1_750_000_000 * S;

    /// A machine that was booted a minute ago, at `day_ns`.
    struct Machine {
        now: Moment,
        clock: DayClock,
    }

    impl Machine {
        fn at(day_ns: u64) -> Self {
            let now = Moment { day_ns, boot_ns: 60 * S, stamp_ns: 60 * S };
            Self { now, clock: DayClock::new(now) }
        }

        fn run(&mut self, ns: u64) -> Option<i64> {
            let Moment { day_ns, boot_ns, stamp_ns } = self.now;
            self.now =
                Moment { day_ns: day_ns + ns, boot_ns: boot_ns + ns, stamp_ns: stamp_ns + ns };
            self.clock.follow(self.now)
        }

        fn sleep(&mut self, ns: u64) -> Option<i64> {
            self.now.day_ns += ns;
            self.now.boot_ns += ns;
            self.clock.follow(self.now)
        }

        fn set(&mut self, day_ns: u64) -> Option<i64> {
            self.now.day_ns = day_ns;
            self.clock.follow(self.now)
        }

        fn stamped(&self, stamp_ns: u64) -> u64 {
            nanos(self.clock.stamped_at(stamp_ns))
        }

        fn began(&self, stamp_ns: u64) -> u64 {
            nanos(self.clock.began_at(stamp_ns))
        }
    }

    fn nanos(time: SystemTime) -> u64 {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64
    }

    #[test]
    fn a_clock_that_begins_in_1970_is_right_everywhere_once_it_is_set() {
        let mut machine = Machine::at(60 * S);
        let began = machine.now.stamp_ns;
        machine.run(5 * S);
        assert_eq!((machine.began(began), machine.stamped(began)), (60 * S, 60 * S));
        let jump = machine.set(RIGHT).unwrap();
        assert_eq!(jump.cast_unsigned(), RIGHT - 65 * S);
        assert_eq!((machine.began(began), machine.stamped(began)), (RIGHT - 5 * S, RIGHT - 5 * S));
        assert_eq!(machine.clock.nr_jumps(), 1);
        assert_eq!(machine.run(DAY), None, "it is followed");
        assert_eq!(machine.began(began), RIGHT - 5 * S, "and starts stay");
    }

    #[test]
    fn a_clock_from_the_future_that_is_set_back_does_not_freeze() {
        let mut machine = Machine::at(RIGHT + 400 * DAY);
        let began = machine.now.stamp_ns;
        machine.run(5 * S);
        let jump = machine.set(RIGHT).unwrap();
        assert_eq!(jump, -(400 * DAY + 5 * S).cast_signed());
        assert_eq!((machine.began(began), machine.stamped(began)), (RIGHT - 5 * S, RIGHT - 5 * S));
        machine.run(S);
        assert_eq!(machine.stamped(machine.now.stamp_ns), RIGHT + S);
    }

    #[test]
    fn a_series_keeps_its_start_when_the_clock_is_set_by_less_than_its_age() {
        for by in [-30, 30_i64] {
            let mut machine = Machine::at(RIGHT);
            let old = machine.now.stamp_ns;
            machine.run(DAY);
            let young = machine.now.stamp_ns;
            machine.run(10 * S);
            let set = machine.now.day_ns.saturating_add_signed(by * S.cast_signed());
            assert_eq!(machine.set(set), Some(by * S.cast_signed()));
            assert_eq!(machine.began(old), RIGHT, "its count is not added once more");
            assert_eq!(machine.began(young), set - 10 * S, "{by}");
            assert_eq!(machine.stamped(old), set - DAY - 10 * S);
            let new = machine.now.stamp_ns;
            machine.run(S);
            assert_eq!(machine.began(new), set);
        }
    }

    #[test]
    fn no_start_is_ever_later_than_now_and_none_moves_without_a_jump() {
        let mut machine = Machine::at(RIGHT);
        let mut births = vec![machine.now.stamp_ns];
        // Any order of steps: the numbers are those of a generator of Lehmer's.
        let mut random = 48_271_u64;
        for _ in 0..2_000 {
            random = random * 48_271 % 2_147_483_647;
            machine.run(random % (100 * S));
            let before: Vec<u64> = births.iter().map(|&ns| machine.began(ns)).collect();
            let jumps = machine.clock.nr_jumps();
            let by = random.cast_signed() % 7_200 - 3_600;
            match random % 4 {
                0 => drop(machine.set(machine.now.day_ns.saturating_add_signed(by << 30))),
                1 => drop(machine.sleep(random % DAY)),
                2 => births.push(machine.now.stamp_ns),
                _ => {}
            }
            let now = machine.stamped(machine.now.stamp_ns);
            assert!(now.abs_diff(machine.now.day_ns) <= 2 * TOLERANCE_NS);
            let moved = births.iter().zip(&before).any(|(&ns, &was)| machine.began(ns) != was);
            assert!(births.iter().all(|&ns| machine.began(ns) <= now));
            assert!(!moved || machine.clock.nr_jumps() > jumps);
            births.drain(..births.len().saturating_sub(50));
        }
        assert!(machine.clock.nr_jumps() > 300, "{}", machine.clock.nr_jumps());
        assert!(machine.clock.offsets.len() <= MAX_KEPT && machine.clock.slept.len() <= MAX_KEPT);
    }

    #[test]
    fn small_steps_are_ignored_until_they_add_up() {
        let mut machine = Machine::at(RIGHT);
        assert_eq!(machine.set(machine.now.day_ns + 60_000_000), None);
        assert_eq!(machine.set(machine.now.day_ns + 60_000_000), Some(120_000_000));
        assert_eq!(machine.clock.nr_jumps(), 1);
    }

    #[test]
    fn sleep_is_no_jump_and_stamps_before_it_keep_their_time() {
        let mut machine = Machine::at(RIGHT);
        let before = machine.now.stamp_ns;
        machine.run(10 * S);
        assert_eq!(machine.sleep(DAY), None);
        machine.run(S);
        assert_eq!(machine.clock.nr_jumps(), 0);
        assert_eq!((machine.stamped(before), machine.began(before)), (RIGHT, RIGHT));
        let now = machine.now.stamp_ns;
        assert_eq!(machine.stamped(now), RIGHT + DAY + 11 * S);
    }
}
