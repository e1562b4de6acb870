// SPDX-License-Identifier: GPL-2.0-or-later
//! A recording of invented events, which every test of the command line can replay.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use irqpath_model::{
    CpuInfo, Event, Meta, Names, Occupancy, Origin, PathEnd, PathRecord, PathStats, Point,
    SCHEMA_VERSION, Snapshot, Stamp, Task, Transition, Via,
};
use irqpath_source::replay::RecordingWriter;

use crate::cli::irqpath;

/// A path of irq 36 to postgres that takes `ns` from its handler on.
pub fn record(at_ns: u64, ns: u64) -> PathRecord {
    let mut stamps = [None; Point::COUNT];
    for (point, at) in
        [(Point::Hardirq, at_ns), (Point::Waking, at_ns + ns / 4), (Point::SwitchIn, at_ns + ns)]
    {
        stamps[point.index()] = Some(Stamp { ns: at, cpu: 0 });
    }
    PathRecord {
        origin: Origin::Irq(36),
        via: Via::empty(),
        stamps,
        timer_fn: 0,
        target: Task {
            tid: 700,
            tgid: 700,
            comm: "postgres".into(),
            prio: 120,
            normal_prio: 120,
            ..Task::default()
        },
        end: PathEnd::SwitchIn,
        queues: Vec::new(),
        cgroup: None,
    }
}

/// Who has the CPU while the target of an invented path waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// A task called hog.
    Hog,
    /// The idle task.
    Idle,
    /// The hog for 1 us, then the hypervisor.
    Hypervisor,
}

fn transitions(record: &PathRecord, blame: Blame, seq: u64) -> Vec<Occupancy> {
    let start = record.first().unwrap().ns;
    let end = record.last().unwrap().ns;
    let hog = Task { tid: 4711, comm: "hog".into(), prio: 79, normal_prio: 79, ..Task::default() };
    let meanwhile = if blame == Blame::Idle { Task::default() } else { hog };
    let duration_ns = if blame == Blame::Hypervisor { end - start - 2_000 } else { 0 };
    let stolen = (duration_ns > 0).then_some((end, Transition::Stolen { duration_ns }));
    [
        Some((start, Transition::HardirqEntry(Origin::Irq(36)))),
        Some((start + 1_000, Transition::HardirqExit)),
        Some((start + 1_000, Transition::SwitchIn(meanwhile))),
        stolen,
        Some((end, Transition::SwitchIn(record.target.clone()))),
    ]
    .into_iter()
    .flatten()
    .zip(seq..)
    .map(|((ns, what), seq)| Occupancy { ns, cpu: 0, seq, what })
    .collect()
}

/// Meta of an invented machine.
pub fn meta() -> Meta {
    Meta {
        schema_version: SCHEMA_VERSION,
        host: "paper".to_owned(),
        cpu: CpuInfo { online: "0-1".to_owned(), ..CpuInfo::default() },
        names: Names { irqs: [(36, "virtio1-req.0".to_owned())].into(), ..Names::default() },
        ..Meta::default()
    }
}

/// A recording of `n` paths of 10 us and one of 500 us, in which a task called hog is to blame.
pub fn recording(directory: &Path, n: u64) -> PathBuf {
    recording_of(directory, &meta(), n, 10_000)
}

/// The same of a measurement with this meta, whose paths take `ns` and a little more.
pub fn recording_of(directory: &Path, meta: &Meta, n: u64, ns: u64) -> PathBuf {
    blamed_recording(directory, meta, (n, ns), Blame::Hog)
}

/// The same, `(n, ns)` as there, with something else to blame.
pub fn blamed_recording(
    directory: &Path,
    meta: &Meta,
    (n, ns): (u64, u64),
    blame: Blame,
) -> PathBuf {
    let path = directory.join("run.rec");
    let mut writer = RecordingWriter::create(&path, meta).unwrap();
    let mut stats = PathStats::new(record(0, 1).key());
    let mut seq = 1;
    for i in 0..=n {
        // A spread of 3 %, the same in every recording.
        let ns = if ns == 10_000 { ns } else { ns + ns * (i * 7919 % 1000) / 30_000 };
        let record = record(1_000_000_000 + i * 1_000_000, if i == n { 500_000 } else { ns });
        stats.record_path(&record);
        let block = transitions(&record, blame, seq);
        seq += block.len() as u64;
        writer.write_events(&[Event::Path(Box::new(record)), Event::Occupancy(block)]).unwrap();
    }
    let snapshot = Snapshot { ns: 3_000_000_000, paths: vec![stats], ..Snapshot::default() };
    writer.finish(meta, &snapshot).unwrap();
    path
}

/// A result directory `name` below `root`, of a run with this meta.
pub fn result_of(root: &Path, name: &str, meta: &Meta, n: u64, ns: u64) -> PathBuf {
    let scratch = tempfile::tempdir().unwrap();
    let recording = recording_of(scratch.path(), meta, n, ns);
    let target = root.join(name);
    let mut command = irqpath();
    command.args(["trace", "once", "--replay"]).arg(recording).arg("-o").arg(&target);
    command.assert().success();
    target
}

/// `trace once` of such a recording, ready for more arguments.
pub fn replay(directory: &Path) -> Command {
    let path = directory.join("run.rec");
    let path = if path.exists() { path } else { recording(directory, 100) };
    let mut command = irqpath();
    command.args(["trace", "once", "--replay"]).arg(path);
    command
}
