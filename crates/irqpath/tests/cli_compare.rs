// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath compare`: what it shows of two results, of several a side, and of a history.
//!
//! `IRQPATH_BLESS=1 cargo test --locked -p irqpath --test cli_compare` accepts a change of a screen.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::fs;
use std::path::{Path, PathBuf};

use irqpath_model::Meta;
use irqpath_testing::cli::{error_line, irqpath, project_root};
use irqpath_testing::recordings::{meta, result_of};

fn make(root: &Path, name: &str, n: u64, ns: u64) -> PathBuf {
    result_of(root, name, &Meta { run_id: name.to_owned(), ..meta() }, n, ns)
}

fn compare(root: &Path, arguments: &[&str]) -> String {
    let output = irqpath().current_dir(root).arg("compare").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "wider than a terminal: {line}");
    }
    text
}

/// Compares with the screen in `tests/golden/compare`.
fn check_screen(name: &str, text: &str) {
    let path = project_root().join("tests/golden/compare").join(name);
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
}

#[test]
fn two_results_and_what_their_samples_show() {
    let root = tempfile::tempdir().unwrap();
    for (name, n, ns) in [("a", 2000, 20_000), ("same", 2500, 20_000), ("slower", 2000, 24_000)] {
        make(root.path(), name, n, ns);
    }
    make(root.path(), "few", 100, 20_000);
    let same = compare(root.path(), &["a", "same"]);
    assert!(same.contains("verdict: no difference that these samples can show"), "{same}");
    check_screen("same.txt", &same);
    let slower = compare(root.path(), &["a", "slower"]);
    assert!(slower.contains("verdict: 3 of 3 numbers differ"), "{slower}");
    check_screen("slower.txt", &slower);
    let few = compare(root.path(), &["a", "few"]);
    assert!(few.contains("needs ") && few.contains("have too few samples"), "{few}");
    check_screen("few.txt", &few);
}

#[test]
fn exact_results_differ_or_are_equal_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    for (name, n, ns) in [("a", 60, 20_000), ("b", 60, 20_000), ("c", 60, 20_700)] {
        let meta = Meta { run_id: name.to_owned(), is_exact: true, ..meta() };
        result_of(root.path(), name, &meta, n, ns);
    }
    let equal = compare(root.path(), &["a", "b"]);
    assert!(equal.contains("verdict: equal; exact runs"), "{equal}");
    // The paths lie in other buckets, of which no number tells.
    let meta = Meta { run_id: "d".to_owned(), is_exact: true, ..meta() };
    result_of(root.path(), "d", &meta, 61, 20_000);
    let within = compare(root.path(), &["a", "d"]);
    assert!(within.contains("equal, other samples differ"), "{within}");
    let other = compare(root.path(), &["a", "b", "--", "c"]);
    assert!(other.contains("numbers differ; exact, so all of it is real"), "{other}");
    check_screen("exact.txt", &other);
}

#[test]
fn several_results_a_side_are_compared_from_run_to_run() {
    let root = tempfile::tempdir().unwrap();
    for (i, ns) in [20_000, 20_900, 19_300, 20_400].into_iter().enumerate() {
        make(root.path(), &format!("a{i}"), 500, ns);
        make(root.path(), &format!("b{i}"), 500, ns + 300);
        make(root.path(), &format!("c{i}"), 500, ns + 6_000);
    }
    let chance = compare(root.path(), &["a0", "a1", "a2", "a3", "--", "b0", "b1", "b2", "b3"]);
    assert!(chance.contains("verdict: no difference"), "{chance}");
    check_screen("runs.txt", &chance);
    let real = compare(root.path(), &["a0", "a1", "a2", "a3", "--", "c0", "c1", "c2", "c3"]);
    assert!(real.contains("verdict: 3 of 3 numbers differ"), "{real}");
    // Each of the runs alone would show what is only chance between them.
    let alone = compare(root.path(), &["a0", "a1"]);
    assert!(alone.contains("differ") && alone.contains("how much runs differ by chance"));
}

#[test]
fn a_history_names_the_result_that_changed_it() {
    let root = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for i in 0..16_u64 {
        let ns = 20_000 + i * 7919 % 13 * 60 + if i < 9 { 0 } else { 4_000 };
        let name = format!("r{i:02}");
        let meta = Meta {
            run_id: name.clone(),
            commit: format!("c{i:02}"),
            started_at: format!("2026-02-{:02}T00:00:00Z", i + 1),
            ..meta()
        };
        result_of(root.path(), &name, &meta, 300, ns);
        names.push(name);
    }
    // The order of the command line does not matter.
    names.reverse();
    let mut arguments = vec!["--history"];
    arguments.extend(names.iter().map(String::as_str));
    let text = compare(root.path(), &arguments);
    assert!(text.contains("since r09, commit c09, 2026-02-10"), "{text}");
    check_screen("history.txt", &text);
    let calm = compare(root.path(), &[&["--history"], &arguments[8..]].concat());
    assert!(calm.contains("no change that these 9 results can show"), "{calm}");
}

#[test]
fn what_cannot_be_compared_is_one_line() {
    let root = tempfile::tempdir().unwrap();
    let a = make(root.path(), "a", 10, 20_000);
    let refuse = |arguments: &[&Path]| {
        error_line(&irqpath().arg("compare").args(arguments).output().unwrap())
    };
    assert!(refuse(&[&a]).contains("give two results, several as A... -- B..."));
    assert!(refuse(&[&a, &a, &a]).contains("give two results"));
    assert!(refuse(&[&a, &root.path().join("absent")]).contains("there is no"));
    let history = ["--history", "a", "--", "a"].map(Path::new);
    assert!(refuse(&history).contains("--history takes one list"));
}

#[test]
fn lengths_of_the_lab_are_compared_by_series_and_interval() {
    let root = tempfile::tempdir().unwrap();
    let golden = project_root().join("tests/golden/results/v2/lengths.parquet");
    for name in ["a", "b"] {
        let source = "lab, exact: 1 ns is one instruction".to_owned();
        let made = make(root.path(), name, 5, 20_000);
        // A replay is never the lab's.
        let file = fs::File::create(made.join("meta.json")).unwrap();
        irqpath_report::json::write_meta(file, &Meta { source, ..meta() }).unwrap();
        fs::remove_file(made.join("paths.parquet")).unwrap();
        fs::copy(&golden, made.join("samples.parquet")).unwrap();
    }
    let text = compare(root.path(), &["a", "b"]);
    assert!(text.contains("load 256: thread_to_user\n  samples: 100 and 100\n"), "{text}");
    assert!(text.contains("verdict: equal; exact runs"), "{text}");
    fs::write(root.path().join("b/samples.parquet"), "PAR1").unwrap();
    let paths = ["a", "b"].map(|name| root.path().join(name));
    let line = error_line(&irqpath().arg("compare").args(paths).output().unwrap());
    assert!(line.contains("b/samples.parquet: it is not a table"), "{line}");
}
