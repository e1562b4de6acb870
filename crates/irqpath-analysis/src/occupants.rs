// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything that occupied some CPUs, by name: how often, for how long in all, and at most. For
//! CPUs on which nothing should be, where a task that came and went is as interesting as one that stays.
//!
//! The transitions of a CPU are counted as far as they have arrived and are forgotten then. Time
//! that none covers is [`CauseKind::Unexplained`], so the sum of a CPU is the time it was watched.

use std::collections::BTreeMap;

use irqpath_model::{CauseKind, CpuList, Event, Names, Occupancy, Occupied};

use crate::attribute::{name_occupant, without_target};
use crate::{Occupant, Timelines};

/// Most transitions that wait to be counted.
const MAX_TRANSITIONS: usize = 1 << 19;

/// One CPU so far.
#[derive(Debug)]
struct PerCpu {
    done_ns: u64,
    newest_ns: u64,
    of: BTreeMap<(CauseKind, String), Occupied>,
    /// The piece that is not over: its key and its length so far.
    open: Option<((CauseKind, String), u64)>,
}

/// Counts the occupants of CPUs from their transitions.
#[derive(Debug)]
pub struct Occupants {
    names: Names,
    timelines: Timelines,
    cpus: BTreeMap<u16, PerCpu>,
}

impl Occupants {
    /// For these CPUs, from `since_ns` (`CLOCK_MONOTONIC`) on.
    pub fn new(cpus: &CpuList, since_ns: u64, names: Names) -> Self {
        let per_cpu = |cpu| {
            let (of, open) = (BTreeMap::new(), None);
            (cpu, PerCpu { done_ns: since_ns, newest_ns: since_ns, of, open })
        };
        Self { names, timelines: Timelines::new(), cpus: cpus.iter().map(per_cpu).collect() }
    }

    /// Take over what a source delivered; paths are of no use here.
    pub fn push(&mut self, event: Event) {
        let Event::Occupancy(block) = event else { return };
        let wanted: Vec<Occupancy> =
            block.into_iter().filter(|o| self.cpus.contains_key(&o.cpu)).collect();
        for occupancy in &wanted {
            if let Some(of) = self.cpus.get_mut(&occupancy.cpu) {
                of.newest_ns = of.newest_ns.max(occupancy.ns);
            }
        }
        self.timelines.ingest_block(wanted);
        self.timelines.shrink_to(MAX_TRANSITIONS);
    }

    /// Count what has arrived.
    pub fn settle_occupants(&mut self) {
        let Self { names, timelines, cpus } = self;
        for (&cpu, of) in cpus.iter_mut() {
            of.count_until(cpu, of.newest_ns, timelines, names);
        }
        let oldest = cpus.values().map(|of| of.done_ns).min().unwrap_or(0);
        timelines.prune_before(oldest);
    }

    /// Count the rest, which lasted until `end_ns`, and say what there was, the longest first.
    pub fn finish(mut self, end_ns: u64) -> Vec<Occupied> {
        self.settle_occupants();
        let Self { names, timelines, cpus } = &mut self;
        for (&cpu, of) in cpus.iter_mut() {
            of.count_until(cpu, end_ns, timelines, names);
            of.close_open();
        }
        let mut all: Vec<Occupied> =
            self.cpus.into_values().flat_map(|of| of.of.into_values()).collect();
        all.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.who.cmp(&b.who)));
        all
    }
}

impl PerCpu {
    fn count_until(&mut self, cpu: u16, until_ns: u64, timelines: &Timelines, names: &Names) {
        // The newest transition holds to the end: a CPU at rest has none.
        for segment in timelines.segments(cpu, self.done_ns, until_ns, 0) {
            self.add_occupant(cpu, &segment.occupant(), segment.ns(), names);
        }
        self.done_ns = self.done_ns.max(until_ns);
    }

