// SPDX-License-Identifier: GPL-2.0-or-later
//! Compares what irqpath says about paths with a whole record of the same time.

use std::collections::HashMap;

use irqpath_model::{Occupancy, PathEnd, PathRecord, Point, SlowPath, Stamp};

use crate::causes;
use crate::difference::{Difference, Kind};
use crate::event::Event;
use crate::join::{Joiner, Outcome, Wakeup};
use crate::occupied::Occupied;
use crate::recorder::Record;
use crate::tolerance::{BOUNDARY_NS, SLACK_NS, TOLERANCE_NS};

/// Two records of a wakeup that are further apart are two wakeups.
const SAME_NS: u64 = 20_000_000;
/// At its beginning a record does not know what was under way.
const SETTLE_NS: u64 = 100_000_000;

/// The truth, as far as it was recorded.
#[derive(Debug)]
pub struct Judge {
    by_tid: HashMap<u32, Vec<Wakeup>>,
    occupied: Occupied,
    /// Paths that lie outside are not judged.
    window: (u64, u64),
    /// Boundaries are known to irqpath's own reading of the clock.
    has_readings: bool,
}

impl Judge {
    /// From a record that lost nothing.
    pub fn new(record: &Record) -> Self {
        let mut by_tid: HashMap<u32, Vec<Wakeup>> = HashMap::new();
        for wakeup in Joiner::join_events(&record.events) {
            by_tid.entry(wakeup.tid).or_default().push(wakeup);
        }
        let is_enclosed = |event: &&Event| event.again.is_some();
        let begin = record.events.iter().find(is_enclosed).or(record.events.first());
        let end = record.events.iter().rfind(is_enclosed).or(record.events.last());
        let first = begin.map_or(0, |event| event.ns) + SETTLE_NS;
        let last = end.map_or(0, |event| event.ns);
        Self {
            by_tid,
            occupied: Occupied::new(&record.events),
            window: (first, last),
            has_readings: false,
        }
    }

    /// The same where irqpath's own readings of the clock are known. Then a cause may have more time
    /// only where irqpath really read the clock later, and by no more than that.
    pub fn with_readings(mut self, readings: &[Occupancy]) -> Self {
        self.occupied.read_again(readings);
        Self { has_readings: true, ..self }
    }

    /// Switches that the kernel did not tell of.
    pub fn nr_unseen(&self) -> u64 {
        self.occupied.nr_unseen()
    }

    /// What is wrong with a path and its causes; `None` if it lies outside of the record.
    pub fn judge_path(&self, path: &SlowPath) -> Option<Vec<Difference>> {
        let record = &path.record;
        let (first, last) = (record.first()?.ns, record.last()?.ns);
        if first < self.window.0 || last > self.window.1 {
            return None;
        }
        let Some(wakeup) = self.wakeup_of(record) else {
            if self.is_racing(record) {
                return Some(vec![Difference::new(
                    Kind::Unsure,
                    record,
                    0,
                    "while it went to sleep",
                )]);
            }
            // Whether it runs is read twice, too, and nothing is joined with it.
            let is_join = record.end != PathEnd::AlreadyRunning;
            let kind = if is_join { Kind::NoSuchWakeup } else { Kind::End };
            return Some(vec![Difference::new(kind, record, 0, "")]);
        };
        let mut found = self.judge_join(record, wakeup);
        let is_its_own = |d: &Difference| !d.kind.is_false_join() && d.kind != Kind::Unsure;
        if found.iter().all(is_its_own) {
            let spans = record.stages();
            let stages = spans.iter().zip(&path.stages);
            found.extend(stages.filter_map(|(span, stage)| {
                let slack_ns = (!self.has_readings).then_some(SLACK_NS);
                causes::judge_causes(&self.occupied, record, wakeup, (span, stage), slack_ns)
            }));
        }
        // Two wakeups while a task goes to sleep may each be the one that counts.
        let is_false = found.iter().any(|difference| difference.kind.is_false_join());
        if wakeup.chain.is_unsure || (is_false && self.is_racing(record)) {
            found.retain(|difference| !difference.kind.is_false_join());
            found.push(Difference::new(Kind::Unsure, record, 0, ""));
        }
        Some(found)
    }

    fn wakeup_of(&self, record: &PathRecord) -> Option<&Wakeup> {
        let waking = record.stamps[Point::Waking.index()]?;
        let wakeups = self.by_tid.get(&record.target.tid)?;
        let same_cpu = wakeups.iter().filter(|w| w.waking().cpu == waking.cpu);
        same_cpu
            .min_by_key(|w| w.waking().ns.abs_diff(waking.ns))
            .filter(|w| w.waking().ns.abs_diff(waking.ns) < SAME_NS)
            .filter(|w| self.may_be_read_at(w.waking(), waking.ns))
    }

