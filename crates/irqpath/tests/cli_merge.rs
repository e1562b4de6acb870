// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath merge`: a campaign has every row of its results once, and says what it has not.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

use irqpath_model::{Histogram, Meta};
use irqpath_report::json::read_summary;
use irqpath_testing::cli::{error_line, irqpath, names};
use irqpath_testing::recordings::{meta, result_of};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};

fn meta_of(run: &str, commit: &str, kernel: &str) -> Meta {
    let mut meta = Meta { run_id: run.to_owned(), commit: commit.to_owned(), ..meta() };
    kernel.clone_into(&mut meta.kernel.release);
    meta
}

fn make(root: &Path, run: &str, commit: &str, n: u64) -> PathBuf {
    result_of(root, run, &meta_of(run, commit, "6.12-rt"), n, 20_000)
}

fn merge(directories: &[&Path], out: &Path) -> Output {
    irqpath().arg("merge").args(directories).arg("-o").arg(out).output().unwrap()
}

fn rows(file: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn text(row: &Row, name: &str) -> String {
    match row.get_column_iter().find(|(n, _)| *n == name).unwrap().1 {
        Field::Str(text) => text.clone(),
        other => panic!("{other}"),
    }
}

fn number(row: &Row, name: &str) -> u64 {
    match row.get_column_iter().find(|(n, _)| *n == name).unwrap().1 {
        Field::ULong(n) => *n,
        other => panic!("{other}"),
    }
}

fn histogram(directory: &Path) -> Histogram {
    let summary = read_summary(&fs::read(directory.join("summary.json")).unwrap()).unwrap();
    summary.traced().paths[0].histogram.clone()
}

#[test]
fn every_row_of_every_run_is_there_once() {
    let root = tempfile::tempdir().unwrap();
    let runs = [("r1", "abc", 100), ("r2", "abc", 50), ("r3", "d/e", 20)];
    let made = runs.map(|(run, commit, n)| make(root.path(), run, commit, n));
    let out = root.path().join("campaign");
    let output = merge(&made.each_ref().map(PathBuf::as_path), &out);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    assert!(told.starts_with("merged 3 of 3 results, 2 partitions\n"), "{told}");
    assert_eq!(names(&out), ["buckets", "histograms", "merge.json", "paths", "runs"]);
    let part = |table: &str, commit: &str| {
        rows(&out.join(table).join(commit).join("kernel=6.12-rt/part-0.parquet"))
    };
    assert_eq!(names(&out.join("paths")), ["commit=abc", "commit=d%2Fe"]);
    let paths = part("paths", "commit=abc");
    let by_run = |run| paths.iter().filter(|row| text(row, "run_id") == run).count();
    assert_eq!((by_run("r1"), by_run("r2"), paths.len()), (101, 51, 152));
    assert!(
        paths.iter().all(|row| text(row, "kernel") == "6.12-rt" && text(row, "host") == "paper")
    );
    assert_eq!(part("paths", "commit=d%2Fe").len(), 21);
    let of_runs = part("runs", "commit=abc");
    assert_eq!(of_runs.iter().map(|row| number(row, "nr_rows")).collect::<Vec<_>>(), [101, 51]);
}

#[test]
fn histograms_add_up_bucket_by_bucket() {
    let root = tempfile::tempdir().unwrap();
    let made = ["r1", "r2"].map(|run| make(root.path(), run, "abc", 300));
    let out = root.path().join("campaign");
    assert!(merge(&made.each_ref().map(PathBuf::as_path), &out).status.success());
    let part =
        |table: &str| rows(&out.join(table).join("commit=abc/kernel=6.12-rt/part-0.parquet"));
    let mut whole = histogram(&made[0]);
    whole.merge_with(&histogram(&made[1]));
    let mut buckets = BTreeMap::new();
    for row in part("buckets").iter().filter(|row| text(row, "stage") == "total") {
        buckets.insert((number(row, "low_ns"), number(row, "high_ns")), number(row, "n"));
    }
    let expected: BTreeMap<_, _> = whole.iter_buckets().map(|(l, h, n)| ((l, h), n)).collect();
    assert_eq!(buckets, expected);
    let histograms = part("histograms");
    let total = histograms.iter().find(|row| text(row, "stage") == "total").unwrap();
    let q = whole.quantiles();
    assert_eq!(
        ["nr_runs", "min_ns", "max_ns", "sum_ns"].map(|name| number(total, name)),
        [2, q.min_ns, q.max_ns, whole.sum_ns()]
    );
    assert_eq!(text(total, "run_id"), "", "it is of two runs");
}

#[test]
fn a_run_counts_once_and_a_contradiction_not_at_all() {
    let root = tempfile::tempdir().unwrap();
    let [a, b] = ["r1", "r2"].map(|run| make(root.path(), run, "abc", 30));
    let again = result_of(root.path(), "again", &meta_of("r1", "abc", "6.12-rt"), 30, 20_000);
    let out = root.path().join("one");
    let output = merge(&[&a, &again, &b], &out);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("merged 2 of 3") && told.contains("1 duplicates"), "{told}");
    let other = result_of(root.path(), "other", &meta_of("r1", "abc", "6.12-rt"), 31, 20_000);
    let out = root.path().join("two");
    let output = merge(&[&a, &other, &again, &b], &out);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("merged 1 of 4") && told.contains("3 in contradiction"), "{told}");
    assert!(told.contains("are both of run r1 and differ"), "{told}");
    let paths = rows(&out.join("paths/commit=abc/kernel=6.12-rt/part-0.parquet"));
    assert!(paths.iter().all(|row| text(row, "run_id") == "r2"));
}

