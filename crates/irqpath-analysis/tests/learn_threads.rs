// SPDX-License-Identifier: GPL-2.0-or-later
//! What a watch learns from pairs of a thread and a task, without paths.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use irqpath_analysis::learn::{Learner, ThreadWakeups};
use irqpath_model::tune::{Association, Carrier};
use irqpath_model::{Names, Origin, SoftirqVec, TaskId};

const S: u64 = 1_000_000_000;

fn wakes(waker: &str, wakee_tid: u32, nr: u64) -> ThreadWakeups<'_> {
    ThreadWakeups { waker, wakee_tid, wakee: "t", nr }
}

#[test]
fn threads_that_wake_teach_lines_and_interrupts_stand_for_ordinary_wakeups() {
    let mut learner = Learner::default();
    let wakeups = [
        wakes("irq/5-a-name-that-is-long", 7, 40),
        wakes("irq/6-s-dev", 7, 3),
        wakes("kworker/0:1", 7, 50),
        wakes("jackd", 7, 50),
        wakes("napi/enp3s0f0-8193", 8, 9),
        wakes("ktimers/0", 8, 9),
    ];
    // Line 5 wakes two tasks at a time, line 6 somebody ordinary, line 9 nobody who is known.
    learner.record_wakeups(&wakeups, &[(5, 20), (6, 300), (9, 1000)].into(), S);
    let all = learner.associations(&Names::default());
    let find = |origin| all.iter().find(|a| a.origin == origin).unwrap();
    let five = find(Origin::Irq(5));
    assert_eq!((five.nr, five.share, five.established), (40, 1.0, true));
    assert_eq!(five.carriers[0].comm.as_str(), "irq/5-a-name-th", "cut as the tracer cuts it");
    let six = find(Origin::Irq(6));
    assert_eq!((six.nr, six.share, six.established), (3, 0.01, false));
    for (vector, carrier) in
        [(SoftirqVec::NetRx, "napi/enp3s0f0-8193"), (SoftirqVec::Timer, "ktimers/0")]
    {
        let one = find(Origin::Softirq(vector));
        assert_eq!((one.carriers[0].comm.as_str(), one.established), (carrier, true));
    }
    assert_eq!(all.len(), 4, "a worker and a task teach nothing: {all:?}");
}

#[test]
fn a_thread_of_many_lines_adds_to_the_one_it_is_known_to_carry() {
    let mut learner = Learner::default();
    let known = Association {
        origin: Origin::Irq(5),
        line: "5".into(),
        task: TaskId { tid: 7, start_ticks: 0 },
        comm: "t".into(),
        carriers: vec![Carrier { comm: "ksoftirqd/0".into(), nr: 4 }],
        nr: 4,
        recent: 4.0,
        share: 1.0,
        confidence: 0.5,
        age_ns: 0,
        established: true,
        pinned: false,
    };
    learner.adopt_known(&[known], S);
    learner.record_wakeups(&[wakes("ksoftirqd/0", 7, 6)], &[(5, 6)].into(), 2 * S);
    let all = learner.associations(&Names::default());
    let [one] = &all[..] else { panic!("{all:?}") };
    assert_eq!((one.origin, one.nr, one.carriers[0].nr), (Origin::Irq(5), 10, 10));
    // Its line goes on without it: then it is not served any more.
    learner.record_wakeups(&[], &[(5, 100_000)].into(), 3 * S);
    assert!(learner.associations(&Names::default()).is_empty());
}
