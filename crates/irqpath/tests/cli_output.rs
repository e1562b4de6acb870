// SPDX-License-Identifier: GPL-2.0-or-later
//! What is written: complete under its final name, or not there at all.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use irqpath_model::{Meta, Summary};
use irqpath_testing::cli::{error_line, irqpath, is_root, names};
use irqpath_testing::recordings::{Blame, blamed_recording, meta, recording, replay};

fn parse_file<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_result_directory_has_everything_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("result");
    replay(root.path()).arg("-o").arg(&target).arg("--perfetto").assert().success();
    assert_eq!(
        names(&target),
        ["meta.json", "paths.parquet", "report.html", "summary.json", "trace.pftrace"]
    );
    assert_eq!(names(root.path()), ["result", "run.rec"]);
    let meta: Meta = parse_file(&target.join("meta.json"));
    assert_eq!((meta.host.as_str(), meta.source.as_str()), ("paper", "run.rec"));
    let summary: Summary = parse_file(&target.join("summary.json"));
    assert_eq!(summary.traced().paths[0].total.n, 101);
    assert_eq!(summary.traced().paths[0].origin_name, "36:virtio1-req.0");
    let slow = &summary.slow()[0];
    let (_, cause) = slow.main_cause().unwrap();
    assert!(cause.who.starts_with("hog:4711"), "{cause:?}");
    assert_eq!(fs::read(target.join("paths.parquet")).unwrap()[..4], *b"PAR1");
}

#[test]
fn every_single_file_can_be_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| root.path().join(name);
    replay(root.path())
        .arg("--json")
        .arg(file("j"))
        .arg("--report")
        .arg(file("r.html"))
        .arg("--perfetto")
        .arg(file("p"))
        .arg("--openmetrics")
        .arg(file("m"))
        .arg("--record")
        .arg(file("again.rec"))
        .assert()
        .success();
    assert_eq!(names(root.path()), ["again.rec", "j", "m", "p", "r.html", "run.rec"]);
    assert!(fs::read_to_string(file("r.html")).unwrap().contains("</html>"));
    assert!(fs::read_to_string(file("m")).unwrap().ends_with("# EOF\n"));
    // What was recorded from a recording is the same again.
    let n = |rec: &Path| {
        let output = irqpath().args(["trace", "once", "--json", "--replay"]).arg(rec).output();
        let value: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        value["summary"]["paths"][0]["total"].clone()
    };
    assert_eq!(n(&file("again.rec")), n(&file("run.rec")));
}

#[test]
fn once_and_hist_print_what_people_read() {
    let root = tempfile::tempdir().unwrap();
    let output = replay(root.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["paper", "36:virtio1-req.0", "postgres", "hog", "lost: 0"] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    let mut hist = irqpath();
    hist.args(["trace", "hist", "-b", "100", "-E", "3", "--replay"])
        .arg(root.path().join("run.rec"));
    let output = hist.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("postgres"), "{text}");
    // 100 of 10 us in the first bucket, the one of 500 us beyond the third.
    assert!(text.contains("100") && text.contains("300"), "{text}");
}

#[test]
fn json_on_standard_output_is_nothing_but_json() {
    let root = tempfile::tempdir().unwrap();
    for arguments in [&["--json"][..], &["--json", "-"], &["--json=-"]] {
        let output = replay(root.path()).args(arguments).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["summary"]["paths"][0]["total"]["n"], 101);
        assert_eq!(value["meta"]["host"], "paper");
    }
}

#[test]
fn filters_apply_to_a_recording() {
    let root = tempfile::tempdir().unwrap();
    for (arguments, want) in [
        (["--irq", "virtio"], 101),
        (["--irq", "36"], 101),
        (["--irq", "37"], 0),
        (["--task", "postgres"], 101),
        (["--task", "700"], 101),
        (["--task", "sshd"], 0),
        (["-c", "0"], 101),
        (["-c", "1"], 0),
    ] {
        let output = replay(root.path()).arg("--json").args(arguments).output().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let n = value["summary"]["paths"][0]["total"]["n"].as_u64().unwrap_or(0);
        assert_eq!(n, want, "{arguments:?}");
    }
}

