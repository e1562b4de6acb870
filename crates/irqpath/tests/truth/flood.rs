// SPDX-License-Identifier: GPL-2.0-or-later
//! An interrupt flood pinned to the target's CPU: timerfds by the hundred expire together, so
//! that single timer interrupts last long. A FIFO task above the target reads the clock all the
//! while and sees each interrupt as a gap: that is the truth.

use std::os::fd::OwnedFd;
use std::time::Duration;

use irqpath_model::CauseKind;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::scene::{Busy, CPU, agree, cause_ns, fifo, now_ns, pin, play};

const TIMERS: usize = 900;
const ROUNDS: usize = 40;
const SPIN_NS: u64 = 3_000_000;
/// Shorter gaps are the cost of reading the clock.
const GAP_NS: u64 = 3_000;

fn arm(timers: &[OwnedFd], first_ns: u64) {
    for (i, fd) in timers.iter().enumerate() {
        // Three bursts, 700 us apart.
        let at_ns = first_ns + (i as u64 % 3) * 700_000;
        let value = Timespec {
            tv_sec: (at_ns / 1_000_000_000) as i64,
            tv_nsec: (at_ns % 1_000_000_000) as i64,
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(fd, TimerfdTimerFlags::ABSTIME, &once).expect("timerfd_settime");
    }
}

fn flood() -> Vec<Busy> {
    pin(CPU);
    fifo(20);
    let timers: Vec<OwnedFd> = (0..TIMERS)
        .map(|_| timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty()).expect("timerfd"))
        .collect();
    let mut gaps = Vec::new();
    for _ in 0..ROUNDS {
        std::thread::sleep(Duration::from_millis(6));
        arm(&timers, now_ns() + 1_500_000);
        let end_ns = now_ns() + SPIN_NS + 1_000_000;
        let mut last_ns = now_ns();
        while last_ns < end_ns {
            let ns = now_ns();
            if ns - last_ns > GAP_NS {
                gaps.push(Busy { start_ns: last_ns, end_ns: ns });
            }
            last_ns = ns;
        }
    }
    gaps
}

#[test]
fn a_flood_of_interrupts_on_the_targets_cpu_is_named_with_its_time() {
    let Some((slow, gaps, _guard)) = play(Duration::from_millis(1), flood) else { return };
    agree(
        &slow,
        ROUNDS / 4,
        |wait| gaps.iter().map(|g| g.overlap_ns(wait.start_ns, wait.end_ns)).sum(),
        |path| cause_ns(path, CauseKind::Hardirq, "LOC"),
    );
}
