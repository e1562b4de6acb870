// SPDX-License-Identifier: GPL-2.0-or-later
//! What a running measurement may still do, as the kernel tells it, and that all it writes is written.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use irqpath_testing::cli::is_root;

const DAC_OVERRIDE: u64 = 1 << 1;
const IPC_LOCK: u64 = 1 << 14;
const SYS_NICE: u64 = 1 << 23;
const SYSLOG: u64 = 1 << 34;

fn start_irqpath(arguments: &[&str], directory: &Path) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("irqpath"));
    command.args(arguments).current_dir(directory).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn status_field(status: &str, name: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap().trim().to_owned()
}

/// The union of its threads' capabilities, once each of them is filtered.
fn capabilities_when_confined(child: &Child) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        let all: Vec<String> =
            threads.filter_map(|t| fs::read_to_string(t.path().join("status")).ok()).collect();
        if !all.is_empty() && all.iter().all(|status| status_field(status, "Seccomp") == "2") {
            for status in &all {
                assert_eq!(status_field(status, "NoNewPrivs"), "1", "{status}");
                assert_eq!(
                    status_field(status, "CapPrm"),
                    status_field(status, "CapEff"),
                    "{status}"
                );
            }
            let bits =
                |status: &String| u64::from_str_radix(&status_field(status, "CapEff"), 16).unwrap();
            return all.iter().map(bits).fold(0, |all, bits| all | bits);
        }
        assert!(Instant::now() < deadline, "it was never confined: {all:?}");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_running_trace_has_given_up_what_it_does_not_need_and_writes_all_the_same() {
    if !is_root("a_running_trace_has_given_up") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let outputs = ["-o", "result", "--perfetto", "--openmetrics", "om", "--record", "rec"];
    let trace = ["trace", "once", "-d", "3s", "--report", "page.html"];
    let child = start_irqpath(&[&trace[..], &outputs[..]].concat(), directory.path());
    assert_eq!(capabilities_when_confined(&child), SYSLOG | SYS_NICE | DAC_OVERRIDE);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("PATHS"));
    for file in [
        "result/meta.json",
        "result/summary.json",
        "result/paths.parquet",
        "result/report.html",
        "result/trace.pftrace",
        "om",
        "rec",
        "page.html",
    ] {
        let length = fs::metadata(directory.path().join(file)).unwrap().len();
        assert!(length > 100, "{file}: {length}");
    }
    let replayed = start_irqpath(&["trace", "once", "--replay", "rec"], directory.path());
    let output = replayed.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.len() > 100, "{output:?}");
}

#[test]
fn what_only_prints_keeps_no_right_to_files_and_a_watch_the_one_to_priorities() {
    if !is_root("what_only_prints") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = start_irqpath(&["trace", "hist", "-d", "2s"], directory.path());
    let tune = start_irqpath(&["tune", "--watch", "--learn", "1s"], directory.path());
    // The thread that waits for signals may have to remove files of a trace.
    assert_eq!(capabilities_when_confined(&trace) & !DAC_OVERRIDE, SYSLOG | SYS_NICE);
    assert_eq!(capabilities_when_confined(&tune) & !DAC_OVERRIDE, SYS_NICE);
    assert!(trace.wait_with_output().unwrap().status.success());
    let kill = Command::new("kill").args(["-TERM", &tune.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = tune.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn tests_that_trace_are_confined_and_write_all_the_same() {
    if !is_root("tests_that_trace_are_confined") {
        return;
    }
    let respond = &["respond", "-d", "3s", "-T", "60000000", "-o", "result"][..];
    let timerfd = &["respond", "--source", "timerfd", "-d", "3s", "--causes", "-o", "result"];
    let jitter = &["jitter", "--continuous", "-p", "o:0", "-d", "3s", "-o", "result"];
    for (arguments, symbols) in [(respond, SYSLOG), (timerfd, SYSLOG), (jitter, 0)] {
        let directory = tempfile::tempdir().unwrap();
        let child = start_irqpath(arguments, directory.path());
        let kept = symbols | SYS_NICE | IPC_LOCK | DAC_OVERRIDE;
        assert_eq!(capabilities_when_confined(&child), kept, "{arguments:?}");
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("irqpath itself: ") && text.contains("wrote result"), "{text}");
        for file in ["meta.json", "summary.json", "report.html"] {
            let length = fs::metadata(directory.path().join("result").join(file)).unwrap().len();
            assert!(length > 100, "{file}: {length}");
        }
    }
}