    fn add_occupant(&mut self, cpu: u16, occupant: &Occupant, ns: u64, names: &Names) {
        let tid = match occupant {
            Occupant::Task(task) if !task.is_idle() => Some(task.tid),
            _ => None,
        };
        let key = (without_target(occupant), name_occupant(occupant, names));
        let goes_on = self.open.as_ref().is_some_and(|(open, _)| *open == key);
        if !goes_on {
            self.close_open();
        }
        let found = self.of.entry(key.clone()).or_insert_with_key(|(kind, who)| {
            let (kind, who) = (*kind, who.clone());
            Occupied { cpu, kind, who, tid, n: 0, total_ns: 0, max_ns: 0 }
        });
        found.n += u64::from(!goes_on);
        found.total_ns += ns;
        let length = self.open.take().filter(|_| goes_on).map_or(0, |(_, length)| length);
        self.open = Some((key, length + ns));
    }

    fn close_open(&mut self) {
        let Some((key, length)) = self.open.take() else { return };
        if let Some(found) = self.of.get_mut(&key) {
            found.max_ns = found.max_ns.max(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Origin, SoftirqVec, Task, Transition};

    fn task(tid: u32, comm: &str) -> Transition {
        let comm = comm.into();
        Transition::SwitchIn(Task { tid, comm, prio: 120, normal_prio: 120, ..Task::default() })
    }

    fn block(first: u64, transitions: &[(u64, Transition)]) -> Event {
        let of = |(seq, (ns, what)): (u64, &(u64, Transition))| Occupancy {
            ns: *ns,
            cpu: 1,
            seq,
            what: what.clone(),
        };
        Event::Occupancy((first..).zip(transitions).map(of).collect())
    }

    #[test]
    fn every_nanosecond_has_a_name_or_is_unexplained() {
        let mut occupants = Occupants::new(&"1".parse().unwrap(), 500, Names::default());
        occupants.push(block(
            1,
            &[
                (1_000, task(0, "swapper/1")),
                (5_000, Transition::HardirqEntry(Origin::Irq(36))),
                (6_500, Transition::HardirqExit),
                (6_500, Transition::SoftirqEntry(SoftirqVec::NetRx)),
            ],
        ));
        occupants.settle_occupants();
        occupants.push(block(
            5,
            &[
                (8_000, Transition::SoftirqExit),
                (8_000, task(7, "kworker/1:0")),
                (9_000, task(0, "swapper/1")),
                (9_400, Transition::HardirqEntry(Origin::Irq(36))),
                (9_500, Transition::HardirqExit),
            ],
        ));
        let all = occupants.finish(20_000);
        let rows: Vec<_> = all
            .iter()
            .map(|o| (o.kind, o.who.as_str(), o.tid, o.n, o.total_ns, o.max_ns))
            .collect();
        assert_eq!(
            rows,
            [
                (CauseKind::Idle, "idle", None, 3, 14_900, 10_500),
                (CauseKind::Hardirq, "36", None, 2, 1_600, 1_500),
                (CauseKind::Softirq, "net_rx", None, 1, 1_500, 1_500),
                (CauseKind::Thread, "kworker/1:0:7 o:0", Some(7), 1, 1_000, 1_000),
                (CauseKind::Unexplained, "-", None, 1, 500, 500),
            ]
        );
        assert_eq!(all.iter().map(|o| o.total_ns).sum::<u64>(), 19_500);
    }

    #[test]
    fn a_hole_is_not_explained_and_other_cpus_do_not_count() {
        let mut occupants = Occupants::new(&"1".parse().unwrap(), 0, Names::default());
        occupants.push(block(1, &[(0, task(7, "early"))]));
        occupants.push(block(9, &[(1_000, task(8, "late"))]));
        let other = Occupancy { ns: 5, cpu: 2, seq: 1, what: task(9, "elsewhere") };
        occupants.push(Event::Occupancy(vec![other]));
        let all = occupants.finish(1_600);
        let rows: Vec<_> = all.iter().map(|o| (o.kind, o.who.as_str(), o.total_ns)).collect();
        assert_eq!(
            rows,
            [(CauseKind::Unexplained, "-", 1_000), (CauseKind::Thread, "late:8 o:0", 600)]
        );
    }
}
