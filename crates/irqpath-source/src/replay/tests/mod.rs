// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests of recordings: what goes in comes out, and what is not whole is refused. Here are the
//! samples that both use.

mod damage;
mod round_trip;

use std::path::{Path, PathBuf};

use irqpath_model::{
    Comm, Event, Loss, LossReason, Meta, Missing, Occupancy, Origin, PathEnd, PathRecord,
    PathStats, Point, RunQueue, Snapshot, SoftirqVec, Stamp, Task, Transition, Vector, Via,
};
use proptest::prelude::*;

use super::{RecordingWriter, Replay};
use crate::{Source, SourceError};

/// An origin of every kind.
fn origins() -> impl Strategy<Value = Origin> {
    prop_oneof![
        any::<u32>().prop_map(Origin::Irq),
        prop::sample::select(Vector::ALL).prop_map(Origin::Vector),
        prop::sample::select(SoftirqVec::ALL).prop_map(Origin::Softirq),
    ]
}

fn tasks() -> impl Strategy<Value = Task> {
    (any::<u32>(), "\\PC{0,15}", -1_i16..=140).prop_map(|(tid, comm, prio)| Task {
        tid,
        comm: Comm::from(comm.as_str()),
        prio,
        ..Task::default()
    })
}

fn transitions() -> impl Strategy<Value = Transition> {
    prop_oneof![
        origins().prop_map(Transition::HardirqEntry),
        Just(Transition::HardirqExit),
        prop::sample::select(SoftirqVec::ALL).prop_map(Transition::SoftirqEntry),
        Just(Transition::SoftirqExit),
        tasks().prop_map(Transition::SwitchIn),
        tasks().prop_map(Transition::Unseen),
        any::<u64>().prop_map(|duration_ns| Transition::NmiEnd { duration_ns }),
        any::<u64>().prop_map(|duration_ns| Transition::Stolen { duration_ns }),
    ]
}

fn records() -> impl Strategy<Value = PathRecord> {
    let stamp = prop::option::of((any::<u64>(), any::<u16>()));
    let stamps = prop::collection::vec(stamp, Point::COUNT);
    let queue = (any::<u64>(), any::<Option<u16>>());
    let queues = prop::collection::vec(queue, 0..3);
    (origins(), 0_u32..1 << 17, stamps, any::<u64>(), tasks(), queues).prop_map(
        |(origin, via, stamps, timer_fn, target, queues)| PathRecord {
            origin,
            via: Via::from_bits_retain(via),
            stamps: std::array::from_fn(|i| stamps[i].map(|(ns, cpu)| Stamp { ns, cpu })),
            timer_fn,
            target,
            end: PathEnd::SwitchIn,
            queues: queues.into_iter().map(|(since_ns, cpu)| RunQueue { since_ns, cpu }).collect(),
            cgroup: None,
        },
    )
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let block = (any::<u64>(), any::<u16>(), any::<u64>(), transitions())
        .prop_map(|(ns, cpu, seq, what)| Occupancy { ns, cpu, seq, what });
    let event = prop_oneof![
        records().prop_map(|record| Event::Path(Box::new(record))),
        prop::collection::vec(block, 0..8).prop_map(Event::Occupancy),
    ];
    prop::collection::vec(event, 0..20)
}

/// A path that starts at `ns` and takes `length_ns`.
fn path(ns: u64, length_ns: u64) -> Event {
    let mut stamps = [None; Point::COUNT];
    stamps[Point::Hardirq.index()] = Some(Stamp { ns, cpu: 0 });
    stamps[Point::SwitchIn.index()] = Some(Stamp { ns: ns + length_ns, cpu: 1 });
    Event::Path(Box::new(PathRecord {
        origin: Origin::Irq(36),
        via: Via::IRQ_THREAD,
        stamps,
        timer_fn: 0,
        target: Task { tid: 7, comm: Comm::from("fio"), ..Task::default() },
        end: PathEnd::SwitchIn,
        queues: Vec::new(),
        cgroup: None,
    }))
}

/// Transitions of one CPU, `nr` of them from `ns`, one per microsecond.
fn block(ns: u64, nr: u64) -> Event {
    let transition = |seq| Occupancy {
        ns: ns + seq * 1_000,
        cpu: 1,
        seq,
        what: Transition::HardirqEntry(Origin::Vector(Vector::LocalTimer)),
    };
    Event::Occupancy((0..nr).map(transition).collect())
}

fn meta(host: &str) -> Meta {
    Meta { host: host.to_owned(), ..Meta::default() }
}

/// The statistics of one path, a loss and a missing feature.
fn snapshot() -> Snapshot {
    let Event::Path(record) = path(1_000, 50_000) else { unreachable!("path() makes a path") };
    let mut stats = PathStats::new(record.key());
    stats.record_path(&record);
    let mut loss = Loss::default();
    loss.add_loss(LossReason::RingbufFull, 3);
    let missing = Missing { what: "napi_poll".into(), consequence: "no NAPI stage".into() };
    Snapshot { ns: 99, paths: vec![stats], loss, missing: vec![missing], ..Snapshot::default() }
}

/// A directory and the name of a recording in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.irqpath");
    (directory, path)
}

fn record(path: &Path, events: &[Event]) {
    let mut writer = RecordingWriter::create(path, &meta("start")).unwrap();
    writer.write_events(events).unwrap();
    writer.finish(&meta("end"), &snapshot()).unwrap();
}

/// Everything that a replay delivers.
fn drain(replay: &mut Replay) -> Result<Vec<Event>, SourceError> {
    let mut all = Vec::new();
    while !replay.is_exhausted() {
        all.extend(replay.poll_events(std::time::Duration::ZERO)?);
    }
    Ok(all)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}
