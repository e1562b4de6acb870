// SPDX-License-Identifier: GPL-2.0-or-later
//! The judge finds what is wrong, on records made by hand: a judge that finds nothing proves
//! nothing. Times are in microseconds here.

use irqpath_model::{
    Cause, CauseKind, Occupancy, Origin, PathEnd, PathRecord, Point, RunQueue, SlowPath,
    StageCauses, Stamp, Task, Transition, Vector, Via,
};
use irqpath_witness::{Event, Judge, Kind, Reading, Record, Subject, What};

const TIMER: Origin = Origin::Vector(Vector::LocalTimer);
/// The task of all paths, and two that keep a CPU.
const TARGET: u32 = 50;
const HOG: u32 = 60;
const OTHER: u32 = 70;
/// When the timer of the path fires.
const T0: u64 = 1_000_000;

/// A record that is written by hand.
#[derive(Default)]
struct Script(Vec<Event>, u64);

impl Script {
    /// CPU 0 runs the hog, CPU 1 the other task.
    fn new() -> Self {
        let script = Self::default();
        script.switch(0, 0, (0, 0), HOG).switch(1, 1, (0, 0), OTHER)
    }

    fn add(mut self, us: u64, cpu: u16, current: u32, what: What) -> Self {
        self.0.push(Event {
            ns: us * 1000,
            again: None,
            steal_ns: self.1 * 1000,
            cpu,
            current,
            what,
        });
        self
    }

    /// The clock was read again at the last event.
    fn until(mut self, us: u64) -> Self {
        let again = Reading { ns: us * 1000, steal_ns: self.1 * 1000 };
        self.0.last_mut().expect("an event").again = Some(again);
        self
    }

    /// From `prev`, which is left in `state`, to `next`.
    fn switch(self, us: u64, cpu: u16, (prev, state): (u32, u32), next: u32) -> Self {
        let next = subject(next);
        let what = What::Switch {
            prev,
            prev_state: state,
            preempted: state == 0,
            next,
            in_syscall: false,
        };
        self.add(us, cpu, prev, what)
    }

    /// The timer interrupt on CPU 0 wakes the target.
    fn wakes(self) -> Self {
        let woken = What::Waking { task: subject(TARGET), cpu: 0, state: 1 };
        self.add(T0, 0, HOG, What::IrqEntry(TIMER))
            .add(T0 + 2, 0, HOG, woken)
            .add(T0 + 2, 0, HOG, What::Wakeup { tid: TARGET, cpu: 0 })
            .add(T0 + 4, 0, HOG, What::IrqExit { wakes: 0 })
    }

    fn moves(self, us: u64, from: u16, to: u16) -> Self {
        self.add(us, 0, HOG, What::Migrate { tid: TARGET, from, to })
    }

    fn stolen(mut self, us: u64) -> Self {
        self.1 += us;
        self
    }

    fn judge(self) -> Judge {
        let script = self.add(2 * T0, 0, HOG, What::SysExit).add(2 * T0, 1, OTHER, What::SysExit);
        let mut events = script.0;
        events.sort_by_key(|event| event.ns);
        Judge::new(&Record { events, ..Record::default() })
    }
}

fn subject(tid: u32) -> Subject {
    Subject {
        tid,
        tgid: tid,
        comm: "task".into(),
        prio: 120,
        normal_prio: 120,
        is_kthread: false,
        is_on_rq: false,
        is_on_cpu: false,
        is_delayed: false,
    }
}

