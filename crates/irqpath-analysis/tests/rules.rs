// SPDX-License-Identifier: GPL-2.0-or-later
//! The rules of attribution, one table row per rule: a window of transitions on CPU 0, one
//! stage of a path, and the causes expected of it.

mod common;

use common::{
    DISK, NIC, block, boosted, hardirq, idle, names, record, short, softirq, switch, task, unseen,
};
use irqpath_analysis::{Timelines, attribute_path};
use irqpath_model::{
    CauseKind::{self, *},
    Origin, PathRecord, Point, SoftirqVec, Task,
    Transition::{self, HardirqExit, NmiEnd, SoftirqExit, Stolen},
    Vector, Via,
};

type Expected<'a> = (CauseKind, &'a str, u64, u32);
/// A stage, what the path goes through, more transitions, and whose work it is.
type OwnRow<'a> = (Point, Point, Via, Vec<(u64, Transition)>, &'a str);

/// Check the causes of the last stage of `record`.
fn check(record: &PathRecord, transitions: &[(u64, Transition)], expected: &[Expected]) {
    let mut timelines = Timelines::new();
    timelines.ingest_block(block(0, transitions));
    let slow = attribute_path(record, &timelines, &names());
    let stage = slow.stages.last().expect("the record has a stage");
    assert_eq!(short(&stage.causes), expected, "{} -> {}", stage.from, stage.to);
    assert_eq!(stage.causes.iter().map(|c| c.ns).sum::<u64>(), stage.ns);
}

/// A path from DISK with one stage `from` at 1000 to `to` at 2000 on CPU 0.
fn one_stage(from: Point, to: Point, via: Via) -> PathRecord {
    record(DISK, via, &[(from, 1000, 0), (to, 2000, 0)])
}

fn target() -> Task {
    task(100, "target", 19)
}

/// What one thread is to a stage that it fills.
fn fills(from: Point, to: Point, via: Via, thread: Task, kind: CauseKind, who: &str) {
    check(
        &one_stage(from, to, via),
        &[(500, switch(thread)), (2000, switch(target()))],
        &[(kind, who, 1000, 1)],
    );
}

#[test]
fn a_thread_is_judged_by_the_urgency_of_the_target() {
    let (from, to, via) = (Point::Waking, Point::SwitchIn, Via::empty());
    let rows = [
        (task(5, "spin", 9), Thread, "spin:5 f:90"),
        (task(5, "equal", 19), Thread, "equal:5 f:80"),
        (task(5, "dl", -1), Thread, "dl:5 d"),
        (task(5, "low", 49), PreemptOff, "low:5 f:50"),
        (task(5, "hog", 120), PreemptOff, "hog:5 o:0"),
        (boosted(5, "holder", 19, 120), LockHolder, "holder:5 f:80 (boosted)"),
        (boosted(5, "holder", 30, 49), LockHolder, "holder:5 f:69 (boosted)"),
        (boosted(5, "urgent", 5, 10), Thread, "urgent:5 f:94 (boosted)"),
        (idle(), Idle, "idle"),
        (target(), Own, "target:100 f:80"),
    ];
    for (thread, kind, who) in rows {
        fills(from, to, via, thread, kind, who);
    }
}

#[test]
fn fair_tasks_share_the_cpu_whatever_their_nice_value() {
    for (prio, normal, kind) in [(139, 139, Thread), (100, 100, Thread), (19, 139, Thread)] {
        let mut record = one_stage(Point::Waking, Point::SwitchIn, Via::empty());
        record.target = task(100, "target", 120);
        let thread = boosted(5, "nice", prio, normal);
        let mut timelines = Timelines::new();
        timelines.ingest_block(block(0, &[(500, switch(thread)), (2000, switch(target()))]));
        let slow = attribute_path(&record, &timelines, &names());
        assert_eq!(slow.stages[0].causes[0].kind, kind, "{prio}/{normal}");
    }
}

#[test]
fn a_thread_before_the_interrupt_had_interrupts_off() {
    let (from, to, via) = (Point::Raise, Point::Hardirq, Via::empty());
    fills(from, to, via, task(5, "hog", 120), IrqsOff, "hog:5 o:0");
    fills(from, to, via, task(5, "rt", 1), IrqsOff, "rt:5 f:98");
    fills(from, to, via, idle(), Idle, "idle");
}

