// SPDX-License-Identifier: GPL-2.0-or-later
//! What is refused: each with one line that says what to do, exit code 2, and nothing left over.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::path::Path;

use assert_cmd::Command;
use irqpath_model::Snapshot;
use irqpath_source::replay::RecordingWriter;
use irqpath_testing::cli::{error_line, irqpath, is_root, names, unprivileged};
use irqpath_testing::recordings::{meta, recording, replay};

/// Run `trace once` with these arguments; it must be refused with all of `parts` in the line.
fn expect_refusal(arguments: &[&str], parts: &[&str]) {
    let output = irqpath().args(["trace", "once"]).args(arguments).output().unwrap();
    let line = error_line(&output);
    for part in parts {
        assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
    }
}

#[test]
fn arguments_that_cannot_be_meant() {
    expect_refusal(&["-d", "soon"], &["'soon'", "10s, 500ms"]);
    expect_refusal(&["-d", "0"], &["above 0"]);
    expect_refusal(&["-T", "fast"], &["'fast'", "microseconds"]);
    expect_refusal(&["-c", "a"], &["'a' is not a CPU", "1,3,5-7"]);
    expect_refusal(&["-c", "3-1"], &["runs backwards"]);
    expect_refusal(&["--buffer", "0"], &["1..=1024"]);
    expect_refusal(&["--frobnicate"], &["--frobnicate", "see --help"]);
    expect_refusal(&["--force"], &["--output"]);
    expect_refusal(&["--json", "once"], &["view first"]);
}

#[test]
fn a_lab_without_its_files_or_with_a_kernel_that_is_not_offered() {
    let empty = tempfile::tempdir().unwrap();
    let lab = |arguments: &[&str]| {
        let mut command = irqpath();
        command.env("IRQPATH_CACHE", empty.path().join("cache")).env_remove("IRQPATH_PROJECT");
        let output = command.args(["lab", "build"]).args(arguments).current_dir(empty.path());
        error_line(&output.output().unwrap())
    };
    let line = lab(&[]);
    assert!(line.contains("lab/kernels.toml") && line.contains("--project"), "{line}");
    let line = lab(&["--project", empty.path().to_str().unwrap()]);
    assert!(line.contains("not irqpath's project directory"), "{line}");
    let line = lab(&["--flavour", "stok"]);
    assert!(line.contains("stock-6.1-rt"), "{line}");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let line = lab(&["--project", root, "--flavour", "stock-6.1", "--arch", "arm64"]);
    assert!(line.contains("no stock-6.1 kernel for arm64"), "{line}");
    assert!(!empty.path().join("cache").exists());
}

#[test]
fn a_campaign_that_cannot_be_run() {
    let empty = tempfile::tempdir().unwrap();
    let out = empty.path().join("out");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let campaign = |verb: &str, arguments: &[&str]| {
        let mut command = irqpath();
        command.env("IRQPATH_CACHE", empty.path().join("cache")).env("PATH", empty.path());
        command.args(["lab", "--project", root, verb]).args(arguments);
        error_line(&command.output().unwrap())
    };
    let to = out.to_str().unwrap();
    for (arguments, part) in [
        (vec!["torture-smp"], "torture-smp is not exact"),
        (vec!["nothing"], "there is no experiment nothing"),
        (vec!["ihm-timer", "--verify", "200%"], "from 0% to 100%"),
        (vec!["ihm-timer", "--engine", "k8s"], "needs --image and --claim"),
        (vec!["ihm-timer", "--engine", "slurm"], "install Slurm's client"),
        (vec!["ihm-timer", "--variant", "none"], "asked for has a variant none"),
    ] {
        let line = campaign("campaign", &[&["-o", to], arguments.as_slice()].concat());
        assert!(line.contains(part), "{arguments:?}: {line}");
    }
    let line = campaign("unit", &[to, "0", "0"]);
    assert!(line.contains("cannot read") && line.contains("batches/0.json"), "{line}");
    assert!(!empty.path().join("cache").exists());
}

#[test]
fn what_this_machine_does_not_have() {
    expect_refusal(&["-c", "8000"], &["there is no CPU 8000", "this machine has CPUs"]);
    expect_refusal(
        &["--irq", "no-such-device"],
        &["no interrupt 'no-such-device'", "this machine has"],
    );
    expect_refusal(&["--task", "4194305"], &["there is no task 4194305", "ps -eLo"]);
}

#[test]
fn shields_that_cannot_be_had() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let table: [(&[&str], &str); 6] = [
        (&["set", "--cpus", ""], "the CPU list is empty"),
        (&["set", "--cpus", "8000"], "there is no CPU 8000 here"),
        (&["set", "--cpus", online.trim()], "a shield needs a second one"),
        (&["set", "--cpus", "3-1"], "runs backwards"),
        (&["set", "--cpus", "0", "--dry-run", "--watch"], "--watch"),
        (&["run", "-p", "f:100", "--", "true"], "'f:100' is no priority"),
    ];
    for (arguments, part) in table {
        let line = error_line(&irqpath().arg("shield").args(arguments).output().unwrap());
        let all = "leave at least one";
        assert!(
            line.contains(part) || (arguments[2] == online.trim() && line.contains(all)),
            "{line}"
        );
    }
    let nowhere = ["shield", "attach", "no-such-unit", "--cpus", "0"];
    let line = error_line(&irqpath().args(nowhere).output().unwrap());
    // Without cpusets of version 2, or with a kernel before 6.11, no unit is looked for.
    let parts = ["there is no cgroup of a unit", "cannot make a partition there: "];
    assert!(parts.iter().any(|part| line.contains(part)), "{line}");
    if !Path::new("/var/lib/irqpath/shield.journal").exists() {
        for verb in [&["verify"][..], &["run", "--", "true"], &["detach", "motor"]] {
            let line = error_line(&irqpath().arg("shield").args(verb).output().unwrap());
            assert!(line.contains("no shield is set"), "{line}");
        }
    }
}

