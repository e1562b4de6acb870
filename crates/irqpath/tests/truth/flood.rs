// SPDX-License-Identifier: GPL-2.0-or-later
//! An interrupt flood pinned to the target's CPU: timerfds by the thousand expire together, so
//! that single timer interrupts last long. A FIFO task above the target reads the clock all the
//! while and sees each interrupt as a gap: that is the truth.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::scene::{
    Busy, CPU, cause_ns, expect_agreement, is_interrupt, now_ns, overlap_ns, pin_thread,
    raise_nofile, set_fifo, trace_target, watch_until,
};

const TIMERS: usize = 18_000;
/// With fewer the handlers are too short against what an interrupt costs around them.
const TIMERS_MIN: usize = 9_000;
const ROUNDS: usize = 25;
const SPIN_NS: u64 = 12_000_000;
/// Interrupts per round, and how long one lasts at least.
const BURSTS: usize = 3;
const BURST_MIN_NS: u64 = 500_000;
/// Long enough to arm all of them.
const ARM_NS: u64 = 40_000_000;
/// The watcher is on the CPU this long before the first burst: the target wakes in between.
const LEAD_NS: u64 = 2_500_000;
fn arm_timers(timers: &[OwnedFd], first_ns: u64) {
    for (i, fd) in timers.iter().enumerate() {
        // So far apart that one ends before the next.
        let at_ns = first_ns + (i % BURSTS) as u64 * 4_000_000;
        let value = Timespec {
            tv_sec: (at_ns / 1_000_000_000).cast_signed(),
            tv_nsec: (at_ns % 1_000_000_000).cast_signed(),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(fd, TimerfdTimerFlags::ABSTIME, &once).expect("timerfd_settime");
    }
}

/// Above the target: sees every interrupt of a burst as a gap.
fn watch_gaps(starts: &Receiver<u64>) -> Vec<Busy> {
    pin_thread(CPU);
    set_fifo(20);
    let mut gaps = Vec::new();
    while let Ok(first_ns) = starts.recv() {
        let lead_ns = (first_ns - LEAD_NS).saturating_sub(now_ns());
        std::thread::sleep(Duration::from_nanos(lead_ns));
        gaps.extend(watch_until(first_ns + SPIN_NS));
    }
    gaps
}

fn make_flood() -> Vec<Busy> {
    let (starts, inbox) = channel();
    let watcher = std::thread::spawn(move || watch_gaps(&inbox));
    pin_thread(CPU);
    set_fifo(5); // below the target: arming takes long and must not delay it
    let nr = TIMERS.min(raise_nofile() - 100);
    let timers: Vec<OwnedFd> = (0..nr)
        .map(|_| timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty()).expect("timerfd"))
        .collect();
    for _ in 0..ROUNDS {
        let first_ns = now_ns() + ARM_NS;
        arm_timers(&timers, first_ns);
        starts.send(first_ns).expect("the watcher is there");
        std::thread::sleep(Duration::from_nanos(ARM_NS + SPIN_NS));
    }
    drop(starts);
    watcher.join().expect("watch")
}

#[test]
fn a_flood_of_interrupts_on_the_targets_cpu_is_named_with_its_time() {
    if raise_nofile() < TIMERS_MIN + 100 {
        println!("skipped: needs {TIMERS_MIN} open files (ulimit -Hn)");
        return;
    }
    let Some((slow, gaps, _guard)) = trace_target(Duration::from_millis(1), make_flood) else {
        return;
    };
    expect_agreement(
        &slow,
        ROUNDS / 4,
        BURSTS as u64 * BURST_MIN_NS,
        |wait| {
            // All bursts or none: a watcher that was late has not seen the first.
            let long = |g: &&Busy| g.overlap_ns(wait.start_ns, wait.end_ns) > BURST_MIN_NS;
            let bursts: Vec<Busy> = gaps.iter().filter(long).copied().collect();
            let ns = if bursts.len() == BURSTS { overlap_ns(&bursts, wait) } else { 0 };
            (ns, ns)
        },
        |path| cause_ns(path, |c| is_interrupt(c) && c.who == "LOC:local_timer"),
    );
}
