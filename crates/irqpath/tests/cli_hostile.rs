// SPDX-License-Identifier: GPL-2.0-or-later
//! Files made to mislead whoever opens them: each is refused with a line or shown, within a minute
//! and 256 MiB, and never by a panic or for want of memory.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

mod common;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{error_line, replay};
use irqpath_model::{
    Comm, Event, Meta, Origin, PathEnd, PathRecord, Point, Snapshot, Stamp, Task, Via,
};
use irqpath_source::replay::RecordingWriter;
use serde_json::{Value, json};

/// The command with 256 MiB for everything it writes to, stacks and all, and a minute.
fn bounded(arguments: &[&str], path: &Path) -> Output {
    let mut command = assert_cmd::Command::new("prlimit");
    command.args(["--data=268435456", "--cpu=60"]).arg(assert_cmd::cargo::cargo_bin("irqpath"));
    let output = command.args(arguments).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).chars().take(500).collect::<String>();
    assert!(matches!(output.status.code(), Some(0..=2)), "{arguments:?}: {output:?}: {said}");
    assert!(said.lines().count() <= 3, "{said}");
    output
}

fn refused(arguments: &[&str], path: &Path) -> String {
    error_line(&bounded(arguments, path))
}

/// A result directory whose summary was changed.
fn result(root: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let target = root.join("r");
    replay(root).arg("--force").arg("-o").arg(&target).assert().success();
    let path = target.join("summary.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut summary);
    fs::write(&path, summary.to_string()).unwrap();
    target
}

/// A recording with these frames at its head and none that is right at its tail.
fn frames(path: &Path, head: &[(u8, Vec<u8>)]) {
    let meta = serde_json::to_vec(&Meta::default()).unwrap();
    let stream = |frames: &[(u8, Vec<u8>)]| {
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
        for (kind, payload) in frames {
            zstd.write_all(&[*kind]).unwrap();
            zstd.write_all(&(payload.len() as u32).to_le_bytes()).unwrap();
            zstd.write_all(payload).unwrap();
        }
        zstd.finish().unwrap()
    };
    // A snapshot without anything in it.
    let snapshot = rmp_serde::to_vec(&Snapshot::default()).unwrap();
    let tail = stream(&[(1, meta), (3, snapshot)]);
    let mut bytes = b"IRQPATH\n\x02\0\0\0".to_vec();
    bytes.extend(stream(head));
    let tail_offset = bytes.len() as u64;
    bytes.extend(tail);
    bytes.extend(tail_offset.to_le_bytes());
    bytes.extend((head.len() as u64 + 2).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(b"\nIRQPEND");
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let target = result(root.path(), |_| ());
    let at = |name: &str| root.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(at("fifo")).status();
    assert!(made.unwrap().success());
    fs::create_dir(at("directory")).unwrap();
    for special in [PathBuf::from("/dev/zero"), at("fifo"), at("directory")] {
        let refusal = refused(&["trace", "once", "--replay"], &special);
        assert!(refusal.contains("not a regular file"), "{refusal}");
        for name in ["summary.json", "meta.json"] {
            let path = target.join(name);
            let before = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            symlink(&special, &path).unwrap();
            let refusal = refused(&["report"], &target);
            assert!(refusal.contains("not a regular file"), "{refusal}");
            fs::remove_file(&path).unwrap();
            fs::write(&path, before).unwrap();
        }
        let raw = at("raw");
        fs::create_dir_all(raw.join("csv_results")).unwrap();
        for name in ["bottom_handler", "csv_results/name"] {
            let _ = fs::remove_file(raw.join(name));
            symlink(&special, raw.join(name)).unwrap();
        }
        refused(&["bench", "--raw"], &raw);
    }
}

#[test]
fn a_histogram_takes_what_its_bytes_say_and_no_more() {
    let root = tempfile::tempdir().unwrap();
    let claims: [(usize, &[u8]); 3] = [
        (12, &[0, 0, 0, 5]),
        (24, &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        (4, &[0xff, 0xff, 0xff, 0xf0]),
    ];
    for (at, bytes) in claims {
        let target = result(root.path(), |summary| {
            let histogram = &mut summary["paths"][0]["histogram"];
            let text = histogram["hdr_v2_base64"].as_str().unwrap();
            let mut hdr = STANDARD.decode(text).unwrap();
            hdr[at..at + bytes.len()].copy_from_slice(bytes);
            histogram["hdr_v2_base64"] = STANDARD.encode(hdr).into();
        });
        assert!(refused(&["report"], &target).contains("than irqpath writes"), "{at}");
    }
    let target = result(root.path(), |summary| {
        let histogram = &mut summary["paths"][0]["histogram"];
        (histogram["min_ns"], histogram["max_ns"]) = (9.into(), 8.into());
        histogram["nr_overflow"] = 1.into();
    });
    assert!(refused(&["report"], &target).contains("max below min"));
}

#[test]
fn a_result_takes_a_bounded_multiple_of_its_bytes() {
    let root = tempfile::tempdir().unwrap();
    let changes: [fn(&mut Value); 5] = [
        |s| s["paths"] = vec![s["paths"][0].clone(); 12_000].into(),
        |s| s["missing"] = vec![json!({"what": "", "consequence": ""}); 600_000].into(),
        |s| {
            s["lines"] = vec![
                json!({"origin": {"irq": 1}, "cpu": 0, "nr": 0, "run_ns": 0, "max_run_ns": 0});
                300_000
            ]
            .into();
        },
        |s| s["slow"] = vec![s["slow"][0].clone(); 20_000].into(),
        |s| s["padding"] = "x".repeat(100 << 20).into(),
    ];
    for change in changes {
        let target = result(root.path(), change);
        bounded(&["report"], &target);
        bounded(&["compare", target.to_str().unwrap()], &target);
    }
    // Counts of interrupts are two bytes each.
    let target = result(root.path(), |_| ());
    let path = target.join("meta.json");
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["before"]["interrupts"]["36"] = vec![1; 5 << 20].into();
    fs::write(&path, meta.to_string()).unwrap();
    bounded(&["report"], &target);
}

#[test]
fn a_recording_takes_a_bounded_multiple_of_its_bytes() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    let look = ["trace", "once", "--replay"];
    let meta = || (1, serde_json::to_vec(&Meta::default()).unwrap());
    // A text that claims 4 GiB.
    frames(&path, &[meta(), (2, vec![0x91, 0xdb, 0xff, 0xff, 0xff, 0xf0])]);
    refused(&look, &path);
    // Empty blocks of transitions.
    let block = rmp_serde::to_vec(&Event::Occupancy(Vec::new())).unwrap();
    let nr = (4 << 20) / block.len() - 8;
    let mut payload = vec![0xdd];
    payload.extend((nr as u32).to_be_bytes());
    payload.extend(block.repeat(nr));
    frames(&path, &[meta(), (2, payload)]);
    assert!(refused(&look, &path).contains("more events than a frame has"));
    // Zeros, which are next to nothing when compressed.
    frames(&path, &[meta(), (2, vec![0; 4 << 20])]);
    refused(&look, &path);
    let mut names = b"{\"names\":{\"irqs\":{".to_vec();
    (0..900_000).for_each(|nr| write!(names, "\"{nr}\":\"\",").unwrap());
    frames(&path, &[(1, names)]);
    refused(&look, &path);
    // As large as the longest frame, of its kind.
    frames(&path, &[(1, vec![b'['; 8 << 20])]);
    refused(&look, &path);
}

#[test]
fn a_recording_of_twenty_thousand_names_shows_those_it_has_room_for() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    let mut writer = RecordingWriter::create(&path, &Meta::default()).unwrap();
    let mut stamps = [None; Point::COUNT];
    for (nr, stamp) in stamps.iter_mut().enumerate() {
        *stamp = Some(Stamp { ns: (nr as u64 + 1) << 34, cpu: 0 });
    }
    for part in 0..5 {
        let event = |nr: u64| {
            Event::Path(Box::new(PathRecord {
                origin: Origin::Irq(36),
                via: Via::IRQ_THREAD,
                stamps,
                timer_fn: 0,
                target: Task { tid: 7, comm: Comm::from(&*format!("{nr}")), ..Task::default() },
                end: PathEnd::SwitchIn,
                queues: Vec::new(),
            }))
        };
        let events: Vec<Event> = (0..4_000).map(|nr| event(part * 4_000 + nr)).collect();
        writer.events(&events).unwrap();
    }
    writer.finish(&Meta::default(), &Snapshot::default()).unwrap();
    bounded(&["trace", "once", "--replay"], &path);
    let narrowed = bounded(&["trace", "once", "--irq", "36", "--replay"], &path);
    let said = String::from_utf8_lossy(&narrowed.stdout).into_owned();
    assert!(
        said.contains("stages without histogram"),
        "{}",
        &said[said.len().saturating_sub(900)..]
    );
}

#[test]
fn a_capture_is_read_as_far_as_there_is_room() {
    let root = tempfile::tempdir().unwrap();
    let raw = root.path().join("raw");
    fs::create_dir_all(raw.join("csv_results")).unwrap();
    for (file, text) in [
        ("bottom_handler", "tasklet"),
        ("delay_type", "udelay"),
        ("delay_us", "1"),
        ("reps", "1"),
        ("checkpoint_capacity", "8"),
    ] {
        fs::write(raw.join(file), text).unwrap();
    }
    let name = raw.join("csv_results/name");
    fs::write(&name, "\n".repeat(13_000_000)).unwrap();
    let refusal = refused(&["bench", "--raw"], &raw);
    assert!(
        refusal.contains("more stamps than fit") || refusal.contains("delay_type"),
        "{refusal}"
    );
    fs::write(&name, "a,b,c\n".repeat(3_000_000)).unwrap();
    fs::write(raw.join("csv_results/tsc"), "1,2,3\n".repeat(3_000_000)).unwrap();
    assert!(refused(&["bench", "--raw"], &raw).contains("more stamps than fit"));
    fs::write(&name, "a,b,c\n".repeat(1_900_000)).unwrap();
    bounded(&["bench", "--raw"], &raw);
    // A million names.
    let mut many = fs::File::create(&name).unwrap();
    (0..100_000).for_each(|nr| writeln!(many, "{nr:0>120}").unwrap());
    refused(&["bench", "--raw"], &raw);
}
