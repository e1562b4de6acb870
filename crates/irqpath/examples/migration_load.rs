// SPDX-License-Identifier: GPL-2.0-or-later
//! A load that moves tasks from run queue to run queue while they wait: `migration_load SECONDS`.
//!
//! Four tasks compute, two on each of two CPUs, so that both run queues are loaded. Eight tasks sleep
//! a millisecond at a time, and one moves those from one CPU to the other as fast as it can. Most
//! of them are moved while they are queued, which is when the CPU that they waited for is not the
//! one on which they run at last. Ends by itself.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, Pid, gettid, sched_setaffinity};

const NR_SLEEPERS: usize = 8;

fn main() -> ExitCode {
    let Some(seconds) = std::env::args().nth(1).and_then(|text| text.parse().ok()) else {
        eprintln!("usage: migration_load SECONDS");
        return ExitCode::from(2);
    };
    let end = Instant::now() + Duration::from_secs(seconds);
    let (tell, told) = channel();
    let mut threads = Vec::new();
    for cpu in [0, 0, 1, 1] {
        threads.push(start_thread("move-hog", move || compute_on(cpu, end)));
    }
    for _ in 0..NR_SLEEPERS {
        let tell = tell.clone();
        threads.push(start_thread("move-sleeper", move || {
            if tell.send(gettid()).is_ok() {
                sleep_until(end);
            }
        }));
    }
    let sleepers: Vec<Pid> = told.iter().take(NR_SLEEPERS).collect();
    move_around(&sleepers, end);
    for thread in threads {
        let _ = thread.map(thread::JoinHandle::join);
    }
    ExitCode::SUCCESS
}

fn start_thread(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}

fn pin_task(task: Option<Pid>, cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    // A sleeper may have ended; a machine with one CPU moves nothing.
    let _ = sched_setaffinity(task, &set);
}

fn compute_on(cpu: usize, end: Instant) {
    pin_task(None, cpu);
    let mut value = 1_u64;
    while Instant::now() < end {
        for _ in 0..10_000 {
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

fn sleep_until(end: Instant) {
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
        black_box((0..20_000_u64).fold(1, |a, b| black_box(a ^ b)));
    }
}

/// From CPU to CPU, one after the other, with pauses of a tenth of a millisecond.
fn move_around(sleepers: &[Pid], end: Instant) {
    for round in 0_usize.. {
        for (nr, sleeper) in sleepers.iter().enumerate() {
            pin_task(Some(*sleeper), (round + nr) & 1);
            thread::sleep(Duration::from_micros(100));
        }
        if Instant::now() > end {
            break;
        }
    }
}