/// What irqpath says: switched in at `us` on `cpu`, after what `causes` say.
fn path(us: u64, cpu: u16, causes: &[(CauseKind, &str, u64)]) -> SlowPath {
    let mut stamps = [None; Point::COUNT];
    let mut stamp = |point: Point, us: u64, cpu| {
        stamps[point.index()] = Some(Stamp { ns: us * 1000, cpu });
    };
    stamp(Point::Hardirq, T0, 0);
    stamp(Point::Waking, T0 + 2, 0);
    stamp(Point::SwitchIn, us, cpu);
    let record = PathRecord {
        origin: TIMER,
        via: if cpu == 0 { Via::empty() } else { Via::REMOTE },
        stamps,
        target: Task { tid: TARGET, comm: "task".into(), ..Task::default() },
        timer_fn: 0,
        end: PathEnd::SwitchIn,
        queues: Vec::new(),
        cgroup: None,
    };
    let cause = |&(kind, who, us): &(CauseKind, &str, u64)| Cause {
        kind,
        who: who.to_owned(),
        ns: us * 1000,
        nr_times: 1,
    };
    let own = [(CauseKind::Own, "LOC:local_timer", 2)];
    let stage = |from, to, causes: &[_]| {
        let causes: Vec<Cause> = causes.iter().map(cause).collect();
        let ns = causes.iter().map(|cause| cause.ns).sum();
        StageCauses { from, to, cpu, waited_for: Vec::new(), ns, causes }
    };
    let stages = vec![
        stage(Point::Hardirq, Point::Waking, &own),
        stage(Point::Waking, Point::SwitchIn, causes),
    ];
    SlowPath { record, stages }
}

fn kinds(judge: &Judge, path: &SlowPath) -> Vec<Kind> {
    judge.judge_path(path).expect("inside of the record").iter().map(|d| d.kind).collect()
}

#[test]
fn a_true_path_has_no_difference() {
    let judge = Script::new().wakes().switch(T0 + 502, 0, (HOG, 0), TARGET).judge();
    let own = (CauseKind::Own, "LOC:local_timer", 2);
    let path = path(T0 + 502, 0, &[own, (CauseKind::Thread, "task:60 o:0", 498)]);
    assert_eq!(kinds(&judge, &path), []);
}

#[test]
fn a_switch_that_only_irqpath_saw_is_not_false() {
    // The record has no switch-in at T0 + 10, but finds the target running soon after it.
    let judge = Script::new()
        .wakes()
        .add(T0 + 20, 0, TARGET, What::SysExit)
        .switch(T0 + 30, 0, (TARGET, 0), HOG)
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .judge();
    let own = (CauseKind::Own, "LOC:local_timer", 2);
    let thread = (CauseKind::Thread, "task:60 o:0", 8);
    assert_eq!(kinds(&judge, &path(T0 + 10, 0, &[own, thread])), [Kind::Unsure]);
    // Before the last event that shows the hog, it cannot have been.
    assert_ne!(kinds(&judge, &path(T0 + 3, 0, &[own])), [Kind::Unsure]);
}

#[test]
fn a_join_across_a_switch_that_was_not_traced_is_false() {
    // The target ran from T0 + 10 on, and its next switch-in had another reason.
    let judge = Script::new()
        .wakes()
        .add(T0 + 20, 0, TARGET, What::SysExit)
        .switch(T0 + 30, 0, (TARGET, 1), HOG)
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .judge();
    let path = path(T0 + 502, 0, &[(CauseKind::Thread, "task:60 o:0", 500)]);
    assert_eq!(kinds(&judge, &path), [Kind::UnseenSwitchIn]);
}

#[test]
fn a_join_with_another_interrupt_is_false() {
    let judge = Script::new().wakes().switch(T0 + 502, 0, (HOG, 0), TARGET).judge();
    let mut path = path(T0 + 502, 0, &[(CauseKind::Thread, "task:60 o:0", 500)]);
    path.record.origin = Origin::Irq(36);
    assert_eq!(kinds(&judge, &path), [Kind::WrongOrigin]);
    path.record.target.tid = OTHER;
    assert_eq!(kinds(&judge, &path), [Kind::NoSuchWakeup]);
}