/// A runtime's state, and a pod's annotations, come from others.
#[test]
fn a_hook_refuses_what_is_no_container_and_what_it_may_not_have() {
    let annotated = |status: &str, value: &str| {
        format!(
            "{{\"id\":\"c1\",\"status\":\"{status}\",\"pid\":1,\
             \"annotations\":{{\"org.irqpath.shield\":\"{value}\"}}}}"
        )
    };
    let hook = |state: &str| {
        irqpath()
            .args(["shield", "hook", "--allow", "0"])
            .write_stdin(state.to_owned())
            .output()
            .unwrap()
    };
    for (state, part) in [
        (String::new(), "not the state of a container"),
        ("[1]".to_owned(), "not the state of a container"),
        (annotated("created", "some \\u001b[31mCPUs"), "it takes a list of CPUs, or cpuset"),
        ("{".repeat(2 << 20), "more than 1048576 bytes"),
    ] {
        let line = error_line(&hook(&state));
        assert!(line.contains(part) && !line.contains('\u{1b}'), "{line}");
    }
    // It is in no container.
    let line = error_line(&hook(&annotated("created", "7")));
    assert!(line.contains("container c1 has no cgroup of its own"), "{line}");
    // Nothing is asked for, or nothing is attached.
    for state in
        ["{\"id\":\"c1\",\"status\":\"created\",\"pid\":1}".to_owned(), annotated("stopped", "0")]
    {
        let output = hook(&state);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn a_shield_without_privilege_is_refused_and_a_dry_run_is_not() {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    if online.trim() == "0" || !is_root("a_shield_without_privilege") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let set = |more: &[&str]| {
        let mut command = unprivileged(bin.path());
        command.args(["shield", "set", "--cpus", "0"]).args(more).output().unwrap()
    };
    assert!(error_line(&set(&[])).contains("missing CAP_SYS_NICE; run with sudo"));
    let output = set(&["--dry-run", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["set"]["wanted"]["cpus"], "0");
    assert!(document["set"]["changed"].as_array().is_some_and(|all| !all.is_empty()));
}

#[test]
fn what_a_recording_does_not_have() {
    let root = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (["--irq", "wlan"], "no interrupt 'wlan' in this recording; it has: 36:virtio1-req.0"),
        (["-c", "7"], "there is no CPU 7 in this recording; it was made on CPUs 0-1"),
    ] {
        let line = error_line(&replay(root.path()).args(arguments).output().unwrap());
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn a_recording_that_is_absent_damaged_or_of_another_kind() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("absent");
    expect_refusal(&["--replay", absent.to_str().unwrap()], &["absent"]);

    let path = recording(root.path(), 100);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    std::fs::write(&path, &bytes).unwrap();
    expect_refusal(&["--replay", path.to_str().unwrap()], &["damaged", "trace --record"]);

    std::fs::write(&path, "something else entirely, long enough to hold a header").unwrap();
    expect_refusal(&["--replay", path.to_str().unwrap()], &["not an irqpath recording"]);

    bytes[middle] ^= 0x55;
    bytes[8] = 99;
    std::fs::write(&path, &bytes).unwrap();
    expect_refusal(&["--replay", path.to_str().unwrap()], &["format 99", "this irqpath reads"]);
}

#[test]
fn an_empty_recording_is_a_result_with_nothing_in_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run.rec");
    let writer = RecordingWriter::create(&path, &meta()).unwrap();
    writer.finish(&meta(), &Snapshot::default()).unwrap();
    replay(root.path()).assert().success();
}

#[test]
fn without_privilege_the_capabilities_are_named_and_nothing_is_made() {
    if !is_root("without_privilege") {
        return;
    }
    let (root, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = root.path().join("result");
    let output = unprivileged(bin.path())
        .args(["trace", "once", "-d", "1s", "-o"])
        .arg(&target)
        .output()
        .unwrap();
    let line = error_line(&output);
    for part in ["CAP_BPF", "CAP_PERFMON", "sudo", "--replay FILE"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(names(root.path()).is_empty());
}

#[test]
fn without_btf_the_option_is_named() {
    if !is_root("without_btf") {
        return;
    }
    let binary = assert_cmd::cargo::cargo_bin("irqpath");
    let script = format!(
        "mount -t tmpfs none /sys/kernel/btf && exec {} trace once -d 1s",
        binary.display()
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    let line = error_line(&output);
    assert!(line.contains("CONFIG_DEBUG_INFO_BTF"), "{line}");
}

#[test]
fn top_without_a_terminal_says_what_to_use() {
    let output = irqpath().args(["trace", "top"]).output().unwrap();
    assert!(error_line(&output).contains("use trace once"));
}