#[test]
fn a_thread_before_the_softirq_had_bottom_halves_off() {
    let (from, to) = (Point::SoftirqRaise, Point::Softirq);
    let via = Via::softirq(SoftirqVec::NetRx);
    fills(from, to, via, task(5, "hog", 120), PreemptOff, "hog:5 o:0");
    fills(from, to, via, task(5, "rt", 49), PreemptOff, "rt:5 f:50");
    fills(from, to, via, idle(), Idle, "idle");
    let ksoftirqd = task(9, "ksoftirqd/0", 120);
    fills(from, to, via, ksoftirqd.clone(), Own, "ksoftirqd/0:9 o:0");
    fills(from, to, via, task(9, "ktimers/0", 98), Own, "ktimers/0:9 f:1");
    for servant in [Via::KTIMERS, Via::KSOFTIRQD] {
        let via = via | servant;
        fills(from, to, via, task(5, "rt", 49), Thread, "rt:5 f:50");
        fills(from, to, via, task(5, "hog", 120), PreemptOff, "hog:5 o:0");
    }
    let via = via | Via::KSOFTIRQD;
    // ksoftirqd is there at the end: it is known to be a fair task that shares the CPU.
    let path = one_stage(from, to, via);
    let window = [(500, switch(task(5, "hog", 120))), (1900, switch(ksoftirqd))];
    check(&path, &window, &[(Thread, "hog:5 o:0", 900, 1), (Own, "ksoftirqd/0:9 o:0", 100, 1)]);
}

#[test]
fn a_thread_before_the_irq_thread_is_judged_by_its_priority() {
    let (from, to, via) = (Point::Hardirq, Point::IrqThread, Via::IRQ_THREAD);
    fills(from, to, via, task(5, "rt", 60), Thread, "rt:5 f:39");
    fills(from, to, via, task(5, "hog", 120), PreemptOff, "hog:5 o:0");
    fills(from, to, via, idle(), Idle, "idle");
    // The irq thread (f:50) is seen at the end: f:39 did not have the right to run before it.
    let thread = task(77, "irq/36-virtio1", 49);
    check(
        &one_stage(from, to, via),
        &[
            (900, switch(task(5, "rt", 60))),
            (990, hardirq(DISK)),
            (1100, HardirqExit),
            (1800, switch(thread)),
            (2100, switch(idle())),
        ],
        &[
            (PreemptOff, "rt:5 f:39", 700, 1),
            (Own, "irq/36-virtio1:77 f:50", 200, 1),
            (Own, "36:virtio1-req.0", 100, 1),
        ],
    );
}

/// As the tracer stamps it: the point is the very switch-in, of which the transition tells too.
#[test]
fn an_irq_thread_that_ends_the_wait_by_its_switch_in_is_known() {
    let (from, to, via) = (Point::Hardirq, Point::IrqThread, Via::IRQ_THREAD);
    for (prio, kind, who) in [(98, PreemptOff, "meek:5 f:1"), (8, Thread, "meek:5 f:91")] {
        check(
            &one_stage(from, to, via),
            &[(500, switch(task(5, "meek", prio))), (2000, switch(task(77, "irq/36-virtio1", 9)))],
            &[(kind, who, 1000, 1)],
        );
    }
}

#[test]
fn a_thread_before_the_work_or_within_the_carrier_is_interference() {
    let hog = || task(5, "hog", 120);
    for (from, to) in [
        (Point::WorkQueue, Point::Work),
        (Point::Softirq, Point::Waking),
        (Point::Hardirq, Point::SoftirqRaise),
        (Point::Softirq, Point::WorkQueue),
        (Point::SwitchIn, Point::User),
    ] {
        let via = Via::softirq(SoftirqVec::NetRx);
        fills(from, to, via, hog(), Thread, "hog:5 o:0");
        fills(from, to, via, idle(), Idle, "idle");
    }
}

#[test]
fn interrupts_are_interference_in_a_wait() {
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::softirq(SoftirqVec::NetRx)),
        &[
            (500, switch(task(5, "hog", 9))),
            (1100, hardirq(NIC)),
            (1200, HardirqExit),
            (1300, softirq(SoftirqVec::NetRx)),
            (1600, SoftirqExit),
            (1700, hardirq(DISK)),
            (1750, HardirqExit),
            (1950, NmiEnd { duration_ns: 100 }),
            (1960, hardirq(Origin::Vector(Vector::LocalTimer))),
            (1970, HardirqExit),
            (2000, switch(target())),
        ],
        &[
            (Thread, "hog:5 f:90", 440, 6),
            (Softirq, "net_rx", 300, 1),
            (Nmi, "NMI", 100, 1),
            (Hardirq, "40", 100, 1),
            (Hardirq, "36:virtio1-req.0", 50, 1),
            (Hardirq, "LOC:local_timer", 10, 1),
        ],
    );
}

