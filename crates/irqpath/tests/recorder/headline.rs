// SPDX-License-Identifier: GPL-2.0-or-later
//! The slowest path that a report begins with is a fact: `trace once` under the demo's load, ten
//! times, as a user runs it.

use assert_cmd::Command;
use irqpath_model::SlowPath;
use irqpath_witness::{Differences, Judge, Recorder};

use crate::{Load, RECORD_BYTES, wait_for_machine};
use irqpath_testing::session::SETTLE;

const RUNS: usize = 10;

/// One run: the first slow path, what is printed of it, and what was recorded.
fn trace_once(json: &std::path::Path) -> (Vec<SlowPath>, String, Judge) {
    let recorder = Recorder::start(RECORD_BYTES).expect("the witness");
    std::thread::sleep(SETTLE);
    let mut command = Command::cargo_bin("irqpath").expect("irqpath is built");
    command.args(["trace", "once", "-d", "1s", "-T", "200", "--json"]).arg(json);
    let output = command.output().expect("irqpath runs");
    let record = recorder.finish().expect("the record");
    assert_eq!(record.nr_lost, 0, "the witness lost events");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(json).expect("the JSON document");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let slow = serde_json::from_value(document["summary"]["slow"].clone()).expect("slow paths");
    (slow, String::from_utf8_lossy(&output.stdout).into_owned(), Judge::new(&record))
}

/// The line below the heading of the slow paths.
fn find_headline(printed: &str) -> &str {
    let mut lines = printed.lines().skip_while(|line| !line.starts_with("SLOW PATHS"));
    lines.nth(1).unwrap_or_default()
}

#[test]
fn the_slowest_path_of_a_report_is_a_fact() {
    let Some(_alone) = wait_for_machine("the first lines of ten reports") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let _load = Load::start("demo_load", 60);
    let mut wrong = Vec::new();
    let mut nr_compared = 0;
    for nr in 0..RUNS {
        let (slow, printed, judge) = trace_once(&directory.path().join(format!("{nr}.json")));
        let Some(first) = slow.first() else { continue };
        let line = find_headline(&printed);
        println!("{line}");
        let target = &first.record.target;
        let name = format!("{}:{}", target.comm, target.tid);
        assert!(line.contains(&name), "the first line is not of {name}: {line}");
        let mut differences = Differences::default();
        differences.add_found(first.record.via, judge.judge_path(first));
        nr_compared += differences.nr_paths;
        // Two readings of the clock may differ; a claim may not.
        if differences.by_kind.keys().any(|kind| !kind.is_harmless()) {
            wrong.push(format!("{line}\n{differences}"));
        }
    }
    assert!(nr_compared * 2 > RUNS as u64, "only {nr_compared} first lines could be compared");
    assert!(wrong.is_empty(), "{} of {nr_compared} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
