// SPDX-License-Identifier: GPL-2.0-or-later
//! What the agent takes itself: its memory now, and its programs in the kernel.

use irqpath_report::openmetrics::ProgramFacts;
use irqpath_source::bpf::ProgramCosts;

use crate::session::own_bytes;

/// Resident memory of this process, bytes; 0 if it cannot be read.
pub fn resident_bytes() -> u64 {
    own_bytes("VmRSS")
}

/// What each program took while the kernel timed them.
pub fn list_programs(costs: &ProgramCosts) -> Vec<ProgramFacts> {
    let facts = costs.read().into_iter();
    facts
        .map(|cost| ProgramFacts { name: cost.name, nr_runs: cost.nr_runs, run_ns: cost.run_ns })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_that_of_now() {
        let before = resident_bytes();
        let touched = vec![1_u8; 32 << 20];
        let with = resident_bytes();
        assert!(before > 1 << 20 && with >= before + (16 << 20), "{before} {with}");
        drop(touched);
        assert!(resident_bytes() < with - (16 << 20), "it is the peak");
    }
}
