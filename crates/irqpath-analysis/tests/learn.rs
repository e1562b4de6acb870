// SPDX-License-Identifier: GPL-2.0-or-later
//! Which interrupt serves which task, and what is made of it: tables of situations, and properties
//! of counting, fading and taking over what was learned before.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeMap;

use irqpath_analysis::learn::{Carriers, Learner, plan_priorities};
use irqpath_model::tune::{Association, Carrier, LeftAlone, LiveThread, TunePlan, WrongOrder};
use irqpath_model::{
    Comm, Event, Names, Occupancy, Origin, PathEnd, PathRecord, Point, Policy, Scheduling, Stamp,
    Task, TaskId, Transition, Via,
};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;

fn task(tid: u32, comm: &str, prio: i16) -> Task {
    Task { tid, comm: comm.into(), prio, normal_prio: prio, ..Task::default() }
}

/// A path through an irq thread: handler at `ns`, thread 10 later, wakeup 20, running 30.
fn path(irq: u32, target: Task, ns: u64) -> PathRecord {
    let mut stamps = [None; Point::COUNT];
    for (point, later) in
        [(Point::Hardirq, 0), (Point::IrqThread, 10), (Point::Waking, 20), (Point::SwitchIn, 30)]
    {
        stamps[point.index()] = Some(Stamp { ns: ns + later, cpu: 0 });
    }
    let (origin, end) = (Origin::Irq(irq), PathEnd::User);
    PathRecord {
        origin,
        via: Via::IRQ_THREAD,
        stamps,
        timer_fn: 0,
        target,
        end,
        queues: Vec::new(),
        cgroup: None,
    }
}

fn learned(wakeups: &[(u32, u32, u64)]) -> Learner {
    let mut learner = Learner::default();
    for &(irq, tid, ns) in wakeups {
        let prio = if tid < 100 { 19 } else { 120 };
        let carrier = Comm::from(format!("irq/{irq}-dev").as_str());
        learner.record_path(&path(irq, task(tid, "t", prio), ns), &[carrier]);
    }
    learner
}

#[test]
fn counts_share_and_confidence() {
    // Line 5 wakes task 7 thirty times and the ordinary task 100 ten times; line 6 wakes 7 once.
    let mut wakeups: Vec<_> = (0..30).map(|n| (5, 7, n * 1000)).collect();
    wakeups.extend((0..10).map(|n| (5, 100, n * 1000)));
    wakeups.push((6, 7, 29_000));
    let all = learned(&wakeups).associations(&Names::default());
    let [often, once] = &all[..] else { panic!("{all:?}") };
    assert_eq!(
        (often.origin, often.task.tid, often.nr, often.established),
        (Origin::Irq(5), 7, 30, true)
    );
    assert!((often.share - 0.75).abs() < 1e-6, "{often:?}");
    // Wilson's interval for 30 of 40 begins at 0.598.
    assert!((often.confidence - 0.598).abs() < 0.001, "{often:?}");
    assert_eq!(often.carriers, [Carrier { comm: "irq/5-dev".into(), nr: 30 }]);
    assert_eq!((once.nr, once.established), (1, false));
    assert!((once.confidence - 0.2065).abs() < 0.001, "{once:?}");
}

#[test]
fn a_boost_makes_no_real_time_task() {
    let mut learner = Learner::default();
    let boosted = Task { normal_prio: 120, ..task(7, "t", 10) };
    (0..9).for_each(|n| learner.record_path(&path(5, boosted.clone(), n), &[]));
    assert_eq!(learner.associations(&Names::default()), []);
}

#[test]
fn time_alone_ends_nothing_and_a_busy_line_without_the_task_does() {
    let mut learner =
        learned(&[(5, 7, 0), (5, 7, S), (5, 7, 2 * S), (6, 8, 0), (6, 8, 1), (6, 8, 2)]);
    assert_eq!(learner.associations(&Names::default()).len(), 2);
    // An hour later line 6 is busy with others, line 5 was not heard of.
    (0..500).for_each(|n| learner.record_path(&path(6, task(100, "o", 120), 3600 * S + n), &[]));
    let all = learner.associations(&Names::default());
    assert!(matches!(&all[..], [one] if one.task.tid == 7 && one.established), "{all:?}");
    assert!(all[0].age_ns > 3590 * S && all[0].recent < 1e-9, "{all:?}");
}

