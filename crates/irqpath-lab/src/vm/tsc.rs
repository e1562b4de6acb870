// SPDX-License-Identifier: GPL-2.0-or-later
//! The rate of the TSC of guests in real time. QEMU's translator hands them the host's, whose rate
//! they measure at boot against timers that are late on a busy host: a kernel that sees no two equal
//! measurements gives the TSC up and is left with a clock of ticks.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use irqpath_model::bench::Clock;
use irqpath_source::ticks::TickMeter;

use super::{Accelerator, Machine};
use crate::kernel::Arch;

/// Right to some parts in a million, where the kernel's own measurement may be off by 500 and what
/// it measures again, a second after boot, is used if it is within one percent.
const MEASURED: Duration = Duration::from_millis(60);

/// What this guest cannot be trusted to measure, kHz; `None` where it sees another counter or has a
/// better way to know.
pub fn known_khz(machine: &Machine, accelerator: Accelerator) -> Option<u64> {
    static HOST: OnceLock<Option<u64>> = OnceLock::new();
    let sees_the_hosts = machine.arch == Arch::X86_64
        && TickMeter::CLOCK == Some(Clock::Tsc)
        && matches!(accelerator, Accelerator::TcgMulti | Accelerator::TcgSingle);
    if !sees_the_hosts {
        return None;
    }
    *HOST.get_or_init(measure_khz)
}

fn measure_khz() -> Option<u64> {
    let meter = TickMeter::start()?;
    thread::sleep(MEASURED);
    Some(meter.measure_rate()?.hz / 1000)
}
