// SPDX-License-Identifier: GPL-2.0-or-later
//! What an agent knows beside the statistics of paths: where slow paths lost their time, and which
//! interrupts reach CPUs that are kept free of them.

use std::collections::BTreeMap;

use strum::IntoStaticStr;

use crate::{CauseKind, Origin, SlowPath};

/// Time of slow paths by what took it. Cumulative.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CauseTotals {
    nr_paths: u64,
    by_kind: BTreeMap<CauseKind, u64>,
    is_virtual: bool,
}

impl CauseTotals {
    /// No paths yet, of a virtual machine or of a real one.
    pub fn of_machine(is_virtual: bool) -> Self {
        Self { is_virtual, ..Self::default() }
    }

    /// True if they are of a virtual machine.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// Adds the causes of every stage of a path.
    pub fn add_path(&mut self, path: &SlowPath) {
        self.nr_paths += 1;
        for cause in path.stages.iter().flat_map(|stage| &stage.causes) {
            *self.by_kind.entry(cause.kind).or_default() += cause.ns;
        }
    }

    /// How many paths were added.
    pub fn nr_paths(&self) -> u64 {
        self.nr_paths
    }

    /// Each kind that was met, and the time that it took, ns.
    pub fn iter(&self) -> impl Iterator<Item = (CauseKind, u64)> + '_ {
        self.by_kind.iter().map(|(&kind, &ns)| (kind, ns))
    }
}

/// Why an interrupt reaches a CPU that is kept free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum WhyHere {
    /// A vector of the CPU itself, as its timer or an IPI: it has no affinity.
    PerCpu,
    /// Its affinity allows the CPU: nobody moved it away.
    Affinity,
    /// Its affinity excludes the CPU, but the kernel manages it and serves it there all the same.
    Managed,
    /// Nobody could read its affinity.
    Unknown,
}

/// Interrupts of one line or vector on one CPU that is kept free. Cumulative.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intrusion {
    /// Device line or CPU vector.
    pub origin: Origin,
    /// The CPU that served it.
    pub cpu: u16,
    /// Why there.
    pub why: WhyHere,
    /// How many.
    pub nr: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, PathEnd, PathRecord, Point, StageCauses, Task, Via};

    #[test]
    fn causes_of_all_stages_add_up() {
        let cause = |kind, ns| Cause { kind, who: String::new(), ns, nr_times: 1 };
        let stage = |to, causes| StageCauses {
            from: Point::Hardirq,
            to,
            cpu: 0,
            waited_for: Vec::new(),
            ns: 0,
            causes,
        };
        let path = SlowPath {
            record: PathRecord {
                origin: Origin::Irq(1),
                via: Via::empty(),
                stamps: [None; Point::COUNT],
                timer_fn: 0,
                target: Task::default(),
                end: PathEnd::SwitchIn,
                queues: Vec::new(),
                cgroup: None,
            },
            stages: vec![
                stage(Point::Waking, vec![cause(CauseKind::Steal, 5), cause(CauseKind::Nmi, 1)]),
                stage(Point::SwitchIn, vec![cause(CauseKind::Steal, 7)]),
            ],
        };
        let mut totals = CauseTotals::default();
        totals.add_path(&path);
        totals.add_path(&path);
        assert_eq!(totals.nr_paths(), 2);
        let all: Vec<_> = totals.iter().collect();
        assert_eq!(all, [(CauseKind::Nmi, 2), (CauseKind::Steal, 24)]);
    }
}