#[test]
fn tasks_that_are_gone_are_forgotten_and_so_are_their_numbers() {
    let mut learner = learned(&[(5, 7, 0), (5, 7, 1), (5, 7, 2), (5, 8, 2)]);
    learner.retain_living(|tid| (tid == 7).then_some(1234));
    assert_eq!(learner.associations(&Names::default()).len(), 1);
    learner.retain_living(|_| Some(5678)); // the number 7 was given to another task
    assert_eq!(learner.associations(&Names::default()), []);
}

/// Occupancy of CPU 0 as the kernel delivers it.
fn switches(at: &[(u64, Task)]) -> Event {
    let one = |(seq, (ns, task)): (usize, &(u64, Task))| Occupancy {
        ns: *ns,
        cpu: 0,
        seq: seq as u64,
        what: Transition::SwitchIn(task.clone()),
    };
    Event::Occupancy(at.iter().enumerate().map(one).collect())
}

#[test]
fn who_was_on_the_cpu_is_the_carrier() {
    let target = task(7, "t", 19);
    let thread = |comm: &str| task(30, comm, 49);
    for (via, on_cpu, want) in [
        (Via::IRQ_THREAD, "irq/5-sound", &["irq/5-sound"][..]),
        (Via::IRQ_THREAD, "irq/5-s-sound", &["irq/5-s-sound"]),
        // Another line's thread did not carry this path; the line's own threads are meant.
        (Via::IRQ_THREAD, "irq/6-disk", &["irq/5-"]),
        (Via::NAPI_THREAD, "napi/eth0-5", &["napi/eth0-5"]),
        // Cut before the number of the queue; the thread is known.
        (Via::NAPI_THREAD, "napi/enp3s0f0-8", &["napi/enp3s0f0-8193"]),
        (Via::NAPI_THREAD, "napi/other-8", &["napi/other-8"]),
        (Via::NAPI_THREAD, "bash", &[]),
    ] {
        let mut carriers = Carriers::default();
        carriers.know_threads(&threads("30 napi/enp3s0f0-8193 f:50"));
        let record = PathRecord { via, ..path(5, target.clone(), 100) };
        carriers.push(Event::Path(Box::new(record)));
        assert!(carriers.drain_ready().is_empty(), "waits for what was on the CPU");
        let cpu = [(90, task(1, "x", 120)), (110, thread(on_cpu)), (125, target.clone())];
        carriers.push(switches(&cpu));
        let found = carriers.drain_ready();
        let names: Vec<&str> = found[0].1.iter().map(Comm::as_str).collect();
        assert_eq!(names, want, "{on_cpu}");
    }
}

#[test]
fn a_path_goes_without_its_transitions_when_they_do_not_come() {
    let mut carriers = Carriers::default();
    carriers.push(Event::Path(Box::new(path(5, task(7, "t", 19), 100))));
    carriers.push(switches(&[(S, task(1, "x", 120))]));
    let found = carriers.drain_ready();
    assert_eq!(found[0].1, [Comm::from("irq/5-")]);
    carriers.push(Event::Path(Box::new(path(5, task(7, "t", 19), 2 * S))));
    assert_eq!(carriers.flush_all().len(), 1);
}

/// `10 irq/5-dev f:50` is a kernel thread, `7 app f:80` a task: tid, name, scheduling.
fn threads(text: &str) -> Vec<LiveThread> {
    let kernel = ["irq/", "napi/", "ksoftirqd/", "ktimers/", "kworker/", "migration/"];
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (policy, number) = words[2].split_once(':').unwrap();
        let scheduling = match policy {
            "d" => Scheduling { policy: Policy::Deadline, ..Scheduling::default() },
            "b" => Scheduling { policy: Policy::Batch, priority: 0, nice: number.parse().unwrap() },
            _ => words[2].parse().unwrap(),
        };
        LiveThread {
            id: TaskId { tid: words[0].parse().unwrap(), start_ticks: 1 },
            comm: words[1].to_owned(),
            kernel: kernel.iter().any(|k| words[1].starts_with(k)),
            scheduling,
        }
    };
    text.split(',').map(one).collect()
}

/// `5 7 irq/5-dev napi/e-1`: line, task, carriers.
fn known(text: &str) -> Vec<Association> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let carrier = |comm: &&str| Carrier { comm: (*comm).into(), nr: 10 };
        Association {
            origin: Origin::Irq(words[0].parse().unwrap()),
            line: format!("{}:dev", words[0]),
            task: TaskId { tid: words[1].parse().unwrap(), start_ticks: 0 },
            comm: "app".into(),
            carriers: words[2..].iter().map(carrier).collect(),
            nr: 10,
            recent: 10.0,
            share: 1.0,
            confidence: 0.7,
            age_ns: 0,
            established: true,
            pinned: false,
        }
    };
    text.split(',').map(one).collect()
}