    /// Whether irqpath may have read this time at an event of the record.
    fn may_be_read_at(&self, event: Stamp, ns: u64) -> bool {
        let read_by_ns = self.occupied.read_by_ns(event.cpu, event.ns);
        read_by_ns
            .is_none_or(|by_ns| (event.ns..=by_ns + 2 * BOUNDARY_NS).contains(&(ns + BOUNDARY_NS)))
    }

    fn is_racing(&self, record: &PathRecord) -> bool {
        let waking = record.stamps[Point::Waking.index()];
        waking.is_some_and(|at| self.occupied.is_racing(record.target.tid, at.cpu, at.ns))
    }

    fn judge_join(&self, record: &PathRecord, wakeup: &Wakeup) -> Vec<Difference> {
        let chain = &wakeup.chain;
        let difference = |kind, ns, text: &str| Difference::new(kind, record, ns, text);
        if let Some(kind) = self.wrong_switch(record, wakeup) {
            let really = chain.stamp(Point::SwitchIn);
            let is = record.stamps[Point::SwitchIn.index()];
            let text = format!("{:?} {really:?}, is said to be {is:?}", wakeup.outcome);
            return vec![difference(kind, 0, &text)];
        }
        let mut found = Vec::new();
        if chain.origin != record.origin {
            found.push(difference(Kind::WrongOrigin, 0, &format!("{:?}", chain.origin)));
        }
        // Whether it runs is a guess of both; the witness saw later that it did not.
        let guessed = record.end == PathEnd::AlreadyRunning;
        let is_switched_in = guessed && chain.stamp(Point::SwitchIn).is_some();
        if Outcome::Ended(record.end) != wakeup.outcome || is_switched_in {
            found.push(difference(Kind::End, 0, &format!("{:?}", wakeup.outcome)));
            return found; // the points after it differ for that reason
        }
        if chain.via != record.via {
            found.push(difference(Kind::Via, 0, &chain.via.describe()));
        }
        found.extend(Point::ALL.iter().copied().filter_map(|point| {
            let (is, was) = (record.stamps[point.index()], chain.stamp(point));
            let (kind, ns) = self.judge_stamps(is, was)?;
            let by_ns = was.and_then(|was| self.occupied.read_by_ns(was.cpu, was.ns));
            Some(difference(kind, ns, &format!("{point} {is:?}, was {was:?}, read by {by_ns:?}")))
        }));
        let enclosed = found.iter().filter(|d| d.kind == Kind::Enclosed);
        let allowed_ns = TOLERANCE_NS + enclosed.map(|d| d.ns).sum::<u64>();
        let wrong_ns = record.total_ns().abs_diff(length_ns(&chain.stamps));
        if wrong_ns > allowed_ns {
            found.push(difference(Kind::Duration, wrong_ns, ""));
        }
        found
    }

    fn judge_stamps(&self, is: Option<Stamp>, was: Option<Stamp>) -> Option<(Kind, u64)> {
        let (is, was) = match (is, was) {
            (Some(is), Some(was)) if is.cpu == was.cpu => (is, was),
            (None, None) => return None,
            _ => return Some((Kind::Points, 0)),
        };
        let (first, last) = (is.ns.min(was.ns), is.ns.max(was.ns));
        if last - first <= TOLERANCE_NS {
            return None;
        }
        let read_by_ns = self.occupied.read_by_ns(was.cpu, was.ns);
        let is_enclosed =
            is.ns > was.ns && read_by_ns.is_some_and(|by_ns| is.ns <= by_ns + BOUNDARY_NS);
        let kind = if is_enclosed { Kind::Enclosed } else { Kind::Time };
        Some((kind, last - first))
    }

    /// Whether the path was joined with a switch that is not its own.
    fn wrong_switch(&self, record: &PathRecord, wakeup: &Wakeup) -> Option<Kind> {
        let is = record.stamps[Point::SwitchIn.index()]?;
        // irqpath reads the clock at an event before the next one of this CPU begins.
        let last_ns =
            self.occupied.last_switch_in((record.target.tid, is.cpu), is.ns + BOUNDARY_NS);
        match (wakeup.chain.stamp(Point::SwitchIn), wakeup.outcome) {
            (Some(was), _)
                if was.cpu == is.cpu
                    && was.ns.abs_diff(is.ns) < SAME_NS
                    && last_ns == Some(was.ns) =>
            {
                None
            }
            // irqpath saw a switch that the record lacks.
            _ if self.occupied.may_have_switched_in((record.target.tid, is.cpu), is.ns) => {
                Some(Kind::Unsure)
            }
            _ if self.is_racing(record) => Some(Kind::Unsure),
            (None, Outcome::Unseen) => Some(Kind::UnseenSwitchIn),
            _ => Some(Kind::WrongSwitchIn),
        }
    }
}

/// From the first to the last stamp.
fn length_ns(stamps: &[Option<Stamp>]) -> u64 {
    let times = || stamps.iter().flatten().map(|stamp| stamp.ns);
    let first = times().next().unwrap_or(0);
    times().max().unwrap_or(first).saturating_sub(first)
}
