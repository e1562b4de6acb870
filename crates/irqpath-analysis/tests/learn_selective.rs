// SPDX-License-Identifier: GPL-2.0-or-later
//! Which interrupt threads become ordinary, and which stay: a table of situations.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeMap;

use irqpath_analysis::learn::{Wakeups, keep_ordinary, plan_priorities, select_ordinary};
use irqpath_model::tune::{Association, Carrier, LiveThread, TunePlan};
use irqpath_model::{Origin, Policy, Scheduling, TaskId};

/// `50 irq/5-dev f:50`; a name with a slash is a kernel thread's.
fn threads(text: &str) -> BTreeMap<u32, LiveThread> {
    let one = |line: &str| {
        let [tid, comm, scheduling] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let scheduling = match scheduling {
            "d" => Scheduling { policy: Policy::Deadline, ..Scheduling::default() },
            text => text.parse().unwrap(),
        };
        let id = TaskId { tid: tid.parse().unwrap(), start_ticks: 1 };
        let (kernel, comm) = (comm.contains('/'), comm.to_owned());
        (id.tid, LiveThread { id, comm, kernel, scheduling })
    };
    text.split(',').map(one).collect()
}

/// `5 70 irq/5-dev`: line, task, carriers. `!` in front: seen once among a hundred thousand, `p` pinned.
fn known(text: &str) -> Vec<Association> {
    let one = |line: &str| {
        let (word, is_rare, pinned) = match line.trim() {
            line if line.starts_with('!') => (&line[1..], true, false),
            line if line.starts_with('p') => (&line[1..], false, true),
            line => (line, false, false),
        };
        let words: Vec<&str> = word.split_whitespace().collect();
        let carrier = |comm: &&str| Carrier { comm: (*comm).into(), nr: 1 };
        Association {
            origin: Origin::Irq(words[0].parse().unwrap()),
            line: format!("{}:dev", words[0]),
            task: TaskId { tid: words[1].parse().unwrap(), start_ticks: 1 },
            comm: "app".into(),
            carriers: words[2..].iter().map(carrier).collect(),
            nr: 1,
            recent: 1.0,
            share: if is_rare { 1e-5 } else { 0.01 },
            confidence: 0.0,
            age_ns: 0,
            established: pinned,
            pinned,
        }
    };
    text.split(',').filter(|line| !line.is_empty()).map(one).collect()
}

fn pairs(text: &str) -> Vec<(u32, u32)> {
    let one = |pair: &str| {
        let (waker, wakee) = pair.split_once('>').unwrap();
        (waker.parse().unwrap(), wakee.parse().unwrap())
    };
    text.split_whitespace().map(one).collect()
}

/// `50~` ordinary, `50+` kept, `50<` taken back, `50=81` changed, `50:SetByHand` left.
fn shown(plan: &TunePlan) -> String {
    let mut words: Vec<String> =
        plan.ordinary.iter().map(|one| format!("{}~", one.thread.id.tid)).collect();
    words.extend(plan.kept.iter().map(|one| format!("{}+", one.thread.id.tid)));
    words.extend(plan.take_back.iter().map(|one| format!("{}<", one.id.tid)));
    words.extend(plan.changes.iter().map(|one| format!("{}={}", one.thread.id.tid, one.priority)));
    words.extend(plan.left.iter().map(|one| format!("{}:{:?}", one.thread.id.tid, one.why)));
    words.join(" ")
}

struct Situation {
    what: &'static str,
    associations: &'static str,
    pairs: &'static str,
    there: &'static str,
    /// Threads that are as we left them, at 50 before.
    held: &'static [u32],
    want: &'static str,
}