#[test]
fn what_is_damaged_is_named_in_one_line_and_left_out() {
    let root = tempfile::tempdir().unwrap();
    let good = make(root.path(), "good", "abc", 30);
    let damage = |run: &str, change: &dyn Fn(&Path)| {
        let made = make(root.path(), run, "abc", 30);
        change(&made);
        made
    };
    let cut = |name: &'static str| {
        move |made: &Path| {
            let bytes = fs::read(made.join(name)).unwrap();
            fs::write(made.join(name), &bytes[..bytes.len() / 2]).unwrap();
        }
    };
    let table = fs::read(good.join("paths.parquet")).unwrap();
    let bad = [
        damage("b1", &cut("summary.json")),
        damage("b2", &cut("meta.json")),
        damage("b3", &cut("paths.parquet")),
        damage("b4", &|made| fs::write(made.join("paths.parquet"), &table).unwrap()),
        damage("b5", &|made| {
            fs::remove_file(made.join("paths.parquet")).unwrap();
            fs::create_dir(made.join("paths.parquet")).unwrap();
        }),
        damage("b6", &|made| {
            let text = fs::read_to_string(made.join("meta.json")).unwrap();
            fs::write(
                made.join("meta.json"),
                text.replace("\"abc\"", &format!("\"{}\"", "/".repeat(99))),
            )
            .unwrap();
        }),
        root.path().join("absent"),
    ];
    let mut all: Vec<&Path> = bad.iter().map(PathBuf::as_path).collect();
    let out = root.path().join("none");
    assert!(error_line(&merge(&all, &out)).contains("none of 7 directories can be merged"));
    all.push(&good);
    let output = merge(&all, &out);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("merged 1 of 8") && told.contains("7 unreadable"), "{told}");
    for (directory, what) in [
        ("b1: ", "not a valid summary.json"),
        ("b2: ", "not a valid meta.json"),
        ("b3/paths.parquet: ", "not a table that irqpath wrote"),
        ("b4/paths.parquet ", "is of another run than meta.json"),
        ("b5/paths.parquet", "not a regular file"),
        ("b6: ", "a name of 297 characters"),
        ("absent", "there is no"),
    ] {
        let is_it = |line: &&str| line.contains(directory) && line.contains(what);
        assert_eq!(told.lines().filter(is_it).count(), 1, "{directory}{what} in\n{told}");
    }
    let listed = names(root.path());
    assert!(listed.iter().all(|name| !name.contains("partial")), "{listed:?}");
}

#[test]
fn a_campaign_replaces_nothing() {
    let root = tempfile::tempdir().unwrap();
    let made = make(root.path(), "r1", "abc", 5);
    let output = merge(&[&made], root.path());
    assert!(error_line(&output).contains("exists, and a campaign replaces nothing"));
    assert_eq!(names(root.path()), ["r1"]);
    // It is no result, and is told from one.
    let out = root.path().join("campaign");
    assert!(merge(&[&made], &out).status.success());
    let again = merge(&[&out], &root.path().join("again"));
    assert!(error_line(&again).contains("not a result directory"));
}

#[test]
fn results_of_version_2_are_merged() {
    let root = tempfile::tempdir().unwrap();
    let made = make(root.path(), "r1", "abc", 5);
    for file in ["meta.json", "paths.parquet"] {
        fs::remove_file(made.join(file)).unwrap();
    }
    // As version 2 wrote them: no run anywhere, and another name.
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/results/v2");
    fs::copy(golden.join("paths.parquet"), made.join("samples.parquet")).unwrap();
    let mut old = Vec::new();
    irqpath_report::json::write_meta(&mut old, &meta()).unwrap();
    assert!(!String::from_utf8_lossy(&old).contains("run_id"));
    fs::write(made.join("meta.json"), old).unwrap();
    let out = root.path().join("campaign");
    assert!(merge(&[&made], &out).status.success());
    let paths = rows(&out.join("paths/commit=unknown/kernel=unknown/part-0.parquet"));
    assert!(paths.len() > 1000 && text(&paths[0], "run_id").starts_with("content-"));
}