/// `10=81` changed, `10<` taken back, `10:set_by_hand` left; wrongly ordered threads at the end.
fn shown(plan: &TunePlan) -> String {
    let mut words: Vec<String> =
        plan.changes.iter().map(|c| format!("{}={}", c.thread.id.tid, c.priority)).collect();
    words.extend(plan.take_back.iter().map(|t| format!("{}<", t.id.tid)));
    words.extend(plan.left.iter().map(|l| format!("{}:{:?}", l.thread.id.tid, l.why)));
    words.extend(plan.wrong.iter().map(|w| match w.order {
        WrongOrder::ThreadBelow => format!("{}below{}", w.thread.id.tid, w.task.id.tid),
        WrongOrder::ThreadFarAbove => format!("{}above{}", w.thread.id.tid, w.task.id.tid),
    }));
    words.join(" ")
}

/// What, associations, threads, plan.
type Situation = (&'static str, &'static str, &'static str, &'static str);

fn decided(situations: &[Situation]) {
    for (what, associations, there, want) in situations {
        let plan = plan_priorities(&known(associations), &threads(there), &BTreeMap::new(), false);
        assert_eq!(shown(&plan), *want, "{what}");
    }
}

#[test]
fn what_is_decided_for_the_thread_of_a_line() {
    decided(&[
        ("inversion", "5 7 irq/5-dev", "10 irq/5-dev f:50,7 app f:80", "10=81 10below7"),
        (
            "equal does not preempt",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,7 app f:50",
            "10=51 10below7",
        ),
        (
            "the highest of two tasks",
            "5 7 irq/5-dev,5 8 irq/5-dev",
            "10 irq/5-dev f:50,7 app f:60,8 app r:70",
            "10=71 10below8",
        ),
        (
            "above, nothing in between",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,7 app f:20",
            "10:AboveHarmlessly",
        ),
        (
            "above, another task in between",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,7 app f:20,9 other f:30",
            "10=21 10above7",
        ),
        (
            "kernel threads in between do not count",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,7 app f:20,9 irq/8-x f:30",
            "10:AboveHarmlessly",
        ),
        (
            "another line is not touched",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,11 irq/6-dev f:50,7 app f:80",
            "10=81 10below7",
        ),
        ("set by hand", "5 7 irq/5-dev", "10 irq/5-dev f:60,7 app f:80", "10:SetByHand 10below7"),
        (
            "set by hand to what is right",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:81,7 app f:80",
            "10:Right",
        ),
        ("no room", "5 7 irq/5-dev", "10 irq/5-dev f:50,7 app f:98", "10:NoRoom 10below7"),
        ("just room", "5 7 irq/5-dev", "10 irq/5-dev f:50,7 app f:97", "10=98 10below7"),
        ("a deadline task", "5 7 irq/5-dev", "10 irq/5-dev f:50,7 app d:0", "10:ServesDeadline"),
        ("not real-time any more", "5 7 irq/5-dev", "10 irq/5-dev f:50,7 app o:0", ""),
        ("the task is gone", "5 7 irq/5-dev", "10 irq/5-dev f:50", ""),
        (
            "a kernel thread is no target",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,7 migration/0 f:99",
            "",
        ),
        ("the thread is gone", "5 7 irq/5-dev", "7 app f:80", ""),
        ("woken from hardirq", "5 7", "10 irq/5-dev f:50,7 app f:80", ""),
    ]);
}