#[test]
fn what_ran_where_the_task_did_not_wait_is_no_cause() {
    // It waited 400 us behind the hog, was moved, and waited 100 us behind the other one.
    let judge =
        Script::new().wakes().moves(T0 + 402, 0, 1).switch(T0 + 502, 1, (OTHER, 0), TARGET).judge();
    let causes = |hog, other| {
        let own = (CauseKind::Own, "LOC:local_timer", 2);
        let hog = (CauseKind::Thread, "task:60 o:0", hog);
        path(T0 + 502, 1, &[own, hog, (CauseKind::Thread, "task:70 o:0", other)])
    };
    assert_eq!(kinds(&judge, &causes(398, 100)), []);
    assert_eq!(kinds(&judge, &causes(0, 498)), [Kind::WrongCpu]);
}

#[test]
fn a_wakeup_that_takes_its_time_counts_for_the_run_queue_that_it_chooses() {
    // The task was last on CPU 1, and was put on that of CPU 0 after 100 us.
    let woken = What::Waking { task: subject(TARGET), cpu: 1, state: 1 };
    let judge = Script::new()
        .add(T0, 0, HOG, What::IrqEntry(TIMER))
        .add(T0 + 2, 0, HOG, woken)
        .moves(T0 + 102, 1, 0)
        .add(T0 + 103, 0, HOG, What::Wakeup { tid: TARGET, cpu: 0 })
        .add(T0 + 104, 0, HOG, What::IrqExit { wakes: 0 })
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .judge();
    let own = (CauseKind::Own, "LOC:local_timer", 102);
    let path = path(T0 + 502, 0, &[own, (CauseKind::Thread, "task:60 o:0", 398)]);
    assert_eq!(kinds(&judge, &path), []);
}

#[test]
fn stolen_time_is_nobodys_work() {
    let judge = Script::new()
        .wakes()
        .stolen(300)
        .add(T0 + 400, 0, HOG, What::SysExit)
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .judge();
    let path = path(T0 + 502, 0, &[(CauseKind::Thread, "task:60 o:0", 500)]);
    assert_eq!(kinds(&judge, &path), [Kind::Steal]);
}

#[test]
fn a_boundary_is_off_only_as_far_as_the_clock_was_read_later() {
    // The hog had the CPU for 298 us of the wait, another task for 200.
    let judge = || {
        Script::new()
            .wakes()
            .switch(T0 + 302, 0, (HOG, 0), OTHER)
            .switch(T0 + 502, 0, (OTHER, 0), TARGET)
            .judge()
    };
    let read = |us: u64| {
        let task = Task { tid: OTHER, ..Task::default() };
        Occupancy { ns: us * 1000, cpu: 0, seq: 1, what: Transition::SwitchIn(task) }
    };
    let causes = |hog, other| {
        let own = (CauseKind::Own, "LOC:local_timer", 2);
        let hog = (CauseKind::Thread, "task:60 o:0", hog);
        path(T0 + 502, 0, &[own, hog, (CauseKind::Thread, "task:70 o:0", other)])
    };
    let wrong = causes(448, 50);
    let with = |us| kinds(&judge().with_readings(&[read(us)]), &wrong);
    assert_eq!(with(T0 + 452), [Kind::Boundary], "the clock was read 150 us later");
    assert_eq!(with(T0 + 402), [Kind::Cause], "only 100 us later");
    assert_eq!(with(T0 + 302), [Kind::Cause], "at the same time");
    assert_eq!(kinds(&judge().with_readings(&[]), &wrong), [Kind::Cause], "it was not read");
    assert_eq!(kinds(&judge().with_readings(&[read(T0 + 302)]), &causes(298, 200)), []);
}

#[test]
fn a_path_that_ends_elsewhere_or_later_is_not_the_one() {
    let judge = Script::new().wakes().switch(T0 + 502, 0, (HOG, 0), TARGET).judge();
    let hog = [(CauseKind::Thread, "task:60 o:0", 500)];
    assert_eq!(kinds(&judge, &path(T0 + 502, 1, &hog))[0], Kind::WrongSwitchIn);
    let late = kinds(&judge, &path(T0 + 562, 0, &hog));
    assert!(late.contains(&Kind::Time) && late.contains(&Kind::Duration), "{late:?}");
}

