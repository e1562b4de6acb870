// SPDX-License-Identifier: GPL-2.0-or-later
//! The commands that work on what is stored: report, compare, schema, generate. And check.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::path::{Path, PathBuf};

use irqpath_testing::cli::{error_line, irqpath, names};
use irqpath_testing::recordings::replay;

fn make_result(root: &Path, name: &str) -> PathBuf {
    let target = root.join(name);
    replay(root).arg("-o").arg(&target).assert().success();
    target
}

fn report_error(directory: &Path) -> String {
    error_line(&irqpath().arg("report").arg(directory).output().unwrap())
}

#[test]
fn a_report_is_made_again() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (make_result(root.path(), "a"), make_result(root.path(), "b"));
    for directory in [&a, &b] {
        fs::remove_file(directory.join("report.html")).unwrap();
    }
    irqpath().arg("report").args([&a, &b]).assert().success();
    for directory in [&a, &b] {
        assert!(fs::read_to_string(directory.join("report.html")).unwrap().contains("postgres"));
    }
    let elsewhere = root.path().join("r.html");
    irqpath().arg("report").arg(&a).arg("-o").arg(&elsewhere).assert().success();
    assert!(elsewhere.exists());
    let two = irqpath().arg("report").args([&a, &b]).arg("-o").arg(&elsewhere).output().unwrap();
    assert!(error_line(&two).contains("-o is for one directory"));
}

#[test]
fn a_directory_that_is_no_result_is_named_as_such() {
    let root = tempfile::tempdir().unwrap();
    assert!(report_error(root.path()).contains("not a result directory"));
    assert!(report_error(&root.path().join("absent")).contains("there is no"));
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(report_error(&file).contains("is not a directory"));
}

#[test]
fn a_newer_result_names_both_versions() {
    let root = tempfile::tempdir().unwrap();
    let target = make_result(root.path(), "r");
    for name in ["meta.json", "summary.json"] {
        let path = target.join(name);
        let text = fs::read_to_string(&path).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["schema_version"] = 99.into();
        fs::write(&path, value.to_string()).unwrap();
        let line = report_error(&target);
        assert!(
            line.contains(name) && line.contains("format 99, this irqpath reads up to 2"),
            "{line}"
        );
        fs::write(&path, text).unwrap();
    }
}

#[test]
fn a_damaged_result_is_an_error_wherever_it_is_cut() {
    let root = tempfile::tempdir().unwrap();
    let target = make_result(root.path(), "r");
    fs::remove_file(target.join("report.html")).unwrap();
    for name in ["meta.json", "summary.json"] {
        let path = target.join(name);
        let bytes = fs::read(&path).unwrap();
        for cut in [0, 1, bytes.len() / 3, bytes.len() - 3] {
            fs::write(&path, &bytes[..cut]).unwrap();
            let line = report_error(&target);
            assert!(
                line.contains(&format!("not a valid {name}")) && line.contains("measure again"),
                "{line}"
            );
        }
        fs::write(&path, [0xff; 64]).unwrap();
        assert!(report_error(&target).contains("not a valid"));
        fs::write(&path, bytes).unwrap();
    }
    assert!(!target.join("report.html").exists());
}

#[test]
fn two_results_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let (a, b) = (make_result(root.path(), "a"), make_result(root.path(), "b"));
    let output = irqpath().arg("compare").args([&a, &b]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["36:virtio1-req.0", "postgres", "Q99", "needs "] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let output = irqpath().arg("compare").args([&a, &b]).arg("--json").output().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["rows"][0]["a_n"], 101);
    assert_eq!(value["rows"][0]["numbers"][3]["verdict"], "not_judged");
}

#[test]
fn schemas_describe_what_is_stored() {
    let output = irqpath().arg("schema").output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["schema_version", "observer_effects", "nr_slow"] {
        assert!(text.contains(part), "{part}");
    }
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    for file in ["meta", "summary"] {
        let output = irqpath().args(["schema", file]).output().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(value["properties"]["schema_version"].is_object(), "{file}");
    }
}

#[test]
fn man_pages_and_completions_come_from_the_definition() {
    let root = tempfile::tempdir().unwrap();
    irqpath().args(["generate", "man"]).arg(root.path().join("man")).assert().success();
    let pages = names(&root.path().join("man"));
    for page in ["irqpath.1", "irqpath-trace.1", "irqpath-check.1"] {
        assert!(pages.iter().any(|p| p == page), "{pages:?}");
    }
    assert!(!pages.iter().any(|p| p.contains("generate")), "{pages:?}");
    let trace = fs::read_to_string(root.path().join("man/irqpath-trace.1")).unwrap();
    assert!(trace.contains("threshold"));
    irqpath().args(["generate", "completions"]).arg(root.path().join("c")).assert().success();
    assert_eq!(names(&root.path().join("c")), ["_irqpath", "irqpath.bash", "irqpath.fish"]);
}

#[test]
fn check_finds_something_to_say() {
    let output = irqpath().arg("check").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("problems: "));
    let output = irqpath().args(["check", "--json"]).output().unwrap();
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!value.as_array().unwrap().is_empty());
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in [&["--help"][..], &["--version"], &["trace", "--help"], &["check", "-h"]] {
        let output = irqpath().args(arguments).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}");
        assert!(!output.stdout.is_empty());
    }
    assert_eq!(irqpath().output().unwrap().status.code(), Some(2));
}
