// SPDX-License-Identifier: GPL-2.0-or-later
//! Statistics of events that were kept: for a recording that is not whole, and for a capture of the
//! flight recorder, which has none of the kernel's.

use std::collections::BTreeMap;

use irqpath_model::{
    LineStats, Loss, LossReason, MAX_PATHS, Occupancy, Origin, PathKey, PathRecord, PathStats,
    SoftirqStats, SoftirqVec, Transition,
};

/// Statistics of each path.
#[derive(Debug, Default)]
pub struct PathTally {
    paths: BTreeMap<PathKey, PathStats>,
    /// Records of paths for which there was no room.
    nr_left_out: u64,
}

impl PathTally {
    /// Counts one path.
    pub fn add_record(&mut self, record: &PathRecord) {
        let key = record.key();
        if self.paths.len() < MAX_PATHS || self.paths.contains_key(&key) {
            let new = || PathStats::new(key.clone());
            self.paths.entry(key.clone()).or_insert_with(new).record_path(record);
        } else {
            self.nr_left_out += 1;
        }
    }

    /// In order of their keys.
    pub fn stats(&self) -> Vec<PathStats> {
        self.paths.values().cloned().collect()
    }

    /// What found no room.
    pub fn add_loss(&self, loss: &mut Loss) {
        loss.add_loss(LossReason::HistogramTableFull, self.nr_left_out);
    }
}

/// Deeper nests of interrupts are not followed.
const MAX_NEST: usize = 8;

/// Counts of interrupts and softirqs, from the transitions of each CPU.
#[derive(Debug, Default)]
pub struct LineTally {
    lines: BTreeMap<(Origin, u16), LineStats>,
    softirqs: BTreeMap<(SoftirqVec, u16), SoftirqStats>,
    open: BTreeMap<u16, Open>,
}

/// What runs on a CPU, and since when.
#[derive(Debug, Default)]
struct Open {
    hardirqs: Vec<(Origin, u64)>,
    softirq: Option<(SoftirqVec, u64)>,
}

impl LineTally {
    /// Counts what begins and ends in a run of transitions of one CPU. What a chunk only restates has
    /// begun before, and is not counted again.
    pub fn add_block(&mut self, block: &[Occupancy]) {
        let begin_ns = block.first().map_or(0, |first| first.ns);
        for Occupancy { ns, cpu, what, .. } in block {
            let Open { hardirqs, softirq } = self.open.entry(*cpu).or_default();
            match what {
                Transition::HardirqEntry(origin) => {
                    let is_restated = *ns == begin_ns && hardirqs.iter().any(|(o, _)| o == origin);
                    if !is_restated && hardirqs.len() < MAX_NEST {
                        hardirqs.push((*origin, *ns));
                    }
                }
                Transition::HardirqExit => {
                    if let Some((origin, since)) = hardirqs.pop() {
                        add_run(&mut self.lines, origin, *cpu, ns.saturating_sub(since));
                    }
                }
                Transition::SoftirqEntry(vec) if softirq.is_none_or(|(open, _)| open != *vec) => {
                    *softirq = Some((*vec, *ns));
                }
                Transition::SoftirqExit => {
                    if let Some((vec, since)) = softirq.take() {
                        self.add_softirq(vec, *cpu, ns.saturating_sub(since));
                    }
                }
                // Nothing switches inside a hardirq.
                Transition::SwitchIn(_) | Transition::Unseen(_) if *ns != begin_ns => {
                    hardirqs.clear();
                }
                _ => {}
            }
        }
    }

    fn add_softirq(&mut self, vec: SoftirqVec, cpu: u16, run_ns: u64) {
        let new = SoftirqStats {
            vec,
            cpu,
            nr: 0,
            run_ns: 0,
            max_run_ns: 0,
            delay_ns: 0,
            max_delay_ns: 0,
        };
        let stats = self.softirqs.entry((vec, cpu)).or_insert(new);
        stats.nr += 1;
        stats.run_ns += run_ns;
        stats.max_run_ns = stats.max_run_ns.max(run_ns);
    }

    /// Hardirqs for each line and CPU.
    pub fn lines(&self) -> Vec<LineStats> {
        self.lines.values().cloned().collect()
    }

    /// Softirqs for each vector and CPU.
    pub fn softirqs(&self) -> Vec<SoftirqStats> {
        self.softirqs.values().cloned().collect()
    }
}

fn add_run(lines: &mut BTreeMap<(Origin, u16), LineStats>, origin: Origin, cpu: u16, run_ns: u64) {
    let new = LineStats { origin, cpu, nr: 0, run_ns: 0, max_run_ns: 0 };
    let line = lines.entry((origin, cpu)).or_insert(new);
    line.nr += 1;
    line.run_ns += run_ns;
    line.max_run_ns = line.max_run_ns.max(run_ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::{Task, Vector};

    fn block(what: &[(u64, Transition)]) -> Vec<Occupancy> {
        let one = |(seq, (ns, what)): (usize, &(u64, Transition))| Occupancy {
            ns: *ns,
            cpu: 1,
            seq: seq as u64,
            what: what.clone(),
        };
        what.iter().enumerate().map(one).collect()
    }

    #[test]
    fn what_is_restated_is_counted_once() {
        let (timer, line) = (Origin::Vector(Vector::LocalTimer), Origin::Irq(7));
        let switch = Transition::SwitchIn(Task::default());
        let mut tally = LineTally::default();
        tally.add_block(&block(&[
            (10, switch.clone()),
            (20, Transition::HardirqEntry(timer)),
            (22, Transition::HardirqEntry(line)),
            (25, Transition::HardirqExit),
        ]));
        tally.add_block(&block(&[
            (30, switch.clone()),
            (30, Transition::HardirqEntry(timer)),
            (40, Transition::HardirqExit),
            (50, Transition::SoftirqEntry(SoftirqVec::Timer)),
        ]));
        tally.add_block(&block(&[
            (60, switch),
            (60, Transition::SoftirqEntry(SoftirqVec::Timer)),
            (90, Transition::SoftirqExit),
        ]));
        let lines: Vec<_> = tally.lines().iter().map(|l| (l.origin, l.nr, l.run_ns)).collect();
        assert_eq!(lines, [(line, 1, 3), (timer, 1, 20)]);
        let softirqs: Vec<_> = tally.softirqs().iter().map(|s| (s.nr, s.run_ns)).collect();
        assert_eq!(softirqs, [(1, 40)]);
    }
}
