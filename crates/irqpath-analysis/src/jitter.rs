// SPDX-License-Identifier: GPL-2.0-or-later
//! Determinism tests counted: loops against their ideal time, and interruptions with what ran in
//! them.
//!
//! An interruption waits until the transitions of its time have arrived, as a slow path does in
//! the engine. What no transition covers stays unexplained. Times are `CLOCK_MONOTONIC` until
//! [`InterruptionEngine::take_result`] makes them times since the thread began to look.

use std::collections::{BTreeMap, HashMap, VecDeque};

use irqpath_model::{
    Cause, CauseKind, Event, Histogram, IdealSource, Interruption, InterruptionCause,
    Interruptions, Loops, Loss, LossReason, Names,
};

use crate::Timelines;
use crate::attribute::attribute_interruption;
use crate::response::{Buckets, doubling_ns};

/// Interruptions kept one by one, the longest of each CPU.
pub const MAX_LONGEST: usize = 1_000;
/// How long an interruption waits for transitions, ns of event time.
const SETTLE_NS: u64 = 1_000_000_000;
/// Transitions are kept that much longer than the oldest interruption needs, ns.
const MARGIN_NS: u64 = 1_000_000_000;
/// Bound on transitions in memory, all CPUs together.
const MAX_TRANSITIONS: usize = 1 << 19;

/// The loops of one CPU, `durations` in ns. `ideal` is the given one, or else the shortest of
/// this run on any CPU. `None` if no loop was completed. How many were lost is filled in by the
/// caller.
pub fn summarize_loops(
    durations: &[u64],
    nr_sines: u64,
    ideal: (u64, IdealSource),
) -> Option<Loops> {
    let (ideal_ns, ideal_from) = ideal;
    let (&min_ns, &max_ns) = (durations.iter().min()?, durations.iter().max()?);
    let sum: u128 = durations.iter().map(|&ns| u128::from(ns)).sum();
    let mut histogram = Histogram::default();
    for ns in durations {
        histogram.record_ns(ns.saturating_sub(ideal_ns));
    }
    Some(Loops {
        nr_sines,
        ideal_ns,
        ideal_from,
        min_ns,
        mean_ns: (sum / durations.len() as u128) as u64,
        max_ns,
        jitter_ns: max_ns.saturating_sub(ideal_ns),
        nr_lost: 0,
        excess: histogram.quantiles(),
        histogram,
    })
}

/// A thread that looks at the clock.
#[derive(Debug, Clone, Copy)]
pub struct Looker {
    /// The CPU that the thread is bound to.
    pub cpu: u16,
    /// Its thread id: time that this task takes is not an interruption.
    pub tid: u32,
}

/// A CPU's interruptions so far.
#[derive(Debug)]
struct PerCpu {
    looker: Looker,
    waiting: VecDeque<(u64, u64)>,
    histogram: Histogram,
    doubling: Buckets,
    total_ns: u64,
    /// Their times are by the clock.
    longest: Vec<Interruption>,
    causes: HashMap<(CauseKind, String), InterruptionCause>,
}

/// Collects the interruptions of several CPUs and finds their causes.
#[derive(Debug, Default)]
pub struct InterruptionEngine {
    traced_since_ns: Option<u64>,
    names: Names,
    timelines: Timelines,
    cpus: BTreeMap<u16, PerCpu>,
    newest_ns: u64,
    nr_evicted: u64,
}

impl InterruptionEngine {
    /// An engine for these CPUs. With `traced_since_ns`, the `CLOCK_MONOTONIC` time at which tracing
    /// began, it waits for transitions; what was before that is unknown.
    pub fn new(lookers: &[Looker], traced_since_ns: Option<u64>, names: Names) -> Self {
        let per_cpu = |&looker: &Looker| {
            let doubling = Buckets::new(doubling_ns());
            let rest = (VecDeque::new(), Histogram::default(), Vec::new(), HashMap::new());
            let (waiting, histogram, longest, causes) = rest;
            let of = PerCpu { looker, waiting, histogram, doubling, total_ns: 0, longest, causes };
            (looker.cpu, of)
        };
        let cpus = lookers.iter().map(per_cpu).collect();
        Self { traced_since_ns, names, cpus, ..Self::default() }
    }

    /// Take over what a source delivered; paths are of no use here.
    pub fn push(&mut self, event: Event) {
        let Event::Occupancy(block) = event else { return };
        let newest = block.iter().map(|o| o.ns).max().unwrap_or(0);
        self.newest_ns = self.newest_ns.max(newest);
        let wanted = block.into_iter().filter(|o| self.cpus.contains_key(&o.cpu)).collect();
        self.timelines.ingest_block(wanted);
        self.nr_evicted += self.timelines.shrink_to(MAX_TRANSITIONS);
    }

