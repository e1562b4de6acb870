// SPDX-License-Identifier: GPL-2.0-or-later
//! A made-up but plausible result for the tests of `report.html`: an eight-CPU machine with an
//! NVMe disk, a network card and a few real-time tasks.
//!
//! Everything follows from the given numbers by a fixed pseudo-random sequence, so a failing
//! test fails again. Nothing in here was measured, and nothing in here leaves the tests.

mod machine;

use irqpath_model::{
    Cause, CauseKind, LineStats, Loss, LossReason, Measured, Meta, Names, NapiStats, Origin,
    PathEnd, PathKey, PathRecord, PathStats, PathSummary, Paths, Point, SlowPath, SoftirqStats,
    SoftirqVec, StageCauses, Stamp, Summary, Task, Vector, Via,
};

pub use machine::meta;

const NR_CPUS: u16 = 8;
pub const THRESHOLD_NS: u64 = 200_000;

/// A task name that would end the script if it were embedded carelessly.
pub const HOSTILE: &str = "</script><img src=x onerror=window.hit=1>";

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A time around `typical`, with a tail to the right like those of real latencies.
    fn time(&mut self, typical: u64) -> u64 {
        let mut ns = typical / 2 + self.below(typical);
        while self.below(4) == 0 && ns < typical * 200 {
            ns += ns / 2 + self.below(ns.max(2));
        }
        ns
    }
}

/// A result with `nr_paths` paths, one of them of the [`HOSTILE`] task.
pub fn result(nr_paths: usize) -> (Meta, Summary) {
    let meta = meta();
    let mut dice = Dice(42);
    let mut traced = Paths { threshold_ns: Some(THRESHOLD_NS), ..Paths::default() };
    for nr in 0..nr_paths {
        let (stats, slow) = path(nr, &mut dice);
        traced.nr_slow += slow.len() as u64;
        traced.slow.extend(slow);
        traced.paths.push(PathSummary::new(stats, &meta.names));
    }
    traced.paths.sort_by_key(|p| std::cmp::Reverse(p.total.max_ns));
    traced.slow.sort_by_key(|s| std::cmp::Reverse(s.record.total_ns()));
    traced.lines = lines(&meta.names, &mut dice);
    traced.softirqs = softirqs(&mut dice);
    traced.napi = vec![NapiStats { cpu: 7, nr: 4_321, nr_packets: 98_765, nr_exhausted: 12 }];
    let mut summary = Summary::from_measured(Measured::Paths(traced));
    summary.loss = Loss::default();
    summary.loss.add_loss(LossReason::RingbufFull, 52);
    summary.loss.add_loss(LossReason::TaskExit, 7);
    summary.overhead = machine::overhead();
    summary.missing = machine::missing();
    (meta, summary)
}

fn origin(nr: usize) -> (Origin, Via) {
    match nr % 7 {
        0 => (Origin::Vector(Vector::LocalTimer), Via::empty()),
        1 => (Origin::Irq(36 + (nr / 7) as u32 % 8), Via::softirq(SoftirqVec::Block)),
        2 => (
            Origin::Irq(50 + (nr / 7) as u32 % 4),
            Via::IRQ_THREAD | Via::softirq(SoftirqVec::NetRx),
        ),
        3 => (Origin::Softirq(SoftirqVec::NetRx), Via::softirq(SoftirqVec::NetRx)),
        4 => (Origin::Vector(Vector::LocalTimer), Via::softirq(SoftirqVec::Timer) | Via::WORK),
        5 => (Origin::Vector(Vector::Reschedule), Via::REMOTE),
        _ => (
            Origin::Vector(Vector::CallFunctionSingle),
            Via::softirq(SoftirqVec::Sched) | Via::KSOFTIRQD,
        ),
    }
}

fn target(nr: usize) -> Task {
    let (comm, prio) = match nr {
        0 => ("cyclictest", 4),
        3 => (HOSTILE, 120),
        _ => [
            "jackd",
            "postgres",
            "stress-ng",
            "kworker/3:1",
            "irq/50-eth0",
            "sshd",
            "rcu_preempt",
            "ros2_control",
            "nginx",
            "dbench",
            "iperf3",
        ][nr % 11..]
            .first()
            .map_or(("task", 120), |c| (*c, 120)),
    };
    let comm = if nr < 11 { comm.to_owned() } else { format!("{comm}-{}", nr / 77) };
    let tid = 800 + nr as u32;
    Task { tid, tgid: tid, comm: comm.as_str().into(), prio, normal_prio: prio, ..Task::default() }
}

/// The points that such a path stamps, each with its typical distance from the one before, ns.
fn points(origin: Origin, via: Via) -> Vec<(Point, u64)> {
    let mut points = Vec::new();
    match origin {
        Origin::Irq(_) => points.push((Point::Hardirq, 0)),
        Origin::Vector(_) => points.extend([(Point::Raise, 0), (Point::Hardirq, 1_300)]),
        Origin::Softirq(_) => {}
    }
    if via.contains(Via::IRQ_THREAD) {
        points.push((Point::IrqThread, 3_800));
    }
    if via.intersects(Via::SOFTIRQS) {
        points.extend([(Point::SoftirqRaise, 700), (Point::Softirq, 1_900)]);
    }
    if via.contains(Via::WORK) {
        points.extend([(Point::WorkQueue, 900), (Point::Work, 4_600)]);
    }
    points.extend([(Point::Waking, 1_100), (Point::SwitchIn, 2_900), (Point::User, 1_400)]);
    points
}