#[test]
fn the_exit_code_tells_whether_the_threshold_was_exceeded() {
    let root = tempfile::tempdir().unwrap();
    replay(root.path()).args(["-T", "501"]).assert().code(0);
    replay(root.path()).args(["-T", "400"]).assert().code(1);
    let target = root.path().join("kept");
    replay(root.path()).args(["-T", "400", "-o"]).arg(&target).assert().code(1);
    let summary: Summary = parse_file(&target.join("summary.json"));
    assert_eq!((summary.traced().nr_slow, summary.traced().threshold_ns), (1, Some(400_000)));
}

/// A gate in a virtual machine judges the machine's own time, unless it is told to judge all of it.
#[test]
fn the_hypervisors_share_alone_does_not_exceed_a_threshold() {
    for (blame, is_virtual, nr_excused) in [
        (Blame::Hypervisor, true, 1),
        (Blame::Idle, true, 1),
        (Blame::Hog, true, 0),
        // On a real machine, idle exits are its own.
        (Blame::Idle, false, 0),
    ] {
        let root = tempfile::tempdir().unwrap();
        let mut meta = meta();
        meta.cpu.hypervisor = is_virtual.then(|| "KVM".to_owned());
        blamed_recording(root.path(), &meta, (100, 10_000), blame);
        let target = root.path().join("kept");
        let judge = |more: &[&str]| replay(root.path()).args(["-T", "400"]).args(more).output();
        let output = replay(root.path()).args(["-T", "400", "-o"]).arg(&target).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let about = format!("{blame:?} {is_virtual}: {text}");
        assert_eq!(output.status.code(), Some(i32::from(nr_excused == 0)), "{about}");
        assert_eq!(text.contains("1 over 400 us, 1 of them by the"), nr_excused == 1, "{about}");
        assert_eq!(text.contains(" us by the hypervisor"), nr_excused == 1, "{about}");
        let summary: Summary = parse_file(&target.join("summary.json"));
        let traced = summary.traced();
        assert_eq!((traced.nr_slow, traced.nr_slow_by_hypervisor), (1, nr_excused), "{about}");
        assert_eq!(judge(&["--with-hypervisor"]).unwrap().status.code(), Some(1), "{about}");
    }
}

/// Far more than a result keeps.
#[test]
fn every_slow_path_of_a_virtual_machine_is_judged() {
    let root = tempfile::tempdir().unwrap();
    let mut meta = meta();
    meta.cpu.hypervisor = Some("KVM".to_owned());
    blamed_recording(root.path(), &meta, (1_000, 450_000), Blame::Hypervisor);
    let target = root.path().join("kept");
    replay(root.path()).args(["-T", "400", "-o"]).arg(&target).assert().code(0);
    let summary: Summary = parse_file(&target.join("summary.json"));
    let traced = summary.traced();
    assert_eq!((traced.nr_slow, traced.nr_slow_by_hypervisor), (1_001, 1_001));
    assert_eq!(summary.slow().len(), 200);
}

#[test]
fn an_existing_directory_is_only_replaced_when_told_to() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("result");
    replay(root.path()).arg("-o").arg(&target).assert().success();
    let line = error_line(&replay(root.path()).arg("-o").arg(&target).output().unwrap());
    assert!(line.contains("--force"), "{line}");
    fs::write(target.join("old"), "").unwrap();
    replay(root.path()).arg("-o").arg(&target).arg("--force").assert().success();
    assert!(!target.join("old").exists());
    assert_eq!(names(root.path()), ["result", "run.rec"]);
}

#[test]
fn a_target_that_cannot_be_written_is_refused_before_the_measurement() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("absent/result");
    for flag in ["-o", "--json", "--report", "--perfetto", "--openmetrics", "--record"] {
        let output = replay(root.path()).arg(flag).arg(&absent).output().unwrap();
        let line = error_line(&output);
        assert!(line.contains("absent"), "{flag}: {line}");
    }
    assert_eq!(names(root.path()), ["run.rec"]);
}

