// SPDX-License-Identifier: GPL-2.0-or-later
//! Interrupts that reach CPUs which are kept free of them, each with its reason: what `shield verify`
//! finds once, all the time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use irqpath_model::{CpuList, Intrusion, LineStats, Origin, WhyHere};
use irqpath_system::Host;

/// How often it is asked which CPUs are isolated, and which may serve a line.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Counts the interrupts since their CPU was isolated.
#[derive(Debug)]
pub struct Watch {
    host: Host,
    asked: Option<Instant>,
    isolated: CpuList,
    /// Counts of the last look at the lines, on every CPU.
    last: BTreeMap<(Origin, u16), u64>,
    found: BTreeMap<(Origin, u16, WhyHere), u64>,
}

impl Watch {
    /// Nothing is known yet.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            asked: None,
            isolated: CpuList::default(),
            last: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Adds the interrupts since the last call, and returns all that were found so far. Those of a CPU
    /// count from the second look after it was isolated on: before it, nobody had promised anything.
    pub fn add_lines(&mut self, lines: &[LineStats]) -> Vec<Intrusion> {
        let was_isolated = self.isolated.clone();
        let is_first = self.asked.is_none();
        if self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY) {
            self.isolated = self.host.isolated_cpus();
            self.asked = Some(Instant::now());
        }
        let cpus = self.isolated.intersection(&was_isolated);
        for line in lines {
            let before = self.last.insert((line.origin, line.cpu), line.nr).unwrap_or(0);
            let new = line.nr.saturating_sub(before);
            if new > 0 && !is_first && cpus.contains(line.cpu) {
                let why = find_reason(&self.host, line.origin, line.cpu);
                *self.found.entry((line.origin, line.cpu, why)).or_default() += new;
            }
        }
        let row = |(&(origin, cpu, why), &nr)| Intrusion { origin, cpu, why, nr };
        self.found.iter().map(row).collect()
    }
}

/// Why a line or a vector came to this CPU, as far as its affinity tells. One that was moved away
/// since could be moved.
fn find_reason(host: &Host, origin: Origin, cpu: u16) -> WhyHere {
    let Origin::Irq(irq) = origin else { return WhyHere::PerCpu };
    let Some(allowed) = host.irq_affinity(irq) else { return WhyHere::Unknown };
    let serves = host.irq_effective_affinity(irq);
    if !allowed.contains(cpu) && serves.is_some_and(|cpus| cpus.contains(cpu)) {
        WhyHere::Managed
    } else {
        WhyHere::Affinity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use irqpath_model::Vector;

    fn line(origin: Origin, cpu: u16, nr: u64) -> LineStats {
        LineStats { origin, cpu, nr, run_ns: 0, max_run_ns: 0 }
    }

    #[test]
    fn each_has_its_reason_and_only_those_since_count() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("sys/devices/system/cpu/isolated", "1\n"),
            ("proc/irq/36/smp_affinity_list", "0-1\n"),
            ("proc/irq/40/smp_affinity_list", "0\n"),
            ("proc/irq/40/effective_affinity_list", "1\n"),
            ("proc/irq/42/smp_affinity_list", "0\n"),
            ("proc/irq/42/effective_affinity_list", "0\n"),
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut watch = Watch::new(Host::new(root.path()));
        let timer = Origin::Vector(Vector::LocalTimer);
        let lines = |nr| {
            [Origin::Irq(36), Origin::Irq(40), Origin::Irq(41), Origin::Irq(42), timer]
                .map(|origin| [line(origin, 0, nr), line(origin, 1, nr)])
                .concat()
        };
        assert!(watch.add_lines(&lines(10)).is_empty(), "of before");
        let found = watch.add_lines(&lines(13));
        let got: Vec<_> = found.iter().map(|i| (i.origin, i.cpu, i.why, i.nr)).collect();
        let want = [
            (Origin::Irq(36), 1, WhyHere::Affinity, 3),
            (Origin::Irq(40), 1, WhyHere::Managed, 3),
            (Origin::Irq(41), 1, WhyHere::Unknown, 3),
            (Origin::Irq(42), 1, WhyHere::Affinity, 3),
            (timer, 1, WhyHere::PerCpu, 3),
        ];
        assert_eq!(got, want);
    }
}
