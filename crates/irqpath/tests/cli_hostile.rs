// SPDX-License-Identifier: GPL-2.0-or-later
//! Files made to mislead whoever opens them: each is refused with a line or shown, within a minute
//! and 256 MiB, and never by a panic or for want of memory.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use irqpath_model::{
    Comm, Event, Histogram, MAX_TRACKABLE_NS, Meta, Origin, PathEnd, PathKey, PathRecord,
    PathStats, Point, Snapshot, Stamp, Task, Via,
};
use irqpath_source::replay::RecordingWriter;
use irqpath_testing::cli::error_line;
use irqpath_testing::recordings::replay;
use serde_json::{Value, json};

/// The command with 256 MiB for everything it writes to, stacks and all, and a minute.
fn run_bounded(arguments: &[&str], path: &Path) -> Output {
    let mut command = assert_cmd::Command::new("prlimit");
    command.args(["--data=268435456", "--cpu=60"]).arg(assert_cmd::cargo::cargo_bin("irqpath"));
    let output = command.args(arguments).arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).chars().take(500).collect::<String>();
    assert!(matches!(output.status.code(), Some(0..=2)), "{arguments:?}: {output:?}: {said}");
    assert!(said.lines().count() <= 3, "{said}");
    output
}

fn run_refused(arguments: &[&str], path: &Path) -> String {
    error_line(&run_bounded(arguments, path))
}