#[test]
fn a_later_switch_in_of_the_same_task_is_not_the_one_either() {
    let judge = Script::new()
        .wakes()
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .switch(T0 + 702, 0, (TARGET, 0), HOG)
        .switch(T0 + 902, 0, (HOG, 0), TARGET)
        .judge();
    let path = path(T0 + 902, 0, &[(CauseKind::Thread, "task:60 o:0", 900)]);
    assert_eq!(kinds(&judge, &path), [Kind::WrongSwitchIn]);
}

#[test]
fn a_stamp_between_the_readings_before_and_after_it_is_right() {
    let judge = Script::new()
        .until(1)
        .wakes()
        .switch(T0 + 502, 0, (HOG, 0), TARGET)
        .until(T0 + 535)
        .switch(T0 + 702, 0, (TARGET, 1), HOG)
        .until(T0 + 703)
        .judge();
    let own = (CauseKind::Own, "LOC:local_timer", 2);
    let hog = [own, (CauseKind::Thread, "task:60 o:0", 498)];
    assert_eq!(kinds(&judge, &path(T0 + 535, 0, &hog)), [Kind::Enclosed]);
    let late = kinds(&judge, &path(T0 + 545, 0, &hog));
    assert_eq!(late, [Kind::Time, Kind::Duration]);
}

#[test]
fn a_move_is_off_only_as_far_as_the_clock_was_read_later() {
    let judge =
        Script::new().wakes().moves(T0 + 402, 0, 1).switch(T0 + 502, 1, (OTHER, 0), TARGET).judge();
    let judge = judge.with_readings(&[]);
    let own = (CauseKind::Own, "LOC:local_timer", 2);
    let hog = (CauseKind::Thread, "task:60 o:0", 438);
    let mut path = path(T0 + 502, 1, &[own, hog, (CauseKind::Thread, "task:70 o:0", 60)]);
    let queue = |us: u64, cpu| RunQueue { since_ns: us * 1000, cpu: Some(cpu) };
    let mut read = |us| {
        path.record.queues = vec![queue(T0 + 2, 0), queue(us, 1)];
        kinds(&judge, &path)
    };
    assert_eq!(read(T0 + 442), [Kind::Boundary], "the clock was read 40 us later");
    assert_ne!(read(T0 + 402), [Kind::Boundary], "at the same time");
    assert_ne!(read(T0 + 422), [Kind::Boundary], "only 20 us later");
}

#[test]
fn what_is_said_to_be_unknown_must_be() {
    let judge = Script::new().wakes().switch(T0 + 502, 0, (HOG, 0), TARGET).judge();
    let path = path(T0 + 502, 0, &[(CauseKind::Unexplained, "-", 500)]);
    assert_eq!(kinds(&judge, &path), [Kind::Unexplained]);
}

#[test]
fn a_wakeup_of_a_task_that_is_being_switched_out_is_not_compared_with_the_next() {
    let judge = |out_us| {
        Script::new()
            .until(1)
            .switch(T0 - 100, 1, (OTHER, 1), TARGET)
            .switch(out_us, 1, (TARGET, 1), OTHER)
            .until(out_us + 1)
            .add(T0 + 300, 0, HOG, What::IrqEntry(TIMER))
            .add(T0 + 302, 0, HOG, What::Waking { task: subject(TARGET), cpu: 0, state: 1 })
            .until(T0 + 303)
            .add(T0 + 304, 0, HOG, What::IrqExit { wakes: 0 })
            .until(T0 + 305)
            .switch(T0 + 602, 0, (HOG, 0), TARGET)
            .until(T0 + 603)
            .switch(T0 + 702, 0, (TARGET, 1), HOG)
            .until(T0 + 703)
            .judge()
    };
    let path = path(T0 + 502, 0, &[]);
    assert_eq!(kinds(&judge(T0 + 4), &path), [Kind::Unsure], "it was leaving");
    assert_eq!(kinds(&judge(T0 - 50), &path), [Kind::NoSuchWakeup], "it slept");
}