#[test]
fn the_rest_of_the_waking_handler_is_own_but_not_its_next_run() {
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::empty()),
        &[
            (800, switch(idle())),
            (900, hardirq(DISK)),
            (1200, HardirqExit),
            (1300, hardirq(DISK)),
            (1400, HardirqExit),
            (2000, switch(target())),
        ],
        &[
            (Idle, "idle", 700, 2),
            (Own, "36:virtio1-req.0", 200, 1),
            (Hardirq, "36:virtio1-req.0", 100, 1),
        ],
    );
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::softirq(SoftirqVec::NetRx)),
        &[
            (800, switch(idle())),
            (900, softirq(SoftirqVec::NetRx)),
            (1100, hardirq(NIC)),
            (1150, HardirqExit),
            (1200, SoftirqExit),
            (1300, softirq(SoftirqVec::NetRx)),
            (1400, SoftirqExit),
            (2000, switch(target())),
        ],
        &[
            (Idle, "idle", 700, 2),
            (Own, "net_rx", 150, 2),
            (Softirq, "net_rx", 100, 1),
            (Hardirq, "40", 50, 1),
        ],
    );
}

#[test]
fn on_preempt_rt_the_waking_softirq_is_still_own_after_a_preemption() {
    let thread = || task(77, "irq/36-x", 9);
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::softirq(SoftirqVec::NetRx)),
        &[
            (800, switch(thread())),
            (900, softirq(SoftirqVec::NetRx)),
            (1100, switch(task(5, "rt", 1))),
            (1400, switch(thread())),
            (1700, SoftirqExit),
            (2000, switch(target())),
        ],
        &[
            (Own, "net_rx", 400, 2),
            (Thread, "irq/36-x:77 f:90", 300, 1),
            (Thread, "rt:5 f:98", 300, 1),
        ],
    );
}

#[test]
fn a_waking_thread_goes_on_as_own_work_only_if_urgent_enough() {
    let path = one_stage(Point::Waking, Point::SwitchIn, Via::IRQ_THREAD);
    let window = |prio| [(500, switch(task(77, "irq/36-x", prio))), (2000, switch(target()))];
    check(&path, &window(9), &[(Own, "irq/36-x:77 f:90", 1000, 1)]);
    check(&path, &window(49), &[(PreemptOff, "irq/36-x:77 f:50", 1000, 1)]);
}

#[test]
fn handlers_own_their_stages() {
    let net_rx = Via::softirq(SoftirqVec::NetRx);
    let thread = || task(77, "irq/36-x", 49);
    let rows: [OwnRow; 6] = [
        (
            Point::Hardirq,
            Point::Waking,
            Via::empty(),
            vec![(990, hardirq(DISK))],
            "36:virtio1-req.0",
        ),
        (Point::Softirq, Point::Waking, net_rx, vec![(990, softirq(SoftirqVec::NetRx))], "net_rx"),
        (Point::IrqThread, Point::Waking, Via::IRQ_THREAD, vec![], "irq/36-x:77 f:50"),
        (Point::Work, Point::Waking, Via::WORK, vec![], "irq/36-x:77 f:50"),
        (Point::Work, Point::Waking, Via::WORK, vec![(9, softirq(SoftirqVec::Tasklet))], "tasklet"),
        (
            Point::SoftirqRaise,
            Point::Softirq,
            net_rx,
            vec![(990, hardirq(DISK))],
            "36:virtio1-req.0",
        ),
    ];
    for (from, to, via, more, who) in rows {
        let mut window = vec![(5, switch(thread()))];
        window.extend(more);
        window.push((1400, hardirq(NIC)));
        window.push((1500, HardirqExit));
        check(&one_stage(from, to, via), &window, &[(Own, who, 900, 2), (Hardirq, "40", 100, 1)]);
    }
}

