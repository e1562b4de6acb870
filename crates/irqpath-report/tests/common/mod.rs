// SPDX-License-Identifier: GPL-2.0-or-later
//! A small hand-made measurement that every exporter's tests share, and generators of odd ones.
#![allow(dead_code)] // each test file uses its own part
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use irqpath_model::{
    Cause, CauseKind, Comm, CpuInfo, Histogram, KernelInfo, LineStats, Loss, LossReason, Measured,
    Meta, Missing, Names, NapiStats, Origin, Overhead, PathEnd, PathKey, PathRecord, PathStats,
    PathSummary, Paths, Point, Policy, SCHEMA_VERSION, SlowPath, SoftirqStats, SoftirqVec,
    StageCauses, Stamp, Summary, Task, Vector, Via,
};
use proptest::prelude::*;

/// Names with everything that a format could trip over.
pub fn names() -> Names {
    let mut names = Names::default();
    names.irqs.insert(36, "virtio1-req.0".to_owned());
    names.irqs.insert(40, "a,b \"quoted\"\\ and\nnewline".to_owned());
    names.symbols.insert(0xffff_ffff_8100_0000, "hrtimer_wakeup".to_owned());
    names
}

pub fn task(tid: u32, comm: &str, prio: i16) -> Task {
    let policy = if prio < 100 { Policy::Fifo } else { Policy::Normal };
    Task { tid, tgid: tid, comm: comm.into(), prio, normal_prio: prio, policy }
}

/// A disk read: CPU 0 takes the interrupt, CPU 1 runs the target.
pub fn record() -> PathRecord {
    let mut stamps = [None; Point::COUNT];
    let base = 1_000_000_000;
    for (point, at, cpu) in [
        (Point::Hardirq, 0, 0),
        (Point::SoftirqRaise, 1_200, 0),
        (Point::Softirq, 13_300, 0),
        (Point::Waking, 16_000, 0),
        (Point::SwitchIn, 812_300, 1),
        (Point::User, 813_900, 1),
    ] {
        stamps[point.index()] = Some(Stamp { ns: base + at, cpu });
    }
    PathRecord {
        origin: Origin::Irq(36),
        via: Via::softirq(SoftirqVec::Block) | Via::REMOTE,
        stamps,
        timer_fn: 0,
        target: task(1234, "fio", 49),
        end: PathEnd::User,
        queues: Vec::new(),
        cgroup: None,
    }
}

fn cause(kind: CauseKind, who: &str, ns: u64, nr_times: u32) -> Cause {
    Cause { kind, who: who.to_owned(), ns, nr_times }
}

/// [`record`] with causes; the parts add up.
pub fn slow() -> SlowPath {
    let record = record();
    let mut stages: Vec<StageCauses> = record
        .stages()
        .iter()
        .map(|s| StageCauses {
            from: s.from,
            to: s.to,
            cpu: s.end.cpu,
            waited_for: Vec::new(),
            ns: s.ns(),
            causes: vec![cause(CauseKind::Own, "own", s.ns(), 1)],
        })
        .collect();
    stages[1].causes = vec![
        cause(CauseKind::Hardirq, "LOC:local_timer", 8_000, 2),
        cause(CauseKind::Own, "block", 4_100, 1),
    ];
    stages[3].causes = vec![
        cause(CauseKind::Thread, "stress-ng:4711 f:80", 780_000, 1),
        cause(CauseKind::PreemptOff, "kworker/1:2:88 o:0", 8_300, 1),
        cause(CauseKind::Unexplained, "", 8_000, 1),
    ];
    SlowPath { record, stages }
}

fn histogram(values: &[(u64, u32)]) -> Histogram {
    let mut h = Histogram::default();
    for &(ns, n) in values {
        (0..n).for_each(|_| h.record_ns(ns));
    }
    h
}

fn path(origin: Origin, via: Via, comm: &str, scale: u64) -> PathSummary {
    let mut stats = PathStats::new(PathKey {
        origin,
        via,
        comm: comm.into(),
        sched: None,
        folded: false,
        cgroup: None,
    });
    let times = [(4_100, 40), (6_000, 200), (12_400, 50), (33_100, 9), (813_900, 1)];
    stats.tid = Some(1234);
    stats.total = histogram(&times.map(|(ns, n)| (ns * scale, n)));
    for (point, share) in [(Point::Waking, 3), (Point::SwitchIn, 6), (Point::User, 1)] {
        stats.stages.insert(point, histogram(&times.map(|(ns, n)| (ns * scale * share / 10, n))));
    }
    // All but the return to user space.
    stats.slowest_ns = 813_900 * scale * 9 / 10;
    PathSummary::new(stats, &names())
}

fn line(origin: Origin, cpu: u16, nr: u64) -> LineStats {
    LineStats { origin, cpu, nr, run_ns: nr * 900, max_run_ns: 7_400 }
}

