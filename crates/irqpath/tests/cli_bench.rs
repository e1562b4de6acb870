// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath bench`: what it makes of raw directories, and what it refuses. The directories under
//! `tests/golden/bench` were copied out of a guest in exact mode (Debian's 6.12 with PREEMPT_RT,
//! 200 runs each, `irqpath bench --mechanism softirq,workqueue --load 0,1 --causes`).
//!
//! `IRQPATH_BLESS=1 cargo test` rewrites the golden table; look at it before it is committed.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use irqpath_testing::cli::{error_line, irqpath, is_root, names, unprivileged};
use serde_json::Value;

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/bench").join(name)
}

/// `irqpath bench` of both golden directories, ready for more arguments.
fn bench_command() -> Command {
    let mut command = irqpath();
    command.args(["bench", "--exact", "--raw"]).arg(golden_path("01-softirq"));
    command.arg("--raw").arg(golden_path("05-workqueue"));
    command
}

fn run_for_stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn run_for_json(command: &mut Command) -> Value {
    serde_json::from_str(&run_for_stdout(command.arg("--json"))).unwrap()
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_real_capture_word_for_word() {
    let got = run_for_stdout(&mut bench_command());
    // The first line names the directories, which lie elsewhere on every machine.
    let (_, got) = got.split_once('\n').unwrap();
    let path = golden_path("table.txt");
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        fs::write(&path, got).unwrap();
    }
    assert_eq!(got, fs::read_to_string(path).unwrap());
}

#[test]
fn the_numbers_add_up() {
    let document = run_for_json(&mut bench_command());
    let series = document["summary"]["bench"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    assert_eq!(document["meta"]["is_exact"], true);
    for s in series {
        let sum = |field: &str| {
            let counts = s[field].as_object().unwrap().values();
            counts.map(|n| n.as_u64().unwrap()).sum::<u64>()
        };
        assert_eq!(s["nr_runs"], 200);
        assert_eq!(sum("latencies") + sum("irq_latencies"), 200);
        assert_eq!(s["nr_irq"], sum("irq_latencies"));
        let causes = s["causes"].as_array().unwrap();
        let n: u64 = causes.iter().map(|c| c["quantiles"]["n"].as_u64().unwrap()).sum();
        assert_eq!(n, 200);
        // The interrupts that the benchmark raised are in the counts that were kept.
        assert!(s["interrupts"]["IWI"].as_u64().unwrap() >= 200, "{}", s["interrupts"]);
    }
    let [softirq, workqueue] = [0, 1].map(|i| series[i]["label"].as_str().unwrap());
    assert_eq!((softirq, workqueue), ("softirq, load 0", "workqueue, load 1"));
}

/// The same with `exact` left out: the rate is the one that was measured in the guest.
#[test]
fn the_rate_of_the_capture_is_used() {
    let raw = golden_path("01-softirq");
    let document = run_for_json(irqpath().args(["bench", "--raw"]).arg(&raw));
    let rate = &document["summary"]["bench"][0]["rate"];
    assert_eq!(rate["source"], "given");
    let hz = rate["hz"].as_f64().unwrap();
    assert!((hz / 1e9 - 1.0).abs() < 1e-4, "{hz}");
}

#[test]
fn a_result_directory_is_kept_reported_and_compared() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("r");
    let text = run_for_stdout(bench_command().arg("-o").arg(&target));
    assert!(text.ends_with(&format!("wrote {}\n", target.display())), "{text}");
    assert_eq!(names(&target), ["meta.json", "report.html", "summary.json"]);
    let refused = error_line(&bench_command().arg("-o").arg(&target).output().unwrap());
    assert!(refused.contains("--force"), "{refused}");

    let page = fs::read_to_string(target.join("report.html")).unwrap();
    assert!(page.contains("workqueue, load 1"));
    fs::remove_file(target.join("report.html")).unwrap();
    irqpath().arg("report").arg(&target).assert().success();
    assert!(fs::read_to_string(target.join("report.html")).unwrap() == page);

    let other = root.path().join("s");
    let one = irqpath()
        .args(["bench", "--exact", "--raw"])
        .arg(golden_path("01-softirq"))
        .arg("-o")
        .arg(&other)
        .output()
        .unwrap();
    assert!(one.status.success(), "{one:?}");
    let text = run_for_stdout(irqpath().arg("compare").args([&target, &target]));
    assert!(text.contains("workqueue, load 1") && text.contains("max irq"), "{text}");
    assert!(text.contains("verdict: equal; exact runs"), "{text}");
    let text = run_for_stdout(irqpath().arg("compare").args([&target, &other]));
    // Alone, a series needs no load in its name.
    assert!(text.contains("only in B: softirq\n"), "{text}");
}

