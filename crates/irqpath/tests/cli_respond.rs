// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond` and `irqpath jitter` as a user runs them: short live runs, what a user
//! without privilege gets, what is refused, and an early end. How exact they are is for
//! `peers/`.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use irqpath_testing::cli::{error_line, irqpath, is_root, names, unprivileged};
use serde_json::Value;

/// The document, after an exit with one of these codes.
fn run_for_document(command: &mut Command, codes: &[i32]) -> Value {
    let output = command.output().unwrap();
    assert!(codes.contains(&output.status.code().unwrap()), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The document of a run that ends well or with a threshold exceeded, and the CPU time in ns that
/// the process took as its parent is told: at most 20 ms too little.
fn run_timed(arguments: &[&str]) -> (Value, u64) {
    let program = irqpath().get_program().to_owned();
    let script = r#""$@"; code=$?; times >&2; exit $code"#;
    let mut timed = Command::new("sh");
    let output = timed.args(["-c", script, "sh"]).arg(program).args(arguments).output().unwrap();
    assert!([0, 1].contains(&output.status.code().unwrap()), "{output:?}");
    // User and system time of what the shell waited for: `0m1.050000s 0m0.300000s`.
    let line = String::from_utf8(output.stderr).unwrap().lines().last().unwrap().to_owned();
    let ns = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        let s = minutes.parse::<f64>().ok()?.mul_add(60.0, seconds.parse::<f64>().ok()?);
        Some((s * 1e9) as u64)
    };
    let used_ns = line.split(' ').map(|time| ns(time).unwrap_or_else(|| panic!("{line}"))).sum();
    (serde_json::from_slice(&output.stdout).unwrap(), used_ns)
}

fn as_number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn sum_buckets(buckets: &Value) -> u64 {
    buckets.as_array().unwrap().iter().map(|b| as_number(&b["n"])).sum()
}

#[test]
fn every_response_is_in_every_count() {
    for source in ["timer", "timerfd"] {
        let arguments = ["respond", "--source", source, "-f", "1000", "-d", "600ms", "--json"];
        let all = run_for_document(irqpath().args(arguments), &[0]);
        let r = &all["summary"]["response"][0];
        let n = as_number(&r["quantiles"]["n"]);
        // A busy machine may end it late, but no interrupt is counted twice.
        let lasted_ms = as_number(&all["meta"]["duration_ns"]) / 1_000_000;
        assert!(n > 0 && n + as_number(&r["nr_missed"]) <= lasted_ms + 1, "{n} in {lasted_ms} ms");
        assert_eq!(sum_buckets(&r["table"]), n);
        assert_eq!(sum_buckets(&r["doubling"]), n);
        assert_eq!((&r["source"], &r["basis"]), (&source.into(), &"expiry".into()));
        assert_eq!((as_number(&r["nr_lost"]), as_number(&r["period_ns"])), (0, 1_000_000));
        let effects = all["meta"]["observer_effects"].to_string();
        assert!(effects.contains("woken 1000 times a second"), "{effects}");
        assert!(!effects.contains("cpu_dma_latency") && !effects.contains("sys_exit"), "{effects}");
    }
}

#[test]
fn the_table_is_the_documents() {
    let output = irqpath().args(["respond", "-d", "300ms", "-p", "o:0"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "RESPONSE TIMES",
        "2048 Hz",
        "measured ",
        " timer interrupts",
        "maximum latency: ",
        "(100%)",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn the_threshold_ends_it_with_its_cause() {
    if !is_root("the_threshold_ends_it") {
        return;
    }
    let started = Instant::now();
    let all =
        run_for_document(irqpath().args(["respond", "-T", "0.1", "-d", "60s", "--json"]), &[1]);
    assert!(started.elapsed() < Duration::from_secs(30));
    let r = &all["summary"]["response"][0];
    assert_eq!(r["exceeded"]["nr"], 1);
    assert_eq!(r["exceeded"]["ns"], r["quantiles"]["max_ns"]);
    if all["summary"]["missing"].to_string().contains("tracing") {
        eprintln!("skipped: the_threshold_ends_it: no tracing: {}", all["summary"]["missing"]);
        return;
    }
    let slow = all["summary"]["slow"].as_array().unwrap();
    assert!(!slow.is_empty(), "no path was traced");
    assert_eq!(slow[0]["record"]["target"]["tid"], r["tid"]);
    assert_eq!(slow[0]["record"]["target"]["comm"], "irqpath-respond");
    // The path ends where the task is in user space, just before it reads the clock.
    let stages = slow[0]["stages"].as_array().unwrap();
    let traced: u64 = stages.iter().map(|s| as_number(&s["ns"])).sum();
    assert!(traced <= as_number(&r["exceeded"]["ns"]), "{traced} {r}");
    let output = irqpath().args(["respond", "-T", "0.1", "-d", "60s"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace('\n', " ");
    assert!(text.contains("the task's reading of the clock"), "{text}");
    assert!(all["meta"]["observer_effects"].to_string().contains("sys_exit"));
}

#[test]
fn a_user_without_privilege_is_told_what_is_missing_and_measures_without() {
    if !is_root("a_user_without_privilege") {
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let nice = rustix::process::getpriority_process(None).unwrap();
    let limited = |arguments: &[&str]| {
        let mut command = unprivileged(bin.path());
        command.args(arguments).env("HOME", "/nonexistent");
        run_for_document(&mut command, &[0, 1])
    };
    let all = limited(&["respond", "-d", "200ms", "-T", "100000", "--json"]);
    let missing = all["summary"]["missing"].to_string();
    for part in ["CAP_SYS_NICE", "CAP_IPC_LOCK", "CAP_BPF", "ulimit -r", "ulimit -l"] {
        assert!(missing.contains(part), "{part} is not in {missing}");
    }
    assert_eq!(all["summary"]["response"][0]["sched"], format!("o:{nice}"));
    assert!(as_number(&all["summary"]["response"][0]["quantiles"]["n"]) > 0);
    let all = limited(&["jitter", "--continuous", "-d", "100ms", "--json"]);
    assert!(all["summary"]["missing"].to_string().contains("causes are not known"));
    assert!(as_number(&all["summary"]["jitter"][0]["interruptions"]["nr_looks"]) > 0);
    let line = error_line(
        &unprivileged(bin.path()).args(["respond", "--dma-latency", "0"]).output().unwrap(),
    );
    assert!(line.contains("cpu_dma_latency") && line.contains("run with sudo"), "{line}");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let absent = |path: &str| !Path::new(path).exists();
    let mut table: Vec<(&[&str], &[&str])> = vec![
        (&["respond", "--cpus", ""], &["names no CPU"]),
        (&["respond", "--cpus", "4000"], &["4000"]),
        (&["jitter", "--cpus", "4000"], &["4000"]),
        (&["respond", "--source", "rtc", "-f", "1000"], &["RTC", "2, 4, 8"]),
        (&["respond", "--source", "hpet", "-f", "0.5"], &["whole number"]),
        (&["respond", "--source", "hpet", "--device", "/nonexistent"], &["no HPET"]),
        (&["respond", "--report", "-"], &["only --json"]),
        (&["jitter", "--report", "-"], &["only --json"]),
        (&["respond", "-o", "/nonexistent/x"], &["cannot write /nonexistent/x", "choose a place"]),
    ];
    if absent("/dev/intsight") {
        table.push((&["respond", "--source", "device"], &["modprobe intsight"]));
    }
    if absent("/dev/rtc0") && absent("/dev/rtc") {
        table.push((&["respond", "--source", "rtc"], &["/dev/rtc0", "--source timer"]));
    }
    for (arguments, parts) in table {
        let line = error_line(&irqpath().args(arguments).output().unwrap());
        for part in parts {
            assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
        }
    }
}

#[test]
fn loops_are_measured_against_a_given_ideal() {
    let run = |arguments: &[&str]| {
        let fixed = ["jitter", "-p", "o:0", "-d", "300ms", "--json"];
        run_for_document(irqpath().args(fixed).args(arguments), &[0])["summary"]["jitter"][0]
            .clone()
    };
    let free = run(&["--loop", "20ms"]);
    let loops = &free["loops"];
    assert_eq!((&loops["ideal_from"], &loops["ideal_ns"]), (&"best".into(), &loops["min_ns"]));
    let [min, max, jitter] = ["min_ns", "max_ns", "jitter_ns"].map(|f| as_number(&loops[f]));
    assert_eq!(jitter, max - min);
    assert!(as_number(&loops["excess"]["n"]) >= 1 && min > 1_000_000, "{loops}");
    let sines = as_number(&loops["nr_sines"]).to_string();
    let given = run(&["--sines", &sines, "--ideal", "1ms"]);
    let loops = &given["loops"];
    assert_eq!((&loops["ideal_from"], as_number(&loops["ideal_ns"])), (&"given".into(), 1_000_000));
    assert_eq!(as_number(&loops["jitter_ns"]), as_number(&loops["max_ns"]) - 1_000_000);
}

#[test]
fn interruptions_are_listed_with_what_ran() {
    if !is_root("interruptions_are_listed") {
        return;
    }
    // So short a threshold that no timer interrupt stays below it.
    let arguments = ["jitter", "--continuous", "-T", "0.5", "-p", "o:0", "-d", "1s", "--json"];
    let (all, used_ns) = run_timed(&arguments);
    let found = &all["summary"]["jitter"][0]["interruptions"];
    let n = as_number(&found["quantiles"]["n"]);
    assert_eq!(sum_buckets(&found["doubling"]), n);
    if n == 0 {
        eprintln!("skipped: interruptions_are_listed: nothing came in between in a second");
        return;
    }
    if all["summary"]["missing"].to_string().contains("tracing") {
        eprintln!("skipped: interruptions_are_listed: no tracing");
        return;
    }
    // An ordinary task meets the timer's interrupt and other tasks; nearly all of it is explained.
    let causes = found["causes"].as_array().unwrap();
    let ns = |kind: &str| -> u64 {
        causes.iter().filter(|c| c["kind"] == kind).map(|c| as_number(&c["total_ns"])).sum()
    };
    let total = as_number(&found["total_ns"]);
    let explained: u64 = causes.iter().map(|c| as_number(&c["total_ns"])).sum();
    assert_eq!(explained, total, "the causes add up");
    // What a busy machine lost cannot explain anything, nor can a hypervisor be seen.
    let lost: u64 = all["summary"]["loss"].as_object().unwrap().values().map(as_number).sum();
    assert!(ns("hardirq") > 0 || lost > 0, "a second without a timer interrupt: {causes:?}");
    let is_virtual = !all["meta"]["cpu"]["hypervisor"].is_null();
    let unexplained = ns("unexplained");
    let is_explained = unexplained * 10 < total;
    assert!(is_explained || lost > 0 || is_virtual, "{unexplained} of {total} unexplained");
    let overhead = &all["summary"]["overhead"];
    let own_ns = as_number(&overhead["process_cpu_ns"]);
    assert!(own_ns > 0, "irqpath took no time: {overhead}");
    // The task never sleeps: its time is the measurement's, not the observer's.
    let looked_ns = as_number(&found["lasted_ns"]) - total;
    assert!(
        own_ns + looked_ns / 2 < used_ns,
        "{own_ns} of {used_ns}, which {looked_ns} is part of?"
    );
    assert!(as_number(&overhead["peak_rss_bytes"]) > 1 << 20, "nor memory: {overhead}");
    for i in found["longest"].as_array().unwrap() {
        let parts = i["causes"].as_array().unwrap().iter().map(|c| as_number(&c["ns"]));
        assert_eq!(parts.sum::<u64>(), as_number(&i["ns"]));
    }
}

#[test]
fn a_result_directory_is_kept_and_reported_again() {
    let root = tempfile::tempdir().unwrap();
    for (verb, rest) in
        [("respond", &["-d", "200ms"][..]), ("jitter", &["-d", "100ms", "--loop", "10ms"])]
    {
        let target = root.path().join(verb);
        let output = irqpath().arg(verb).args(rest).arg("-o").arg(&target).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(names(&target), ["meta.json", "report.html", "summary.json"]);
        let page = std::fs::read_to_string(target.join("report.html")).unwrap();
        assert!(page.contains(r#""figures":[{"title":"#), "{verb}");
        std::fs::remove_file(target.join("report.html")).unwrap();
        irqpath().arg("report").arg(&target).assert().success();
        assert!(std::fs::read_to_string(target.join("report.html")).unwrap() == page);
        let output = irqpath().arg("compare").args([&target, &target]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("B-A us, interval") && text.contains("no difference that"),
            "{verb}: {text}"
        );
    }
}

#[test]
fn the_schema_describes_both() {
    let output = irqpath().args(["schema", "summary"]).output().unwrap();
    let schema = String::from_utf8(output.stdout).unwrap();
    for word in ["\"response\"", "nr_missed", "stand_in", "\"jitter\"", "ideal_ns", "longest"] {
        assert!(schema.contains(word), "{word}");
    }
}

/// CPU time of the process's thread that measures, in ticks of 10 ms; `None` before it is there.
fn measured_ticks(pid: u32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let stat = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).ok();
    let mut measures = threads.flatten().filter_map(stat).filter_map(|stat| {
        let (name, numbers) = stat.split_once('(')?.1.rsplit_once(')')?;
        // Fields 14 and 15, utime and stime; the first one here is field 3.
        let times = numbers.split_whitespace().skip(11).take(2);
        let is_ours = ["irqpath-respond", "irqpath-jitter"].contains(&name);
        is_ours.then(|| times.filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
    });
    measures.next()
}

#[test]
fn a_signal_ends_it_with_the_result() {
    for arguments in [
        &["respond", "-d", "100s"][..],
        &["respond", "--source", "timerfd", "-f", "0.02", "-d", "100s"],
        &["jitter", "-p", "o:0", "--loop", "50ms", "-d", "100s"],
        &["jitter", "-p", "o:0", "--continuous", "--no-causes", "-d", "100s"],
    ] {
        let root = tempfile::tempdir().unwrap();
        let child = Process::new(assert_cmd::cargo::cargo_bin("irqpath"))
            .args(arguments)
            .arg("--json")
            .arg("-o")
            .arg(root.path().join("result"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Signals are listened to before the partial directory is made. A loop can only be shown
        // when it is complete, so that there must have been time for several.
        let wanted = if arguments[0] == "jitter" { 30 } else { 0 };
        let deadline = Instant::now() + Duration::from_secs(60);
        while names(root.path()).is_empty()
            || measured_ticks(child.id()).is_none_or(|ticks| ticks < wanted)
        {
            assert!(Instant::now() < deadline, "{arguments:?}: no measurement was started");
            std::thread::sleep(Duration::from_millis(5));
        }
        // For the others, time to begin to wait: an end before that is no error either.
        std::thread::sleep(Duration::from_millis(200));
        let pid = child.id().to_string();
        assert!(Process::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let sent = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(sent.elapsed() < Duration::from_secs(20), "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(as_number(&all["meta"]["duration_ns"]) < 60_000_000_000, "{arguments:?}");
        assert_eq!(names(root.path()), ["result"]);
    }
}