/// A result directory whose summary was changed.
fn make_result(root: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
    let target = root.join("r");
    replay(root).arg("--force").arg("-o").arg(&target).assert().success();
    let path = target.join("summary.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut summary);
    fs::write(&path, summary.to_string()).unwrap();
    target
}

/// A recording with these frames at its head and none that is right at its tail.
fn write_frames(path: &Path, head: &[(u8, Vec<u8>)]) {
    write_recording(path, head, &[meta_frame(), snapshot_frame()]);
}

/// One without anything in it.
fn snapshot_frame() -> (u8, Vec<u8>) {
    (3, rmp_serde::to_vec(&Snapshot::default()).unwrap())
}

fn meta_frame() -> (u8, Vec<u8>) {
    (1, serde_json::to_vec(&Meta::default()).unwrap())
}

/// A recording with these frames.
fn write_recording(path: &Path, head: &[(u8, Vec<u8>)], tail: &[(u8, Vec<u8>)]) {
    let stream = |frames: &[(u8, Vec<u8>)]| {
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
        for (kind, payload) in frames {
            zstd.write_all(&[*kind]).unwrap();
            zstd.write_all(&(payload.len() as u32).to_le_bytes()).unwrap();
            zstd.write_all(payload).unwrap();
        }
        zstd.finish().unwrap()
    };
    let (nr_frames, tail) = (head.len() + tail.len(), stream(tail));
    let mut bytes = b"IRQPATH\n\x02\0\0\0".to_vec();
    bytes.extend(stream(head));
    let tail_offset = bytes.len() as u64;
    bytes.extend(tail);
    bytes.extend(tail_offset.to_le_bytes());
    bytes.extend((nr_frames as u64).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(b"\nIRQPEND");
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    let target = make_result(root.path(), |_| ());
    let at = |name: &str| root.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(at("fifo")).status();
    assert!(made.unwrap().success());
    fs::create_dir(at("directory")).unwrap();
    for special in [PathBuf::from("/dev/zero"), at("fifo"), at("directory")] {
        let refusal = run_refused(&["trace", "once", "--replay"], &special);
        assert!(refusal.contains("not a regular file"), "{refusal}");
        for name in ["summary.json", "meta.json"] {
            let path = target.join(name);
            let before = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            symlink(&special, &path).unwrap();
            let refusal = run_refused(&["report"], &target);
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
        run_refused(&["bench", "--raw"], &raw);
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
        let target = make_result(root.path(), |summary| {
            let histogram = &mut summary["paths"][0]["histogram"];
            let text = histogram["hdr_v2_base64"].as_str().unwrap();
            let mut hdr = STANDARD.decode(text).unwrap();
            hdr[at..at + bytes.len()].copy_from_slice(bytes);
            histogram["hdr_v2_base64"] = STANDARD.encode(hdr).into();
        });
        assert!(run_refused(&["report"], &target).contains("than irqpath writes"), "{at}");
    }
    let target = make_result(root.path(), |summary| {
        let histogram = &mut summary["paths"][0]["histogram"];
        (histogram["min_ns"], histogram["max_ns"]) = (9.into(), 8.into());
        histogram["nr_overflow"] = 1.into();
    });
    assert!(run_refused(&["report"], &target).contains("max below min"));
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
        let target = make_result(root.path(), change);
        run_bounded(&["report"], &target);
        run_bounded(&["compare", target.to_str().unwrap()], &target);
    }
    // Counts of interrupts are two bytes each.
    let target = make_result(root.path(), |_| ());
    let path = target.join("meta.json");
    let mut meta: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    meta["before"]["interrupts"]["36"] = vec![1; 5 << 20].into();
    fs::write(&path, meta.to_string()).unwrap();
    run_bounded(&["report"], &target);
}

#[test]
fn a_recording_takes_a_bounded_multiple_of_its_bytes() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    let look = ["trace", "once", "--replay"];
    // A text that claims 4 GiB.
    write_frames(&path, &[meta_frame(), (2, vec![0x91, 0xdb, 0xff, 0xff, 0xff, 0xf0])]);
    run_refused(&look, &path);
    // Empty blocks of transitions.
    let block = rmp_serde::to_vec(&Event::Occupancy(Vec::new())).unwrap();
    let nr = (4 << 20) / block.len() - 8;
    let mut payload = vec![0xdd];
    payload.extend((nr as u32).to_be_bytes());
    payload.extend(block.repeat(nr));
    write_frames(&path, &[meta_frame(), (2, payload)]);
    assert!(run_refused(&look, &path).contains("more events than a frame has"));
    // Zeros, which are next to nothing when compressed.
    write_frames(&path, &[meta_frame(), (2, vec![0; 4 << 20])]);
    run_refused(&look, &path);
    let mut names = b"{\"names\":{\"irqs\":{".to_vec();
    (0..900_000).for_each(|nr| write!(names, "\"{nr}\":\"\",").unwrap());
    write_frames(&path, &[(1, names)]);
    run_refused(&look, &path);
    // As large as the longest frame, of its kind.
    write_frames(&path, &[(1, vec![b'['; 8 << 20])]);
    run_refused(&look, &path);
}

/// Every bucket is one byte of the file and sixteen in memory.
fn full_histogram() -> Histogram {
    let (mut histogram, mut ns) = (Histogram::default(), 0);
    while ns < MAX_TRACKABLE_NS {
        histogram.record_ns(ns);
        ns = histogram.iter_buckets().last().unwrap().1 + 1;
    }
    histogram
}

/// A snapshot of rows that are full of such histograms, of about so many bytes.
fn full_snapshot(bytes: usize) -> Vec<u8> {
    let key = PathKey {
        origin: Origin::Irq(36),
        via: Via::empty(),
        comm: "t".into(),
        sched: None,
        folded: false,
        cgroup: None,
    };
    let stages = Point::ALL.iter().copied().map(|point| (point, full_histogram())).collect();
    let row = PathStats { total: full_histogram(), stages, ..PathStats::new(key) };
    let nr = bytes / rmp_serde::to_vec(&row).unwrap().len();
    rmp_serde::to_vec(&Snapshot { paths: vec![row; nr], ..Snapshot::default() }).unwrap()
}

#[test]
fn a_table_of_full_histograms_is_kept_once() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    for (bytes, fits) in [(4 << 20, true), (8 << 20, false)] {
        let snapshot = full_snapshot(bytes - 100_000);
        assert!((bytes - 200_000..bytes).contains(&snapshot.len()), "{}", snapshot.len());
        write_recording(&path, &[meta_frame()], &[meta_frame(), (3, snapshot)]);
        for view in ["once", "hist"] {
            let output = run_bounded(&["trace", view, "--replay"], &path);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(output.status.success() && said.contains("36"), fits, "{view}: {said}");
        }
    }
}