#[rustfmt::skip]
const SITUATIONS: &[Situation] = &[
    Situation { what: "who serves nobody", associations: "", pairs: "",
        there: "50 irq/5-dev f:50,51 irq/5-s-dev f:49,70 app f:80", held: &[], want: "50~ 51~" },
    Situation { what: "one wakeup is enough", associations: "5 70 irq/5-dev", pairs: "",
        there: "50 irq/5-dev f:50,51 irq/6-x f:50,70 app f:80", held: &[], want: "51~ 50+" },
    Situation { what: "a deadline task counts", associations: "5 70 irq/5-dev", pairs: "",
        there: "50 irq/5-dev f:50,70 app d", held: &[], want: "50+" },
    Situation { what: "one in a hundred thousand does not", associations: "!5 70 irq/5-dev",
        pairs: "", there: "50 irq/5-dev f:50,70 app f:80", held: &[], want: "50~" },
    Situation { what: "an ordinary task does not", associations: "5 70 irq/5-dev", pairs: "50>70",
        there: "50 irq/5-dev f:50,70 app o:0", held: &[], want: "50~" },
    Situation { what: "an interrupt that wakes by itself keeps its threads",
        associations: "5 70", pairs: "", there: "50 irq/5-dev f:50,70 app f:80", held: &[],
        want: "50+" },
    Situation { what: "by way of another interrupt thread, three deep",
        associations: "7 70 irq/7-leaf", pairs: "50>51 51>52",
        there: "50 irq/5-a f:50,51 irq/6-b f:50,52 irq/7-leaf f:50,53 irq/8-c f:50,70 app f:80",
        held: &[], want: "53~ 50+ 51+ 52+" },
    Situation { what: "by way of a real-time kernel thread", associations: "", pairs: "50>60 60>70",
        there: "50 irq/5-a f:50,60 spi0/x f:50,70 app f:80", held: &[], want: "50+" },
    Situation { what: "a kernel thread that serves nobody helps nobody", associations: "",
        pairs: "50>60 51>50", there: "50 irq/5-a f:50,51 irq/6-b f:50,60 rcuc/0 f:1,70 app f:80",
        held: &[], want: "50~ 51~" },
    Situation { what: "a circle is no reason", associations: "", pairs: "50>51 51>50",
        there: "50 irq/5-a f:50,51 irq/6-b f:50", held: &[], want: "50~ 51~" },
    Situation { what: "the NAPI thread that it wakes serves", associations: "", pairs: "50>60 60>70",
        there: "50 irq/5-eth0 f:50,60 napi/eth0-1 f:81,70 app f:80", held: &[], want: "50+" },
    Situation { what: "both threads of a line stay", associations: "5 70 irq/5-s-dev", pairs: "",
        there: "50 irq/5-dev f:50,51 irq/5-s-dev f:49,70 app f:80", held: &[], want: "50+ 51+" },
    Situation { what: "of a shared line, the action that serves", associations: "5 70 irq/5-a",
        pairs: "", there: "50 irq/5-a f:50,51 irq/5-b f:50,70 app f:80", held: &[],
        want: "51~ 50+" },
    Situation { what: "what was set by hand stays", associations: "", pairs: "",
        there: "50 irq/5-a f:60,51 irq/6-b r:50,52 irq/7-c o:0", held: &[],
        want: "50:SetByHand 51:SetByHand" },
    Situation { what: "ordinary already", associations: "", pairs: "",
        there: "50 irq/5-a o:0", held: &[50], want: "" },
    Situation { what: "back at the first wakeup", associations: "5 70 irq/5-a", pairs: "",
        there: "50 irq/5-a o:0,70 app f:80", held: &[50], want: "50+ 50<" },
    Situation { what: "back with the one that it serves", associations: "6 70 irq/6-b",
        pairs: "50>51", there: "50 irq/5-a o:0,51 irq/6-b o:0,70 app f:80", held: &[50, 51],
        want: "50+ 51+ 50< 51<" },
    Situation { what: "raised, and its task is gone", associations: "5 70 irq/5-a", pairs: "",
        there: "50 irq/5-a f:81", held: &[50], want: "50~" },
    Situation { what: "another task has the number now", associations: "", pairs: "60>70",
        there: "50 irq/5-a f:50,60 spi0/x f:50", held: &[], want: "50~" },
    Situation { what: "a pin wins", associations: "p5 70 irq/5-a", pairs: "",
        there: "50 irq/5-a o:0,70 app f:80", held: &[50], want: "50+ 50=81" },
    Situation { what: "only interrupt threads", associations: "", pairs: "",
        there: "50 ktimers/0 f:1,51 napi/eth0-1 f:50,52 migration/0 f:99", held: &[], want: "" },
];

#[test]
fn what_is_decided_for_each_interrupt_thread() {
    for one in SITUATIONS {
        let by_tid = threads(one.there);
        let there: Vec<LiveThread> = by_tid.values().cloned().collect();
        let held = one.held.iter().map(|&tid| (TaskId { tid, start_ticks: 1 }, 50)).collect();
        let mut wakeups = Wakeups::default();
        wakeups.record_pairs(pairs(one.pairs), false, &by_tid);
        let known = known(one.associations);
        let mut plan = plan_priorities(&known, &there, &held, false);
        select_ordinary(&known, &wakeups, &there, &held, false, &mut plan);
        assert_eq!(shown(&plan), one.want, "{}", one.what);
    }
}

fn decide(wakeups: &Wakeups, by_tid: &BTreeMap<u32, LiveThread>, force: bool) -> String {
    let there: Vec<LiveThread> = by_tid.values().cloned().collect();
    let mut plan = TunePlan::default();
    select_ordinary(&[], wakeups, &there, &BTreeMap::new(), force, &mut plan);
    shown(&plan)
}

#[test]
fn pairs_stay_known_until_one_of_the_two_is_gone() {
    let there = threads("50 irq/5-a f:50,60 spi0/x f:50,70 app f:80");
    let mut wakeups = Wakeups::default();
    wakeups.record_pairs(pairs("50>60 60>70 70>50 99>70"), false, &there);
    wakeups.record_pairs([], false, &there);
    assert_eq!(decide(&wakeups, &there, false), "50+");
    let mut later = there.clone();
    later.get_mut(&60).unwrap().id.start_ticks = 2;
    wakeups.record_pairs([], false, &later);
    assert_eq!(decide(&wakeups, &later, false), "50~", "a thread that was made again");
    wakeups.record_pairs([], false, &there);
    assert_eq!(decide(&wakeups, &there, false), "50~", "it was forgotten");
}

#[test]
fn nobody_becomes_ordinary_while_wakeups_are_lost_and_force_takes_what_was_set_by_hand() {
    let there = threads("50 irq/5-a f:60,51 irq/6-b f:50");
    let mut wakeups = Wakeups::default();
    wakeups.record_pairs([], true, &there);
    assert_eq!(decide(&wakeups, &there, true), "50+ 51+");
    wakeups.record_pairs([], false, &there);
    assert_eq!(decide(&wakeups, &there, true), "50~ 51~");
}

#[test]
fn a_plan_of_pins_leaves_ordinary_threads_alone() {
    let there = threads("50 irq/5-a o:0,51 irq/6-b f:81,52 napi/eth0-1 o:0");
    let take_back = there.values().cloned().collect();
    let mut plan = TunePlan { take_back, ..TunePlan::default() };
    keep_ordinary(&mut plan);
    assert_eq!(shown(&plan), "51< 52<");
}