#[test]
fn a_report_alone_needs_no_directory() {
    let root = tempfile::tempdir().unwrap();
    let page = root.path().join("r.html");
    run_for_stdout(bench_command().arg("--report").arg(&page));
    assert_eq!(names(root.path()), ["r.html"]);
    let line = error_line(&bench_command().args(["--report", "-"]).output().unwrap());
    assert!(line.contains("only --json"), "{line}");
}

#[test]
fn damage_is_named_by_file_and_line() {
    let root = tempfile::tempdir().unwrap();
    let copied = root.path().join("c");
    copy_directory(&golden_path("01-softirq"), &copied);
    let refused = |parts: &[&str]| {
        let line = error_line(&irqpath().args(["bench", "--raw"]).arg(&copied).output().unwrap());
        for part in parts {
            assert!(line.contains(part), "'{part}' is not in: {line}");
        }
    };
    let tsc = copied.join("csv_results/tsc");
    let text = fs::read_to_string(&tsc).unwrap();
    let nr_half = text.lines().count() / 2;
    let half: String = text.lines().take(nr_half).flat_map(|line| [line, "\n"]).collect();
    fs::write(&tsc, half).unwrap();
    refused(&["csv_results/tsc, line 101", "ends after 100 of 200 runs"]);
    fs::write(&tsc, text.replace(',', ";")).unwrap();
    refused(&["csv_results/tsc, line 1", "is not a stamp"]);
    fs::remove_file(&tsc).unwrap();
    refused(&["has no clock"]);
    fs::remove_dir_all(&copied).unwrap();
    refused(&["bottom_handler (", "cannot read"]);
}

#[test]
fn clocks_that_are_not_there_are_named() {
    let line = error_line(&bench_command().args(["--clock", "ktime"]).output().unwrap());
    assert!(line.contains("the clock ktime was not recorded; the module has: tsc"), "{line}");
}

#[test]
fn arguments_that_cannot_be_meant() {
    for (arguments, parts) in [
        (&["--mechanism", "magic"][..], ["no mechanism 'magic'", "none softirq tasklet"]),
        (&["--clock", "sundial"], ["no clock 'sundial'", "tsc pmccntr"]),
        (&["--rate", "fast"], ["'fast'", "runs per second"]),
        (&["--reps", "0"], ["'0'", "1..=10000000"]),
        (&["--load", "many"], ["'many'", "see --help"]),
        (&["--force"], ["--output", "see --help"]),
    ] {
        let line = error_line(&irqpath().arg("bench").args(arguments).output().unwrap());
        for part in parts {
            assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
        }
    }
}

#[test]
fn the_schema_describes_benchmarks() {
    let schema = run_for_stdout(irqpath().args(["schema", "summary"]));
    for word in ["\"bench\"", "max_irq_ns", "slow_stages", "nr_incomplete", "within_runs"] {
        assert!(schema.contains(word), "{word}");
    }
}

#[test]
fn without_the_module_it_says_how_to_get_it() {
    if !is_root("without_the_module") {
        return;
    }
    if Path::new("/sys/kernel/debug/intsight").exists() {
        eprintln!("skipped: without_the_module: intsight is loaded");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let output = irqpath().args(["bench", "-o"]).arg(root.path().join("r")).output().unwrap();
    let line = error_line(&output);
    // Which of the two depends on whether debugfs is mounted where the test runs.
    let says = ["modprobe intsight", "mount -t debugfs none"];
    assert!(says.iter().any(|part| line.contains(part)), "{line}");
    assert!(names(root.path()).is_empty());
}

#[test]
fn without_privilege_it_says_so() {
    if !is_root("without_privilege") {
        return;
    }
    let debugfs = fs::read_dir("/sys/kernel/debug").map(Iterator::count);
    if debugfs.unwrap_or(0) == 0 {
        eprintln!("skipped: without_privilege: debugfs is not mounted");
        return;
    }
    let bin = tempfile::tempdir().unwrap();
    let line = error_line(&unprivileged(bin.path()).arg("bench").output().unwrap());
    assert!(line.contains("run with sudo (files of debugfs"), "{line}");
}

#[test]
fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
    let line = error_line(&irqpath().args(["bench", "--cpu", "900"]).output().unwrap());
    assert!(line.contains("may not use CPU 900; it may use CPUs "), "{line}");
}
