// SPDX-License-Identifier: GPL-2.0-or-later
//! Our counts beside the kernel's own (`/proc/interrupts`, `/proc/softirqs`).

use std::collections::BTreeMap;

use irqpath_model::{InterruptCounts, LineStats, Origin, SoftirqStats, Vector};

/// One row: interrupts of a line, vector or softirq on all CPUs in one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountCheck {
    /// The kernel's row label: `36`, `LOC`, `NET_RX`.
    pub label: String,
    /// Interrupts that irqpath counted in the window, on all CPUs.
    pub ours: u64,
    /// What the kernel counted.
    pub kernel: u64,
}

impl CountCheck {
    /// How far the two are apart.
    pub fn abs_difference(&self) -> u64 {
        self.ours.abs_diff(self.kernel)
    }
}

/// What was counted between two readings, for each row and CPU of the later one. A CPU or row
/// that the earlier one lacks counts from zero.
pub fn counts_between(before: &InterruptCounts, after: &InterruptCounts) -> InterruptCounts {
    let column = |cpu: u16| before.cpus.iter().position(|&c| c == cpu);
    let interrupts = rows_between(&before.interrupts, &after.interrupts, |at| {
        after.cpus.get(at).map_or(Some(at), |&cpu| column(cpu))
    });
    let softirqs = rows_between(&before.softirqs, &after.softirqs, Some);
    InterruptCounts { cpus: after.cpus.clone(), interrupts, softirqs }
}

/// `column` gives the earlier column of a later one.
fn rows_between(
    before: &BTreeMap<String, Vec<u64>>,
    after: &BTreeMap<String, Vec<u64>>,
    column: impl Fn(usize) -> Option<usize>,
) -> BTreeMap<String, Vec<u64>> {
    let mut rows = BTreeMap::new();
    for (label, counts) in after {
        let earlier = before.get(label);
        let row = counts.iter().enumerate().map(|(at, &count)| {
            let old = earlier.zip(column(at)).and_then(|(row, at)| row.get(at)).copied();
            counter_increase(old.unwrap_or(0), count)
        });
        rows.insert(label.clone(), row.collect());
    }
    rows
}

/// The kernel's counters are 32 bits wide and wrap; those of a line that was freed and
/// requested again start from zero.
fn counter_increase(before: u64, after: u64) -> u64 {
    const WIDTH: u64 = 1 << 32;
    match after.checked_sub(before) {
        Some(increase) => increase,
        None if before < WIDTH && before > WIDTH / 2 => WIDTH - before + after,
        None => after,
    }
}

/// Our counts beside the kernel's: every line, vector and softirq that either of us counted in
/// the window. Rows of the kernel that irqpath does not trace (NMI, TLB) are left out.
pub fn compare_counts(
    before: &InterruptCounts,
    after: &InterruptCounts,
    lines: &[LineStats],
    softirqs: &[SoftirqStats],
) -> Vec<CountCheck> {
    let kernel = counts_between(before, after);
    let mut ours: BTreeMap<String, u64> = BTreeMap::new();
    for line in lines.iter().filter(|l| !matches!(l.origin, Origin::Softirq(_))) {
        *ours.entry(line.origin.label()).or_default() += line.nr;
    }
    let mut checks = join_counts(ours, &kernel.interrupts, is_traced);
    let mut ours: BTreeMap<String, u64> = BTreeMap::new();
    for softirq in softirqs {
        *ours.entry(Origin::Softirq(softirq.vec).label()).or_default() += softirq.nr;
    }
    checks.extend(join_counts(ours, &kernel.softirqs, |_| true));
    checks
}

fn is_traced(label: &str) -> bool {
    label.parse::<u32>().is_ok() || Vector::ALL.iter().any(|v| v.label() == label)
}

fn join_counts(
    mut ours: BTreeMap<String, u64>,
    kernel: &BTreeMap<String, Vec<u64>>,
    is_traced: impl Fn(&str) -> bool,
) -> Vec<CountCheck> {
    for label in kernel.keys().filter(|label| is_traced(label)) {
        ours.entry(label.clone()).or_default();
    }
    ours.into_iter()
        .map(|(label, ours)| {
            let kernel = kernel.get(&label).map_or(0, |row| row.iter().sum());
            CountCheck { label, ours, kernel }
        })
        .filter(|check| check.ours > 0 || check.kernel > 0)
        .collect()
}