    /// Take over an interruption of one of the CPUs, `CLOCK_MONOTONIC` ns.
    pub fn add_interruption(&mut self, cpu: u16, start_ns: u64, end_ns: u64) {
        self.newest_ns = self.newest_ns.max(end_ns);
        if let Some(of) = self.cpus.get_mut(&cpu) {
            of.waiting.push_back((start_ns, end_ns));
        }
    }

    /// Finish those whose transitions are there, or have been waited for long enough.
    pub fn settle_windows(&mut self) {
        let (newest_ns, traced) = (self.newest_ns, self.traced_since_ns.is_some());
        self.finish_ready(|timelines, cpu, (start_ns, end_ns)| {
            !traced
                || timelines.covers_window(cpu, start_ns, end_ns)
                || newest_ns.saturating_sub(end_ns) >= SETTLE_NS
        });
        let oldest = self.cpus.values().filter_map(|of| of.waiting.front().map(|w| w.0)).min();
        let needed = oldest.unwrap_or(newest_ns);
        self.timelines.prune_before(needed.saturating_sub(MARGIN_NS));
    }

    /// Finish all of them; nothing more will come.
    pub fn flush(&mut self) {
        self.finish_ready(|_, _, _| true);
    }

    fn finish_ready(&mut self, is_ready: impl Fn(&Timelines, u16, (u64, u64)) -> bool) {
        let Self { traced_since_ns, names, timelines, cpus, .. } = self;
        for (&cpu, of) in cpus {
            while let Some(&window) = of.waiting.front() {
                if !is_ready(timelines, cpu, window) {
                    break;
                }
                of.waiting.pop_front();
                let (start_ns, end_ns) = window;
                let causes = match *traced_since_ns {
                    Some(since_ns) => attribute_interruption(
                        (cpu, start_ns, end_ns),
                        of.looker.tid,
                        since_ns,
                        timelines,
                        names,
                    ),
                    None => Vec::new(),
                };
                of.add_interruption(start_ns, end_ns, causes);
            }
        }
    }

    /// What the bound cost: transitions forgotten although they were not old yet. To be added to
    /// the source's own loss.
    pub fn loss(&self) -> Loss {
        let mut loss = Loss::default();
        loss.add_loss(LossReason::OccupancyOverrun, self.nr_evicted);
        loss
    }

    /// The interruptions of one CPU, whose thread began to look at `since_ns`; its own numbers are
    /// filled in by the caller.
    pub fn take_result(&mut self, cpu: u16, since_ns: u64) -> Option<Interruptions> {
        let of = self.cpus.remove(&cpu)?;
        let mut causes: Vec<InterruptionCause> = of.causes.into_values().collect();
        causes.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.who.cmp(&b.who)));
        let mut longest = of.longest;
        keep_longest(&mut longest);
        for interruption in &mut longest {
            interruption.at_ns = interruption.at_ns.saturating_sub(since_ns);
        }
        Some(Interruptions {
            threshold_ns: 0,
            look_ns: 0,
            nr_looks: 0,
            lasted_ns: 0,
            quantiles: of.histogram.quantiles(),
            histogram: of.histogram,
            doubling: of.doubling.buckets(),
            total_ns: of.total_ns,
            nr_lost: 0,
            longest,
            causes,
        })
    }
}

impl PerCpu {
    fn add_interruption(&mut self, start_ns: u64, end_ns: u64, causes: Vec<Cause>) {
        let ns = end_ns.saturating_sub(start_ns);
        self.histogram.record_ns(ns);
        self.doubling.record(ns);
        self.total_ns += ns;
        for cause in &causes {
            let key = (cause.kind, cause.who.clone());
            let of = self.causes.entry(key).or_insert_with(|| InterruptionCause {
                kind: cause.kind,
                who: cause.who.clone(),
                n: 0,
                total_ns: 0,
                max_ns: 0,
            });
            of.n += 1;
            of.total_ns += cause.ns;
            of.max_ns = of.max_ns.max(cause.ns);
        }
        self.longest.push(Interruption { at_ns: start_ns, ns, causes });
        if self.longest.len() >= 2 * MAX_LONGEST {
            keep_longest(&mut self.longest);
        }
    }
}

