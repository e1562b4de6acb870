// SPDX-License-Identifier: GPL-2.0-or-later
//! A wait is explained by the CPU on whose run queue the target was at the time.

mod common;

use common::{DISK, block, hardirq, idle, names, record, short, switch, task};
use irqpath_analysis::{Engine, EngineConfig, Timelines, attribute_path};
use irqpath_model::{
    Cause,
    CauseKind::{self, *},
    Event, Occupancy, PathRecord, Point, RunQueue, StageCauses,
    Transition::HardirqExit,
    Via,
};

/// CPU 0 runs the urgent one until 1700; CPU 1 is idle but for the interrupt.
fn transitions() -> [Vec<Occupancy>; 2] {
    let target = || task(100, "target", 19);
    [
        block(
            0,
            &[(500, switch(task(5, "urgent", 9))), (1700, switch(idle())), (2600, switch(idle()))],
        ),
        block(
            1,
            &[
                (500, switch(idle())),
                (1100, hardirq(DISK)),
                (1200, HardirqExit),
                (2000, switch(target())),
                (2200, switch(task(6, "thief", 5))),
                (2500, switch(target())),
                (2600, switch(idle())),
            ],
        ),
    ]
}

fn queues(of: &[(u64, Option<u16>)]) -> Vec<RunQueue> {
    of.iter().map(|&(since_ns, cpu)| RunQueue { since_ns, cpu }).collect()
}

/// Woken at 1000 on CPU 0, switched in at 2000 on CPU 1, in user space at 2600.
fn path(of: &[(u64, Option<u16>)]) -> PathRecord {
    let stamps = [(Point::Waking, 1000, 0), (Point::SwitchIn, 2000, 1), (Point::User, 2600, 1)];
    PathRecord { queues: queues(of), ..record(DISK, Via::REMOTE, &stamps) }
}

fn stage(record: &PathRecord, to: Point) -> StageCauses {
    let mut timelines = Timelines::new();
    for block in transitions() {
        timelines.ingest_block(block);
    }
    let slow = attribute_path(record, &timelines, &names());
    slow.stages.into_iter().find(|s| s.to == to).expect("the stage")
}

fn check(of: &[(u64, Option<u16>)], place: &str, want: &[(CauseKind, &str, u64, u32)]) {
    let stage = stage(&path(of), Point::SwitchIn);
    assert_eq!(short(&stage.causes), want, "{of:?}");
    assert_eq!(stage.place_text(), place, "{of:?}");
    let sum = |causes: &[Cause]| causes.iter().map(|c| c.ns).sum::<u64>();
    assert_eq!(sum(&stage.causes), stage.ns, "{of:?}");
}

#[test]
fn a_wait_on_another_queue_is_that_cpus() {
    check(
        &[(1000, Some(0)), (1800, Some(1))],
        "CPUs 0, 1",
        &[(Thread, "urgent:5 f:90", 700, 1), (Idle, "idle", 300, 1)],
    );
    // Nothing is known of a move: the CPU of the switch-in, as where the wakeup put it there.
    check(&[], "CPU 1", &[(Idle, "idle", 900, 2), (Hardirq, "36:virtio1-req.0", 100, 1)]);
}

#[test]
fn a_move_that_was_not_seen_or_has_no_room_explains_nothing() {
    check(&[(1000, Some(0))], "CPU 1", &[(Unexplained, "-", 1000, 1)]);
    check(
        &[(1000, Some(0)), (1500, Some(1)), (1600, None)],
        "CPUs 0, 1",
        &[(Thread, "urgent:5 f:90", 500, 1), (Unexplained, "-", 400, 1), (Idle, "idle", 100, 1)],
    );
}

#[test]
fn a_move_on_the_way_to_user_space_is_followed_too() {
    // Preempted at 2200, moved to CPU 0 at 2300 and back at 2400.
    let moved = path(&[(1000, Some(1)), (2300, Some(0)), (2400, Some(1))]);
    let stage = stage(&moved, Point::User);
    assert_eq!(
        short(&stage.causes),
        [
            (Own, "target:100 f:80", 300, 2),
            (Thread, "thief:6 f:94", 200, 2),
            (Idle, "idle", 100, 1)
        ]
    );
    assert_eq!(stage.place_text(), "CPUs 1, 0");
}

#[test]
fn what_is_left_of_the_waker_is_own_work_on_its_cpu_alone() {
    // The interrupt that woke it goes on for 100 ns; CPU 1 happens to be in the same one.
    let in_hardirq = |cpu| {
        block(
            cpu,
            &[
                (500, switch(idle())),
                (900, hardirq(DISK)),
                (1100, HardirqExit),
                (2000, switch(task(100, "target", 19))),
            ],
        )
    };
    let mut timelines = Timelines::new();
    timelines.ingest_block(in_hardirq(0));
    timelines.ingest_block(in_hardirq(1));
    let moved = path(&[(1000, Some(0)), (1050, Some(1))]);
    let slow = attribute_path(&moved, &timelines, &names());
    assert_eq!(
        short(&slow.stages[0].causes),
        [
            (Idle, "idle", 900, 1),
            (Own, "36:virtio1-req.0", 50, 1),
            (Hardirq, "36:virtio1-req.0", 50, 1)
        ]
    );
}

#[test]
fn a_record_waits_for_the_transitions_of_every_queue_it_was_on() {
    let mut engine = Engine::new(EngineConfig::default(), names());
    let [zero, one] = transitions();
    engine.push(Event::Occupancy(one));
    engine.push(Event::Path(Box::new(path(&[(1000, Some(0)), (1800, Some(1))]))));
    assert!(engine.drain().is_empty(), "CPU 0 has not told yet");
    engine.push(Event::Occupancy(zero));
    assert_eq!(engine.drain().len(), 1);
}

/// An irq thread that is moved at 1800 while it waits for CPU 0, and its target, which is not.
#[test]
fn the_wait_of_a_moved_irq_thread_is_that_of_both_cpus() {
    let stamps = [
        (Point::Hardirq, 1000, 0),
        (Point::IrqThread, 2000, 1),
        (Point::Waking, 2100, 1),
        (Point::SwitchIn, 2200, 1),
    ];
    let moved = queues(&[(1000, Some(0)), (1800, Some(1))]);
    let carried = PathRecord { queues: moved, ..record(DISK, Via::IRQ_THREAD, &stamps) };
    let of_thread = stage(&carried, Point::IrqThread);
    assert_eq!(of_thread.place_text(), "CPUs 0, 1");
    assert_eq!(short(&of_thread.causes)[0], (Thread, "urgent:5 f:90", 700, 1));
    assert_eq!(stage(&carried, Point::SwitchIn).place_text(), "CPU 1");
}