fn path(nr: usize, dice: &mut Dice) -> (PathStats, Vec<SlowPath>) {
    let (origin, via) = origin(nr);
    let target = target(nr);
    let points = points(origin, via);
    let mut stats = PathStats::new(PathKey {
        origin,
        via,
        comm: target.comm.clone(),
        sched: None,
        folded: false,
        cgroup: None,
    });
    let mut slow = Vec::new();
    let nr_runs = if nr < 12 { 9_000 } else { 5 + dice.below(400) };
    for run in 0..nr_runs {
        let mut record = run_of(origin, via, &target, &points, dice);
        if nr == 0 && run == 77 {
            stretch(&mut record, 3_000_000);
        }
        stats.record_path(&record);
        if record.total_ns() > THRESHOLD_NS {
            slow.push(explain(record, dice));
        }
    }
    (stats, slow)
}

fn run_of(
    origin: Origin,
    via: Via,
    target: &Task,
    points: &[(Point, u64)],
    dice: &mut Dice,
) -> PathRecord {
    // An uptime of half a year: beyond what JavaScript can count in nanoseconds.
    let mut ns = 15_552_000_000_000_000 + dice.below(10_000_000_000);
    let cpu = dice.below(u64::from(NR_CPUS)) as u16;
    let remote = via.contains(Via::REMOTE);
    let mut stamps = [None; Point::COUNT];
    for &(point, typical) in points {
        ns += if typical == 0 { 0 } else { dice.time(typical) };
        let moved = remote && point >= Point::SwitchIn;
        stamps[point.index()] =
            Some(Stamp { ns, cpu: if moved { (cpu + 1) % NR_CPUS } else { cpu } });
    }
    let timer_fn = if origin == Origin::Vector(Vector::LocalTimer) { machine::TIMER_FN } else { 0 };
    PathRecord {
        origin,
        via,
        stamps,
        timer_fn,
        target: target.clone(),
        end: PathEnd::User,
        queues: Vec::new(),
        cgroup: None,
    }
}

/// Delay the switch-in, as a spinning task of higher priority would.
fn stretch(record: &mut PathRecord, ns: u64) {
    for stamp in record.stamps[Point::SwitchIn.index()..].iter_mut().flatten() {
        stamp.ns += ns;
    }
}

/// Causes that add up to each stage.
fn explain(record: PathRecord, dice: &mut Dice) -> SlowPath {
    let stages = record.stages().into_iter().map(|span| {
        let (from, to, cpu) = (span.from, span.to, span.end.cpu);
        StageCauses {
            from,
            to,
            cpu,
            waited_for: Vec::new(),
            ns: span.ns(),
            causes: causes(span.to, span.ns(), dice),
        }
    });
    SlowPath { stages: stages.collect(), record }
}

fn causes(to: Point, ns: u64, dice: &mut Dice) -> Vec<Cause> {
    let cause = |kind, who: &str, ns, nr_times| Cause { kind, who: who.to_owned(), ns, nr_times };
    if ns < 20_000 {
        return vec![cause(CauseKind::Own, "handler", ns, 1)];
    }
    let main = ns - ns / 16;
    let (kind, who) = match (to, dice.below(4)) {
        (Point::SwitchIn, 0 | 1) => (CauseKind::Thread, "spinner:812 f:20"),
        (Point::SwitchIn, _) => (CauseKind::PreemptOff, "stress-ng:4711 o:0"),
        (Point::Hardirq, _) => (CauseKind::IrqsOff, "stress-ng:4711 o:0"),
        (_, 0) => (CauseKind::Idle, ""),
        (_, 1) => (CauseKind::Softirq, "net_rx"),
        _ => (CauseKind::Hardirq, "LOC:local_timer"),
    };
    let (softirq, steal, own) = ((ns - main) / 4, (ns - main) / 4, (ns - main) / 3);
    vec![
        cause(kind, who, main, 1 + dice.below(3) as u32),
        cause(CauseKind::Softirq, "timer", softirq, 2),
        cause(CauseKind::Steal, "hypervisor", steal, 1),
        cause(CauseKind::Own, "handler", own, 1),
        cause(CauseKind::Unexplained, "", ns - main - softirq - steal - own, 1),
    ]
}

fn lines(names: &Names, dice: &mut Dice) -> Vec<LineStats> {
    let vectors =
        [Vector::LocalTimer, Vector::Reschedule, Vector::CallFunction, Vector::CallFunctionSingle];
    let irqs = names.irqs.keys().map(|&nr| Origin::Irq(nr));
    let origins = irqs.chain(vectors.map(Origin::Vector));
    let rows = origins.flat_map(|origin| (0..NR_CPUS).map(move |cpu| (origin, cpu)));
    let mut of = |(origin, cpu)| {
        let nr = 40 + dice.below(9_000);
        LineStats {
            origin,
            cpu,
            nr,
            run_ns: nr * dice.time(1_500),
            max_run_ns: 60_000 + dice.below(9_000),
        }
    };
    rows.map(&mut of).collect()
}

fn softirqs(dice: &mut Dice) -> Vec<SoftirqStats> {
    let rows =
        SoftirqVec::ALL.iter().copied().flat_map(|vec| (0..NR_CPUS).map(move |cpu| (vec, cpu)));
    let mut of = |(vec, cpu)| {
        let nr = 10 + dice.below(20_000);
        SoftirqStats {
            vec,
            cpu,
            nr,
            run_ns: nr * dice.time(2_000),
            max_run_ns: 90_000 + dice.below(90_000),
            delay_ns: nr * dice.time(900),
            max_delay_ns: 200_000 + dice.below(100_000),
        }
    };
    rows.map(&mut of).collect()
}