#[test]
fn a_device_that_is_full_is_an_error_and_stays_a_device() {
    let root = tempfile::tempdir().unwrap();
    for flag in ["--json", "--report", "--openmetrics", "--perfetto"] {
        let output = replay(root.path()).args([flag, "/dev/full"]).output().unwrap();
        let line = error_line(&output);
        assert!(line.contains("/dev/full") && line.contains("free space"), "{flag}: {line}");
    }
    assert!(!fs::metadata("/dev/full").unwrap().is_file());
    let output = Command::new("sh")
        .args(["-c", "\"$0\" schema > /dev/full"])
        .arg(assert_cmd::cargo::cargo_bin("irqpath"))
        .output()
        .unwrap();
    assert!(error_line(&output).contains("cannot write standard output"));
}

/// A file system of 64 KiB, unmounted whatever happens.
struct Tiny(tempfile::TempDir);

impl Tiny {
    fn mount() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "none"])
            .arg(directory.path())
            .status()
            .unwrap();
        assert!(status.success());
        Self(directory)
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    if !is_root("a_full_disk") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let tiny = Tiny::mount();
    let target = tiny.0.path().join("result");
    let output = replay(root.path()).arg("-o").arg(&target).arg("--perfetto").output().unwrap();
    let line = error_line(&output);
    assert!(line.contains("free space"), "{line}");
    assert_eq!(names(tiny.0.path()), [""; 0]);
    let output =
        replay(root.path()).arg("--report").arg(tiny.0.path().join("r.html")).output().unwrap();
    assert!(error_line(&output).contains("r.html"));
    assert_eq!(names(tiny.0.path()), [""; 0]);
}

/// Replays into `directory/result` under a limit of the shell, whatever is there.
fn replay_within(limit: &str, directory: &Path, recording: &Path) -> std::process::Output {
    let program = assert_cmd::cargo::cargo_bin("irqpath");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]).arg(program);
    shell.args(["trace", "once", "--perfetto", "--replay"]).arg(recording);
    shell.arg("--force").arg("-o").arg(directory.join("result")).output().unwrap()
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let recording = recording(root.path(), 100);
    for blocks in [0, 1, 4] {
        let directory = tempfile::tempdir().unwrap();
        let output = replay_within(&format!("-f {blocks}"), directory.path(), &recording);
        let line = error_line(&output);
        assert!(line.contains("free space") && line.contains("File too large"), "{line}");
        assert_eq!(names(directory.path()), [""; 0], "{blocks} blocks");
    }
}

#[test]
fn however_few_files_may_be_open_nothing_is_left_behind() {
    let root = tempfile::tempdir().unwrap();
    let recording = recording(root.path(), 100);
    let (mut failed, mut done) = (0, 0);
    for nr in 4..60 {
        let directory = tempfile::tempdir().unwrap();
        let output = replay_within(&format!("-n {nr}"), directory.path(), &recording);
        let found = names(directory.path());
        if output.status.success() {
            assert_eq!(found, ["result"]);
            done += 1;
        } else {
            assert_eq!(found, [""; 0], "{nr} descriptors: {output:?}");
            failed += 1;
        }
        // The same where an older result is replaced, which stays if that fails.
        assert!(replay_within("-n 100", directory.path(), &recording).status.success());
        let output = replay_within(&format!("-n {nr}"), directory.path(), &recording);
        assert_eq!(names(directory.path()), ["result"], "{nr} descriptors: {output:?}");
        assert!(directory.path().join("result/meta.json").exists(), "{nr}: {output:?}");
    }
    assert!(failed > 0 && done > 0, "{failed} {done}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let root = tempfile::tempdir().unwrap();
    recording(root.path(), 100);
    for arguments in
        [&["schema"][..], &["check"], &["trace", "once", "--json", "--replay", "run.rec"]]
    {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("irqpath"))
            .args(arguments)
            .current_dir(root.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut text = String::new();
        child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), text.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn files_have_the_permissions_of_any_file() {
    let root = tempfile::tempdir().unwrap();
    let json = root.path().join("j");
    replay(root.path()).arg("--json").arg(&json).assert().success();
    let plain = root.path().join("plain");
    fs::write(&plain, "").unwrap();
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode();
    assert_eq!(mode(&json), mode(&plain));
}