fn keep_longest(all: &mut Vec<Interruption>) {
    all.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.at_ns.cmp(&b.at_ns)));
    all.truncate(MAX_LONGEST);
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Occupancy, Origin, SoftirqVec, Task, Transition};

    fn looker() -> Looker {
        Looker { cpu: 1, tid: 77 }
    }

    fn task(tid: u32, comm: &str, prio: i16) -> Transition {
        let comm = comm.into();
        Transition::SwitchIn(Task { tid, comm, prio, normal_prio: prio, ..Task::default() })
    }

    fn block(transitions: &[(u64, Transition)]) -> Event {
        let of = |(seq, (ns, what)): (u64, &(u64, Transition))| Occupancy {
            ns: *ns,
            cpu: 1,
            seq,
            what: what.clone(),
        };
        Event::Occupancy((1..).zip(transitions).map(of).collect())
    }

    #[test]
    fn the_documents_legend() {
        // Figure 3: ideal 1.147132 s, max 1.317151 s, jitter 0.170019 s (14.82 %).
        let loops = summarize_loops(
            &[1_147_132_000, 1_317_151_000],
            10,
            (1_147_132_000, IdealSource::Given),
        )
        .unwrap();
        assert_eq!((loops.jitter_ns, loops.max_ns), (170_019_000, 1_317_151_000));
        assert_eq!(format!("{:.2}", loops.jitter_percent()), "14.82");
        assert_eq!(loops.excess.n, 2);
        assert_eq!(loops.mean_ns, 1_232_141_500);
    }

    #[test]
    fn a_loop_faster_than_the_given_ideal_has_no_jitter() {
        let loops = summarize_loops(&[900], 1, (1_000, IdealSource::Given)).unwrap();
        assert_eq!((loops.jitter_ns, loops.excess.max_ns), (0, 0));
        assert!(summarize_loops(&[], 1, (1_000, IdealSource::Best)).is_none());
    }

    #[test]
    fn every_part_of_an_interruption_has_its_cause() {
        let mut engine = InterruptionEngine::new(&[looker()], Some(800), Names::default());
        engine.push(block(&[
            (900, task(77, "irqpath", 19)),
            (5_000, Transition::HardirqEntry(Origin::Irq(36))),
            (6_500, Transition::HardirqExit),
            (6_500, Transition::SoftirqEntry(SoftirqVec::NetRx)),
            (8_000, Transition::SoftirqExit),
            (8_000, task(5, "migration/1", 0)),
            (9_000, task(77, "irqpath", 19)),
            (20_000, Transition::HardirqEntry(Origin::Irq(36))),
        ]));
        engine.add_interruption(1, 4_800, 9_300);
        engine.settle_windows();
        let all = engine.take_result(1, 1_000).unwrap();
        assert_eq!((all.quantiles.n, all.total_ns), (1, 4_500));
        let found: Vec<_> =
            all.longest[0].causes.iter().map(|c| (c.kind, c.who.as_str(), c.ns)).collect();
        assert_eq!(
            found,
            [
                (CauseKind::Hardirq, "36", 1_500),
                (CauseKind::Softirq, "net_rx", 1_500),
                (CauseKind::Thread, "migration/1:5 f:99", 1_000),
                (CauseKind::Own, "irqpath:77 f:80", 500),
            ]
        );
        assert_eq!(all.longest[0].at_ns, 3_800);
        assert_eq!(all.causes.iter().map(|c| c.total_ns).sum::<u64>(), 4_500);
    }

    #[test]
    fn what_nobody_saw_is_unexplained_and_counted() {
        let mut engine = InterruptionEngine::new(&[looker()], Some(800), Names::default());
        engine.add_interruption(1, 4_000, 5_000);
        engine.settle_windows();
        assert_eq!(engine.cpus[&1].waiting.len(), 1, "its transitions may still come");
        engine.flush();
        let all = engine.take_result(1, 1_000).unwrap();
        assert_eq!(all.causes[0].kind, CauseKind::Unexplained);
        assert_eq!(all.causes[0].total_ns, 1_000);
    }

    #[test]
    fn without_tracing_nothing_waits_and_the_longest_are_kept() {
        let mut engine = InterruptionEngine::new(&[looker()], None, Names::default());
        let nr = 3 * MAX_LONGEST as u64;
        for n in 0..nr {
            engine.add_interruption(1, 10_000 * n + 1_000, 10_000 * n + 2_000 + n);
        }
        engine.settle_windows();
        let all = engine.take_result(1, 1_000).unwrap();
        assert_eq!((all.quantiles.n, all.longest.len()), (nr, MAX_LONGEST));
        assert_eq!((all.longest[0].ns, all.quantiles.max_ns), (1_000 + nr - 1, 1_000 + nr - 1));
        assert!(all.longest[0].causes.is_empty() && all.causes.is_empty());
        assert_eq!(all.doubling.iter().map(|b| b.n).sum::<u64>(), nr);
    }

    #[test]
    fn transitions_beyond_the_bound_are_counted_as_lost() {
        let mut engine = InterruptionEngine::new(&[looker()], Some(0), Names::default());
        let nr = MAX_TRANSITIONS as u64 + 10;
        let all: Vec<_> = (0..nr).map(|n| (n, task(77, "irqpath", 19))).collect();
        engine.push(block(&all));
        let lost = engine.loss().get(LossReason::OccupancyOverrun);
        assert!((10..nr).contains(&lost), "{lost} of {nr}");
        engine.add_interruption(1, nr - 5, nr);
        engine.flush();
        assert_eq!(engine.take_result(1, 0).unwrap().quantiles.n, 1);
    }
}
