// SPDX-License-Identifier: GPL-2.0-or-later
//! Signals at any time: the first ends early and keeps the result, the second gives up. And the
//! live source as far as it can be tested without a load.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use irqpath_model::{Meta, Summary};
use irqpath_testing::cli::{is_root, names};

fn start_trace(arguments: &[&str], target: &Path) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin("irqpath"))
        .args(["trace", "once", "-o"])
        .arg(target)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn send_signal(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Wait for the partial directory: from then on there is something to clean up.
fn wait_for_partial(root: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while names(root).is_empty() {
        assert!(Instant::now() < deadline, "no measurement was started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait_for_exit(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), None, "ended by the signal itself: {output:?}");
    output
}

#[test]
fn the_first_signal_ends_early_and_keeps_the_result() {
    if !is_root("the_first_signal") {
        return;
    }
    for (signal, after_ms) in [("-INT", 0), ("-INT", 300), ("-TERM", 700), ("-HUP", 1200)] {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("result");
        let child = start_trace(&["-d", "60s"], &target);
        wait_for_partial(root.path());
        std::thread::sleep(Duration::from_millis(after_ms));
        let sent = Instant::now();
        send_signal(&child, signal);
        let output = wait_for_exit(child);
        assert_eq!(output.status.code(), Some(0), "{signal}: {output:?}");
        assert!(sent.elapsed() < Duration::from_secs(10), "{:?}", sent.elapsed());
        assert_eq!(names(root.path()), ["result"]);
        let meta: Meta =
            serde_json::from_slice(&std::fs::read(target.join("meta.json")).unwrap()).unwrap();
        assert!(meta.duration_ns < 10_000_000_000);
        assert!(!meta.observer_effects.is_empty());
    }
}

#[test]
fn the_second_signal_gives_up_and_leaves_nothing() {
    if !is_root("the_second_signal") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let child = start_trace(&["-d", "60s", "--record"], &root.path().join("result"));
    // --record took no file name: refused, to be sure that nothing was started.
    assert_eq!(wait_for_exit(child).status.code(), Some(2));
    assert!(names(root.path()).is_empty());

    let recording = root.path().join("run.rec");
    let child = start_trace(
        &["-d", "60s", "--record", recording.to_str().unwrap()],
        &root.path().join("result"),
    );
    wait_for_partial(root.path());
    // Two in a row, before the first is noticed: stopped, both are delivered at once.
    send_signal(&child, "-STOP");
    send_signal(&child, "-INT");
    send_signal(&child, "-TERM");
    send_signal(&child, "-CONT");
    let output = wait_for_exit(child);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing was kept"), "{output:?}");
    assert_eq!(names(root.path()), [""; 0]);
}

#[test]
fn a_live_trace_sees_the_timer_and_agrees_with_proc_interrupts() {
    if !is_root("a_live_trace") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("result");
    let output = wait_for_exit(start_trace(&["-d", "1s"], &target));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |name: &str| std::fs::read(target.join(name)).unwrap();
    let meta: Meta = serde_json::from_slice(&read("meta.json")).unwrap();
    let summary: Summary = serde_json::from_slice(&read("summary.json")).unwrap();
    assert!(!summary.traced().paths.is_empty(), "this very test wakes tasks by timers");
    assert!(summary.overhead.nr_events > 0 && summary.overhead.process_cpu_ns > 0);
    let counted: u64 = summary.traced().lines.iter().map(|l| l.nr).sum();
    assert!(counted > 0);
    assert!(meta.after.interrupts.len() >= meta.before.interrupts.len());
    assert_eq!(meta.source, "live");
}
