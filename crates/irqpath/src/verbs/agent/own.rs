// SPDX-License-Identifier: GPL-2.0-or-later
//! What the agent takes itself: its memory now, and its programs in the kernel.

use irqpath_files::input;
use irqpath_report::openmetrics::ProgramFacts;
use irqpath_source::bpf::ProgramCosts;

/// Of `/proc/self/status`, which has two kilobytes.
const MAX_STATUS: u64 = 1 << 20;

/// Resident memory of this process, bytes; 0 if it cannot be read.
pub fn resident_bytes() -> u64 {
    let status = input::read_text("/proc/self/status".as_ref(), MAX_STATUS).unwrap_or_default();
    parse_resident(&status).unwrap_or(0)
}

/// `VmRSS`, which is in KiB.
fn parse_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
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
        assert_eq!(parse_resident("VmHWM:\t 9 kB\nVmRSS:\t    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse_resident("VmHWM:\t 9 kB\n"), None);
        let before = resident_bytes();
        let touched = vec![1_u8; 32 << 20];
        let with = resident_bytes();
        assert!(before > 1 << 20 && with >= before + (16 << 20), "{before} {with}");
        drop(touched);
        assert!(resident_bytes() < with - (16 << 20), "it is the peak");
    }
}