#[test]
fn the_target_owns_its_return_to_user_space() {
    check(
        &one_stage(Point::SwitchIn, Point::User, Via::empty()),
        &[
            (1000, switch(target())),
            (1200, switch(task(5, "rt", 1))),
            (1500, switch(target())),
            (3000, switch(idle())),
        ],
        &[(Own, "target:100 f:80", 700, 2), (Thread, "rt:5 f:98", 300, 1)],
    );
}

#[test]
fn a_stage_that_ends_a_little_late_is_own_at_its_end() {
    check(
        &one_stage(Point::Raise, Point::Hardirq, Via::empty()),
        &[(500, switch(task(5, "hog", 120))), (1990, hardirq(DISK)), (2500, HardirqExit)],
        &[(IrqsOff, "hog:5 o:0", 990, 1), (Own, "36:virtio1-req.0", 10, 1)],
    );
    check(
        &one_stage(Point::SoftirqRaise, Point::Softirq, Via::softirq(SoftirqVec::NetRx)),
        &[(500, switch(idle())), (1990, softirq(SoftirqVec::NetRx)), (2500, SoftirqExit)],
        &[(Idle, "idle", 990, 1), (Own, "net_rx", 10, 1)],
    );
}

#[test]
fn a_remote_wakeup_is_looked_at_on_the_target_s_cpu() {
    let path = record(DISK, Via::REMOTE, &[(Point::Waking, 1000, 1), (Point::SwitchIn, 2000, 0)]);
    // DISK on CPU 0 is not the waker's handler, which runs on CPU 1.
    let window = [
        (500, switch(idle())),
        (900, hardirq(DISK)),
        (1100, HardirqExit),
        (1700, hardirq(Origin::Vector(Vector::Reschedule))),
        (1800, HardirqExit),
        (2000, switch(target())),
    ];
    check(
        &path,
        &window,
        &[
            (Idle, "idle", 800, 2),
            (Hardirq, "36:virtio1-req.0", 100, 1),
            (Hardirq, "RES:reschedule", 100, 1),
        ],
    );
}

#[test]
fn an_unseen_switch_accuses_nobody() {
    // Neither the task that was last switched to nor the one that was found in the end.
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::empty()),
        &[
            (500, switch(idle())),
            (900, switch(task(1, "init", 120))),
            (1900, unseen(task(5, "found", 120))),
            (1940, switch(task(6, "urgent", 9))),
            (2000, switch(target())),
        ],
        &[
            (Unseen, "-", 900, 1),
            (Thread, "urgent:6 f:90", 60, 1),
            (PreemptOff, "found:5 o:0", 40, 1),
        ],
    );
}

#[test]
fn stolen_time_is_nobodys_whatever_ran_and_whoever_waited() {
    let before = [(500, switch(task(5, "hog", 120))), (900, hardirq(DISK))];
    let after = |ns| [(ns, HardirqExit), (2000, switch(target()))];
    let transitions = |end, duration_ns| {
        [before.to_vec(), vec![(end, Stolen { duration_ns })], after(end).to_vec()].concat()
    };
    // In the rest of the path's own handler ...
    check(
        &one_stage(Point::Waking, Point::SwitchIn, Via::empty()),
        &transitions(1800, 700),
        &[
            (Steal, "hypervisor", 700, 1),
            (PreemptOff, "hog:5 o:0", 200, 1),
            (Own, "36:virtio1-req.0", 100, 1),
        ],
    );
    // ... and before an interrupt that could not be taken.
    check(
        &one_stage(Point::Raise, Point::Hardirq, Via::empty()),
        &[
            (500, switch(idle())),
            (1990, Stolen { duration_ns: 800 }),
            (1990, hardirq(NIC)),
            (2000, hardirq(DISK)),
        ],
        &[(Steal, "hypervisor", 800, 1), (Idle, "idle", 190, 1), (Hardirq, "40", 10, 1)],
    );
}

#[test]
fn nothing_known_is_unexplained() {
    let path = one_stage(Point::Waking, Point::SwitchIn, Via::empty());
    check(&path, &[], &[(Unexplained, "-", 1000, 1)]);
    // The state before the path's first stamp may have ended in a part not delivered.
    check(&path, &[(500, switch(idle()))], &[(Unexplained, "-", 1000, 1)]);
    // The thread before the first switch of the window is not known.
    check(
        &path,
        &[(900, hardirq(NIC)), (1100, HardirqExit), (1400, switch(idle()))],
        &[(Idle, "idle", 600, 1), (Unexplained, "-", 300, 1), (Hardirq, "40", 100, 1)],
    );
}
