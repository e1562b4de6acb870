// SPDX-License-Identifier: GPL-2.0-or-later
//! What the tests of the command line share: the command, a recording made of invented events,
//! and what needs root.
#![allow(dead_code, clippy::unwrap_used)] // each test uses its part; a panic is how one fails

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use irqpath_model::{
    CpuInfo, Event, Meta, Names, Occupancy, Origin, PathEnd, PathRecord, PathStats, Point,
    SCHEMA_VERSION, Snapshot, Stamp, Task, Transition, Via,
};
use irqpath_source::replay::RecordingWriter;

/// The command under test.
pub fn irqpath() -> Command {
    Command::cargo_bin("irqpath").unwrap()
}

/// The same by a user without any privilege, and without root's limits, which would be inherited.
/// Only root can become that user. The command is copied to where that user can reach it.
pub fn unprivileged(reachable: &Path) -> Command {
    let binary = reachable.join("irqpath");
    // By another process: a test that forks while this one writes would keep the file open for
    // writing, and it could not be executed.
    let copied = std::process::Command::new("cp")
        .arg(assert_cmd::cargo::cargo_bin("irqpath"))
        .arg(&binary)
        .status();
    assert!(copied.unwrap().success());
    for path in [reachable, &binary] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new("prlimit");
    command
        .args(["--memlock=0", "--rtprio=0", "--nice=0", "setpriv"])
        .args(["--reuid", "65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
        .arg(binary);
    command
}

/// True for root; says that the test was skipped otherwise.
pub fn is_root(test: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let root = status.lines().any(|l| l.starts_with("Uid:\t0\t"));
    if !root {
        eprintln!("skipped: {test}: needs root");
    }
    root
}

/// The one line of an error.
pub fn error_line(output: &Output) -> String {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text.lines().count(), 1, "an error is one line: {text}");
    let line = text.trim_end().to_owned();
    assert!(line.starts_with("irqpath: "), "{line}");
    line
}

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
    }
}

fn transitions(record: &PathRecord, seq: u64) -> Vec<Occupancy> {
    let start = record.first().unwrap().ns;
    let end = record.last().unwrap().ns;
    let hog = Task { tid: 4711, comm: "hog".into(), prio: 79, normal_prio: 79, ..Task::default() };
    [
        (start, Transition::HardirqEntry(Origin::Irq(36))),
        (start + 1_000, Transition::HardirqExit),
        (start + 1_000, Transition::SwitchIn(hog)),
        (end, Transition::SwitchIn(record.target.clone())),
    ]
    .into_iter()
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
    let path = directory.join("run.rec");
    let mut writer = RecordingWriter::create(&path, &meta()).unwrap();
    let mut stats = PathStats::new(record(0, 1).key());
    for i in 0..=n {
        let record = record(1_000_000_000 + i * 1_000_000, if i == n { 500_000 } else { 10_000 });
        stats.record(&record);
        let block = transitions(&record, 1 + i * 4);
        writer.events(&[Event::Path(Box::new(record)), Event::Occupancy(block)]).unwrap();
    }
    let snapshot = Snapshot { ns: 3_000_000_000, paths: vec![stats], ..Snapshot::default() };
    writer.finish(&meta(), &snapshot).unwrap();
    path
}

/// `trace once` of such a recording, ready for more arguments.
pub fn replay(directory: &Path) -> Command {
    let path = directory.join("run.rec");
    let path = if path.exists() { path } else { recording(directory, 100) };
    let mut command = irqpath();
    command.args(["trace", "once", "--replay"]).arg(path);
    command
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