#[test]
fn a_recording_takes_time_by_its_length_and_not_by_what_is_inside() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    let block = rmp_serde::to_vec(&[Event::Occupancy(Vec::new())]).unwrap();
    for (frame, why) in [(vec![0x90], "a frame has no events"), (block, "256 times as long inside")]
    {
        let mut head = vec![(2, frame); 1_000_000];
        head[0] = meta_frame();
        write_frames(&path, &head);
        assert!(fs::metadata(&path).unwrap().len() < 32 << 10);
        let refusal = run_refused(&["trace", "once", "--replay"], &path);
        assert!(refusal.contains(why), "{refusal}");
    }
}

#[test]
fn a_recording_with_more_names_than_a_machine_has_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.rec");
    let with_names = |nr: u32| {
        let mut all: Value = serde_json::from_slice(&meta_frame().1).unwrap();
        let names = (0..nr).map(|nr| (nr.to_string(), "".into())).collect();
        all["names"]["irqs"] = Value::Object(names);
        write_recording(&path, &[meta_frame()], &[(1, all.to_string().into()), snapshot_frame()]);
    };
    with_names(250_000);
    let refusal = run_refused(&["trace", "once", "--replay"], &path);
    assert!(refusal.contains("more names than a machine has"), "{refusal}");
    with_names(65_536);
    assert!(run_bounded(&["trace", "once", "--replay"], &path).status.success());
}

#[test]
fn two_results_that_are_compared_share_the_memory_of_one() {
    let root = tempfile::tempdir().unwrap();
    let full = serde_json::to_value(full_histogram()).unwrap();
    let with_rows = |nr: usize| {
        make_result(root.path(), |summary| {
            let mut row = summary["paths"][0].clone();
            row["histogram"] = full.clone();
            summary["paths"] = vec![row; nr].into();
        })
    };
    let (small, large) = (with_rows(950), fs::metadata(root.path().join("r/summary.json")));
    let bytes = large.unwrap().len();
    assert!((5 << 20..6 << 20).contains(&bytes), "{bytes}");
    assert!(run_bounded(&["compare", small.to_str().unwrap()], &small).status.success());
    let large = with_rows(1_900);
    let refusal = run_refused(&["compare", large.to_str().unwrap()], &large);
    assert!(refusal.contains("cannot read") && refusal.contains("summary.json;"), "{refusal}");
    assert!(run_bounded(&["report"], &large).status.success());
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
                cgroup: None,
            }))
        };
        let events: Vec<Event> = (0..4_000).map(|nr| event(part * 4_000 + nr)).collect();
        writer.write_events(&events).unwrap();
    }
    writer.finish(&Meta::default(), &Snapshot::default()).unwrap();
    run_bounded(&["trace", "once", "--replay"], &path);
    let narrowed = run_bounded(&["trace", "once", "--irq", "36", "--replay"], &path);
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
    let refusal = run_refused(&["bench", "--raw"], &raw);
    assert!(
        refusal.contains("more stamps than fit") || refusal.contains("delay_type"),
        "{refusal}"
    );
    fs::write(&name, "a,b,c\n".repeat(3_000_000)).unwrap();
    fs::write(raw.join("csv_results/tsc"), "1,2,3\n".repeat(3_000_000)).unwrap();
    assert!(run_refused(&["bench", "--raw"], &raw).contains("more stamps than fit"));
    fs::write(&name, "a,b,c\n".repeat(1_900_000)).unwrap();
    run_bounded(&["bench", "--raw"], &raw);
    // A million names.
    let mut many = fs::File::create(&name).unwrap();
    (0..100_000).for_each(|nr| writeln!(many, "{nr:0>120}").unwrap());
    run_refused(&["bench", "--raw"], &raw);
}
