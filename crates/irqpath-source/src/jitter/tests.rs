// SPDX-License-Identifier: GPL-2.0-or-later
//! Short live runs: nothing is said here about how quiet the machine is, only that what is
//! reported is what happened.

use rustix::thread::{CpuSet, sched_getaffinity};

use super::*;

fn config(test: Test, ms: u64) -> JitterConfig {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu)).unwrap() as u16;
    JitterConfig { test, cpu, sched: Scheduling::other(0), duration: Duration::from_millis(ms) }
}

/// Samples and the end of a test that is left alone.
fn run(test: Test, ms: u64) -> (Vec<(u64, u64)>, JitterEnd) {
    let mut subject = Subject::start(&config(test, ms)).unwrap();
    subject.let_measure();
    let mut samples = Vec::new();
    while !subject.is_done() {
        subject.drain_samples(|start, end| samples.push((start, end)));
        std::thread::sleep(Duration::from_millis(2));
    }
    let end = subject.stop();
    subject.drain_samples(|start, end| samples.push((start, end)));
    (samples, end)
}

#[test]
fn loops_follow_each_other_and_fill_the_time() {
    let nr = nr_sines_for(Duration::from_millis(2));
    let (loops, end) = run(Test::Sines(nr), 100);
    assert!(end.lasted_ns >= 100_000_000 && end.nr_lost == 0, "{end:?}");
    assert!(loops.windows(2).all(|w| w[0].0 < w[0].1 && w[0].1 <= w[1].0));
    let computed: u64 = loops.iter().map(|(start, end)| end - start).sum();
    assert!(computed <= end.lasted_ns);
    // Twice the work takes longer: the compiler has not left it away.
    let (longer, _) = run(Test::Sines(8 * nr), 100);
    let shortest = |all: &[(u64, u64)]| all.iter().map(|(start, end)| end - start).min().unwrap();
    assert!(shortest(&longer) > 4 * shortest(&loops), "{} {}", shortest(&longer), shortest(&loops));
}

#[test]
fn interruptions_are_those_over_the_threshold() {
    let (all, end) = run(Test::Looks(2_000), 200);
    assert!(all.iter().all(|(start, end)| end - start >= 2_000));
    assert!(all.windows(2).all(|w| w[0].1 <= w[1].0));
    assert!(end.nr_looks > 10_000 && end.look_ns < 10_000, "{end:?}");
    let inside = all.iter().all(|(s, e)| *s >= end.since_ns && *e <= end.since_ns + end.lasted_ns);
    assert!(inside && end.lasted_ns >= 200_000_000);
    let (none, _) = run(Test::Looks(u64::MAX), 20);
    assert!(none.is_empty());
}

#[test]
fn it_ends_when_it_is_asked_to() {
    let mut subject = Subject::start(&config(Test::Looks(1_000), 1_000_000)).unwrap();
    subject.let_measure();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!subject.is_done());
    let end = subject.stop();
    assert!(end.lasted_ns < 60_000_000_000 && subject.is_done(), "{end:?}");
}
