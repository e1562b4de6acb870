// SPDX-License-Identifier: GPL-2.0-or-later
//! On which CPUs this process may run, and keeping a thread on one of them.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs that this process may use; one that cannot tell has the first.
pub(crate) fn list_own() -> Vec<usize> {
    let own = sched_getaffinity(None).unwrap_or_default();
    let cpus: Vec<_> = (0..CpuSet::MAX_CPU).filter(|cpu| own.is_set(*cpu)).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Keeps this thread and the programs it starts on a CPU. Where that is refused they only take
/// longer.
pub(crate) fn stay_on(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}
