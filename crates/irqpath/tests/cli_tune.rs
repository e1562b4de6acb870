// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune` as a user runs it: from a recording, live for a moment, and what is refused. What
//! it sets, follows and puts back is for `guests/tune.rs` of irqpath-testing.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use irqpath_model::{
    Event, Occupancy, PathRecord, PathStats, Point, Snapshot, Stamp, Task, Transition, Via,
};
use irqpath_source::replay::RecordingWriter;
use irqpath_testing::cli::{error_line, irqpath, is_root, unprivileged};
use irqpath_testing::recordings::{meta, record};
use serde_json::Value;

/// A path of irq 36 through its thread to a task of this priority (as the kernel counts them:
/// FIFO 80 is 19).
fn served_path(at_ns: u64, tid: u32, prio: i16) -> PathRecord {
    let mut path = record(at_ns, 10_000);
    path.via = Via::IRQ_THREAD;
    path.stamps[Point::IrqThread.index()] = Some(Stamp { ns: at_ns + 2_000, cpu: 0 });
    path.target = Task { tid, tgid: tid, comm: "jackd".into(), ..path.target };
    (path.target.prio, path.target.normal_prio) = (prio, prio);
    path
}

/// A recording of 40 wakeups of a real-time task, one of another, and 10 of an ordinary one.
fn write_recording(directory: &Path) -> PathBuf {
    let path = directory.join("tune.rec");
    let mut writer = RecordingWriter::create(&path, &meta()).unwrap();
    let mut stats = PathStats::new(served_path(0, 1, 19).key());
    let thread = Task { tid: 50, comm: "irq/36-virtio1-".into(), prio: 49, ..Task::default() };
    for i in 0..51 {
        let (tid, prio) = match i {
            0..40 => (700, 19),
            40 => (701, 29),
            _ => (702, 120),
        };
        let one = served_path(1_000_000_000 + i * 1_000_000, tid, prio);
        stats.record_path(&one);
        let start = one.first().unwrap().ns;
        let block = [
            (start + 1_500, Transition::SwitchIn(thread.clone())),
            (start + 10_000, Transition::SwitchIn(one.target.clone())),
        ];
        let block = block.into_iter().zip(1 + i * 2..);
        let block = block.map(|((ns, what), seq)| Occupancy { ns, cpu: 0, seq, what }).collect();
        writer.write_events(&[Event::Path(Box::new(one)), Event::Occupancy(block)]).unwrap();
    }
    let snapshot = Snapshot { ns: 3_000_000_000, paths: vec![stats], ..Snapshot::default() };
    writer.finish(&meta(), &snapshot).unwrap();
    path
}

#[test]
fn a_recording_gives_the_table_and_no_plan() {
    let root = tempfile::tempdir().unwrap();
    let path = write_recording(root.path());
    let output = irqpath().args(["tune", "--replay"]).arg(&path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let row = |tid: &str| text.lines().find(|l| l.contains(tid)).unwrap_or_default().to_owned();
    for (tid, parts) in [
        ("(700)", &["36:virtio1-req.0", "jackd", "irq/36-virtio1-", "40", "78.4 %"][..]),
        ("(701)", &["36:virtio1-req.0", "1", "2.0 %", "too few"]),
    ] {
        for part in parts {
            assert!(row(tid).contains(part), "{part} is not in '{}'", row(tid));
        }
    }
    assert_eq!(row("(702)"), "", "an ordinary task is not served");
    let output = irqpath().args(["tune", "--json", "--replay"]).arg(&path).output().unwrap();
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = &all["learned"]["associations"][0];
    assert_eq!(
        (&one["tid"], &one["nr"], &one["established"]),
        (&700.into(), &40.into(), &true.into())
    );
    assert_eq!(one["carriers"][0]["nr"], 40);
    assert!(all["plan"].is_null() && all["applied"].is_null());
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let table: [(&[&str], &[&str]); 7] = [
        (&["--apply", "--dry-run"], &["--apply", "--dry-run"]),
        (&["--replay", "x", "--apply"], &["--replay", "--apply"]),
        (&["--learn", "0"], &["above 0"]),
        (&["--replay", "x", "--selective"], &["--replay", "--selective"]),
        (&["--replay", "x", "--packets"], &["--replay", "--packets"]),
        (&["--replay", "/nonexistent/x"], &["/nonexistent/x"]),
        (&["again"], &["again"]),
    ];
    for (arguments, parts) in table {
        let line = error_line(&irqpath().arg("tune").args(arguments).output().unwrap());
        for part in parts {
            assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
        }
    }
}

#[test]
fn a_user_without_privilege_is_told_what_is_missing() {
    if !is_root("a_user_without_privilege_is_told") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str]| {
        error_line(&unprivileged(bin.path()).arg("tune").args(arguments).output().unwrap())
    };
    let line = refused(&["--learn", "1s"]);
    assert!(line.contains("CAP_BPF") && line.contains("--replay"), "{line}");
    let line = refused(&["--learn", "1s", "--apply"]);
    assert!(line.contains("CAP_SYS_NICE"), "{line}");
    let output = unprivileged(bin.path()).args(["tune", "status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "looking needs no privilege: {output:?}");
}

#[test]
fn the_schema_describes_it() {
    let output = irqpath().args(["schema", "tune"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["$id"], "urn:irqpath:schema:tune:2");
    for part in ["learned", "plan", "applied", "status", "reset"] {
        assert!(schema["properties"][part].is_object(), "{part}");
    }
}

/// Names and policies of the kernel threads that tune may change.
fn interrupt_threads() -> BTreeMap<u32, String> {
    let host = irqpath_system::Host::real();
    let serves = |comm: &str| comm.starts_with("irq/") || comm.starts_with("ksoftirqd/");
    let threads = host.live_threads().into_iter().filter(|t| t.kernel && serves(&t.comm));
    threads.map(|t| (t.id.tid, t.scheduling.to_string())).collect()
}

#[test]
fn a_dry_run_learns_a_live_task_and_changes_nothing() {
    if !is_root("a_dry_run_learns") {
        return;
    }
    let before = interrupt_threads();
    let mut task = std::process::Command::new(assert_cmd::cargo::cargo_bin("irqpath"))
        .args(["respond", "-f", "200", "-d", "60s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = irqpath().args(["tune", "--learn", "3s", "--json"]).output().unwrap();
    let threads = irqpath_system::Host::real().live_threads();
    let real_time =
        threads.iter().any(|t| t.comm == "irqpath-respond" && t.scheduling.fixed_priority() == 80);
    task.kill().unwrap();
    task.wait().unwrap();
    if output.status.code() == Some(2) {
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.starts_with("irqpath: "), "{why}");
        eprintln!("skipped: a_dry_run_learns: no tracing here: {why}");
        return;
    }
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(all["applied"].is_null() && all["plan"]["changes"].is_array(), "{all}");
    let associations = all["learned"]["associations"].as_array().unwrap();
    let one = associations.iter().find(|a| a["comm"] == "irqpath-respond");
    if let Some(one) = one {
        assert_eq!(one["established"], true, "{one}");
        assert!(one["nr"].as_u64().unwrap() > 20, "200 wakeups a second: {one}");
    } else {
        assert!(!real_time, "a task that is woken 200 times a second was not seen: {all}");
        eprintln!("skipped: a_dry_run_learns: no real-time priority here");
    }
    assert_eq!(interrupt_threads(), before);
}