#[test]
fn what_is_decided_for_the_threads_of_a_chain() {
    decided(&[
        (
            "a name that was cut",
            "24 7 irq/24-intsight",
            "10 irq/24-intsight0 f:50,7 app f:80",
            "10=81 10below7",
        ),
        (
            "the line's threads are meant",
            "5 7 irq/5-",
            "10 irq/5-a f:50,11 irq/5-b f:50,12 irq/50-c f:50,7 app f:80",
            "10=81 11=81 10below7 11below7",
        ),
        (
            "the secondary carries",
            "5 7 irq/5-s-dev",
            "10 irq/5-dev f:50,11 irq/5-s-dev f:50,7 app f:80",
            "10=82 11=81 11below7",
        ),
        (
            "the primary carries",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,11 irq/5-s-dev f:50,7 app f:80",
            "10=81 10below7",
        ),
        (
            "the primary comes down past its secondary",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,11 irq/5-s-dev f:50,7 app f:20,9 other f:30",
            "10=21 11=20 10above7",
        ),
        (
            "a primary that stays where it is",
            "5 7 irq/5-dev",
            "10 irq/5-dev f:50,11 irq/5-s-dev f:50,7 app f:20",
            "10:AboveHarmlessly",
        ),
        (
            "a NAPI thread in the chain",
            "5 7 irq/5-dev napi/e-1",
            "10 irq/5-dev f:50,11 napi/e-1 o:0,12 napi/e-2 o:0,7 app f:40",
            "11=41 10:AboveHarmlessly 11below7",
        ),
        (
            "a NAPI thread for a higher receiver, too",
            "5 7 irq/5-dev napi/e-1,5 8 napi/e-1",
            "10 irq/5-dev f:50,11 napi/e-1 o:0,7 app f:20,8 app f:40,9 app f:30",
            "11=41 10:AboveHarmlessly 11below8",
        ),
        (
            "ksoftirqd in the chain",
            "5 7 ksoftirqd/0",
            "10 irq/5-dev f:50,11 ksoftirqd/0 o:0,12 ksoftirqd/1 o:0,7 app f:40",
            "11=41 11below7",
        ),
        (
            "timers without a thread of their own",
            "5 7 ktimers/0",
            "11 ksoftirqd/0 o:0,7 app f:40",
            "11=41 11below7",
        ),
        (
            "ksoftirqd set by hand",
            "5 7 ksoftirqd/0",
            "11 ksoftirqd/0 o:-5,7 app f:40",
            "11:SetByHand 11below7",
        ),
        ("a batch thread", "5 7 napi/e-1", "11 napi/e-1 b:0,7 app f:40", "11:OtherPolicy 11below7"),
        ("a worker", "5 7 kworker/0:1", "11 kworker/0:1 o:0,7 app f:40", "11:Worker"),
    ]);
}

#[test]
fn what_is_ours_is_ranked_again_or_taken_back_and_force_takes_the_rest() {
    let one = |original| BTreeMap::from([(TaskId { tid: 10, start_ticks: 1 }, original)]);
    let (served, nobody) = ("5 7 irq/5-dev", "6 7 irq/6-dev");
    for (what, associations, there, original, want) in [
        ("still right", served, "10 irq/5-dev f:81,7 app f:80", 50, "10:Right"),
        ("the task went up", served, "10 irq/5-dev f:81,7 app f:85", 50, "10=86 10below7"),
        ("the task came down", served, "10 irq/5-dev f:81,7 app f:60", 50, "10=61"),
        ("down below the default", served, "10 irq/5-dev f:81,7 app f:20", 50, "10<"),
        ("its reason is gone", nobody, "10 irq/5-dev f:81,7 app f:80", 50, "10<"),
        ("its task is ordinary now", served, "10 irq/5-dev f:81,7 app o:0", 50, "10<"),
    ] {
        let plan = plan_priorities(&known(associations), &threads(there), &one(original), false);
        assert_eq!(shown(&plan), want, "{what}");
    }
    // A secondary thread stays below while its primary one does, and goes back with it.
    let both = BTreeMap::from([10, 11].map(|tid| (TaskId { tid, start_ticks: 1 }, 50)));
    for (associations, there, want) in [
        (
            served,
            "10 irq/5-dev f:21,11 irq/5-s-dev f:20,7 app f:20,9 other f:30",
            "10:Right 11:Right",
        ),
        (
            served,
            "10 irq/5-dev f:21,11 irq/5-s-dev f:20,7 app f:24,9 other f:30",
            "10=25 11=24 10below7",
        ),
        (nobody, "10 irq/5-dev f:21,11 irq/5-s-dev f:20,7 app f:20", "10< 11<"),
    ] {
        let plan = plan_priorities(&known(associations), &threads(there), &both, false);
        assert_eq!(shown(&plan), want, "{there}");
    }
    let by_hand = threads("10 irq/5-dev f:60,7 app f:80");
    let plan = plan_priorities(&known(served), &by_hand, &BTreeMap::new(), true);
    assert_eq!(shown(&plan), "10=81 10below7");
    assert!(plan.left.iter().all(|left| left.why != LeftAlone::SetByHand));
}

fn any_wakeups() -> impl Strategy<Value = Vec<(u32, u32, u64)>> {
    let one = (0u32..3, prop_oneof![1u32..5, 100u32..102], 0u64..20 * S);
    prop::collection::vec(one, 0..80).prop_map(|steps| {
        let mut ns = 0;
        steps
            .into_iter()
            .map(|(irq, tid, step)| {
                (irq, tid, {
                    ns += step;
                    ns
                })
            })
            .collect()
    })
}