pub fn summary() -> Summary {
    let mut loss = Loss::default();
    loss.add_loss(LossReason::RingbufFull, 12);
    loss.add_loss(LossReason::TaskExit, 3);
    let paths = Paths {
        paths: vec![
            path(Origin::Vector(Vector::LocalTimer), Via::default(), "cyclictest", 2),
            path(Origin::Irq(36), Via::softirq(SoftirqVec::Block) | Via::REMOTE, "fio", 1),
            path(Origin::Irq(40), Via::IRQ_THREAD, "odd \"name\"\n\u{1b}[31m", 1),
        ],
        lines: vec![
            line(Origin::Irq(36), 0, 300),
            line(Origin::Irq(36), 1, 20),
            line(Origin::Irq(40), 0, 5),
            line(Origin::Vector(Vector::LocalTimer), 0, 2_500),
            line(Origin::Vector(Vector::LocalTimer), 1, 2_400),
        ],
        softirqs: vec![SoftirqStats {
            vec: SoftirqVec::Block,
            cpu: 0,
            nr: 300,
            run_ns: 900_000,
            max_run_ns: 12_000,
            delay_ns: 600_000,
            max_delay_ns: 12_100,
        }],
        napi: vec![
            NapiStats { cpu: 0, nr: 4_200, nr_packets: 61_000, nr_exhausted: 17 },
            NapiStats { cpu: 1, nr: 300, nr_packets: 900, nr_exhausted: 0 },
        ],
        slow: vec![slow()],
        nr_slow: 2,
        threshold_ns: Some(100_000),
        ..Paths::default()
    };
    Summary {
        loss,
        overhead: Overhead {
            nr_events: 1_234_567,
            mean_event_ns: 98,
            nr_sampled: 50_000,
            process_cpu_ns: 300_000_000,
            peak_rss_bytes: 42 << 20,
            map_bytes: 8 << 20,
            urgent_ns: 0,
        },
        missing: vec![Missing {
            what: "ipi:ipi_send_cpu".to_owned(),
            consequence: "remote wakeups have no raise stamp; Linux 6.4 or newer has it".to_owned(),
        }],
        ..Summary::from_measured(Measured::Paths(paths))
    }
}

pub fn meta() -> Meta {
    Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: "0.1.0".to_owned(),
        command: ["irqpath", "trace", "once", "-d", "10s"].map(str::to_owned).to_vec(),
        host: "bench".to_owned(),
        started_at: "2025-01-02T03:04:05Z".to_owned(),
        duration_ns: 10_000_000_000,
        source: "live".to_owned(),
        kernel: KernelInfo {
            release: "6.12.0".to_owned(),
            machine: "x86_64".to_owned(),
            preemption: "full".to_owned(),
            ..KernelInfo::default()
        },
        cpu: CpuInfo {
            model: "Example CPU".to_owned(),
            online: "0-1".to_owned(),
            ..<_>::default()
        },
        names: names(),
        is_exact: false,
        observer_effects: vec!["BPF statistics were on for 1 s".to_owned()],
        ..Meta::default()
    }
}

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        any::<u32>().prop_map(Origin::Irq),
        prop::sample::select(Vector::ALL.to_vec()).prop_map(Origin::Vector),
        prop::sample::select(SoftirqVec::ALL.to_vec()).prop_map(Origin::Softirq),
    ]
}

fn any_task() -> impl Strategy<Value = Task> {
    let comm = prop::collection::vec(any::<u8>(), 0..16).prop_map(|b| Comm::from_bytes(&b));
    let policy = any::<u8>().prop_map(|n| Policy::from_repr(n.into()).unwrap_or_default());
    (any::<u32>(), any::<u32>(), comm, any::<i16>(), any::<i16>(), policy).prop_map(
        |(tid, tgid, comm, prio, normal_prio, policy)| Task {
            tid,
            tgid,
            comm,
            prio,
            normal_prio,
            policy,
        },
    )
}

fn any_stamp() -> impl Strategy<Value = Option<Stamp>> {
    let ns = prop_oneof![any::<u64>(), 0u64..10_000];
    prop::option::of((ns, any::<u16>()).prop_map(|(ns, cpu)| Stamp { ns, cpu }))
}

/// Any record that the types can hold, most of them absurd.
pub fn any_record() -> impl Strategy<Value = PathRecord> {
    let ends = vec![PathEnd::User, PathEnd::SwitchIn, PathEnd::SleptAgain, PathEnd::AlreadyRunning];
    let stamps = prop::collection::vec(any_stamp(), Point::COUNT);
    (any_origin(), 0_u32..1 << 17, stamps, any::<u64>(), any_task(), prop::sample::select(ends))
        .prop_map(|(origin, via, stamps, timer_fn, target, end)| PathRecord {
            origin,
            via: Via::from_bits_retain(via),
            stamps: stamps.try_into().unwrap(),
            timer_fn,
            target,
            end,
            queues: Vec::new(),
            cgroup: None,
        })
}