proptest! {
    /// Learned in one go, or in two with the first part handed on: the same.
    #[test]
    fn what_was_learned_before_can_be_taken_over(wakeups in any_wakeups(), at in 0usize..80) {
        let at = at.min(wakeups.len());
        let whole = learned(&wakeups).associations(&Names::default());
        let mut first = learned(&wakeups[..at]);
        let (handed_on, now_ns) = (first.associations(&Names::default()), first.newest_ns());
        let mut second = Learner::default();
        second.adopt_known(&handed_on, now_ns);
        for &(irq, tid, ns) in &wakeups[at..] {
            let prio = if tid < 100 { 19 } else { 120 };
            let carrier = Comm::from(format!("irq/{irq}-dev").as_str());
            second.record_path(&path(irq, task(tid, "t", prio), ns), &[carrier]);
        }
        let parts = second.associations(&Names::default());
        for one in &parts {
            let same = whole.iter().find(|w| (w.origin, w.task) == (one.origin, one.task));
            let same = same.expect("known in one go too");
            prop_assert_eq!((one.nr, &one.carriers), (same.nr, &same.carriers));
            prop_assert!((one.recent - same.recent).abs() < 1e-6);
        }
        prop_assert_eq!(parts.len(), whole.len());
    }

    /// Shares of a line never exceed one, fade with time, and what they are at least is less.
    #[test]
    fn shares_are_shares(wakeups in any_wakeups(), later in 0u64..1000 * S) {
        let mut learner = learned(&wakeups);
        let now = learner.associations(&Names::default());
        let mut sums: BTreeMap<Origin, f64> = BTreeMap::new();
        for one in &now {
            *sums.entry(one.origin).or_default() += one.share;
            prop_assert!(one.confidence <= one.share + 1e-9, "{:?}", one);
            prop_assert!(one.recent <= one.nr as f64 + 1e-9, "{:?}", one);
        }
        prop_assert!(sums.values().all(|sum| *sum <= 1.0 + 1e-9), "{:?}", sums);
        learner.record_path(&path(99, task(100, "o", 120), learner.newest_ns() + later), &[]);
        for one in learner.associations(&Names::default()) {
            let before = now.iter().find(|b| (b.origin, b.task) == (one.origin, one.task)).expect("still known");
            prop_assert!(one.recent <= before.recent + 1e-9);
            prop_assert!((one.share - before.share).abs() < 1e-6, "time alone changes no share");
            prop_assert!(one.established || !before.established);
        }
    }

    /// No plan gives a priority above 98, touches a thread that serves nobody, or puts a
    /// carrier below what it serves; carried out, it wants nothing more.
    #[test]
    fn plans_are_safe_and_final(
        tasks in prop::collection::vec(1u8..=99, 1..5),
        irq_threads in prop::collection::vec(1u8..=99, 1..4),
        pairs in prop::collection::vec((0usize..4, 0usize..5), 0..8),
        force in any::<bool>(),
    ) {
        let mut there: Vec<LiveThread> = Vec::new();
        for (n, priority) in tasks.iter().enumerate() {
            there.extend(threads(&format!("{} app f:{priority}", n + 1)));
        }
        for (n, priority) in irq_threads.iter().enumerate() {
            there.extend(threads(&format!("{} irq/{n}-dev f:{priority}", n + 50)));
        }
        let text = |(irq, task): &(usize, usize)| format!("{irq} {} irq/{irq}-dev", task + 1);
        let all: Vec<Association> = pairs.iter().flat_map(|pair| known(&text(pair))).collect();
        let none = BTreeMap::new();
        let first = plan_priorities(&all, &there, &none, force);
        for change in &first.changes {
            prop_assert!(change.priority <= 98 && change.priority == change.task.scheduling.priority + 1);
            prop_assert!(force || change.thread.scheduling.priority == 50);
            let serves = |one: &Association| one.carriers[0].comm.as_str() == change.thread.comm;
            prop_assert!(all.iter().any(serves), "{:?} serves nobody", change);
        }
        let mut held = BTreeMap::new();
        for change in &first.changes {
            let thread = there.iter_mut().find(|t| t.id == change.thread.id).expect("there");
            held.insert(thread.id, thread.scheduling.priority);
            thread.scheduling.priority = change.priority;
        }
        let second = plan_priorities(&all, &there, &held, force);
        prop_assert_eq!((second.changes, second.take_back), (vec![], vec![]));
    }
}
