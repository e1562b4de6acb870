// SPDX-License-Identifier: GPL-2.0-or-later
//! The SQL of docs/analysis.md gives the right answers, by DuckDB, on results of this irqpath.
//!
//! `scripts/setup.sh --with test` installs DuckDB into `target/duckdb`.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use irqpath_model::bench::Latencies;
use irqpath_model::{Histogram, Measured, Meta, Summary};
use irqpath_report::json::{write_meta, write_summary};
use irqpath_testing::cli::{irqpath, project_root, target_directory};
use irqpath_testing::recordings::{meta, result_of};
use serde_json::{Value, json};

/// Runs the statements of each block, and prints the rows of the last one.
const RUNNER: &str = "
import duckdb, json, sys
connection = duckdb.connect()
rows = lambda block: connection.execute(block).fetchall()
print(json.dumps([rows(block) for block in json.load(sys.stdin)]))
";

/// The length of the last path of every run.
const OUTLIER: u64 = 500_000;

struct Run {
    host: &'static str,
    id: &'static str,
    commit: &'static str,
    kernel: &'static str,
    n: u64,
    ns: u64,
}

/// The same path on two kernels and two hosts, then a commit that makes it half as long again.
const RUNS: [Run; 4] = [
    Run { host: "tiger", id: "r1", commit: "a1", kernel: "6.1-rt", n: 400, ns: 20_000 },
    Run { host: "tiger", id: "r2", commit: "a1", kernel: "6.12-rt", n: 400, ns: 16_000 },
    Run { host: "lion", id: "r3", commit: "a1", kernel: "6.12-rt", n: 200, ns: 18_000 },
    // A commit that looks like a number stays a text.
    Run { host: "tiger", id: "r4", commit: "0012", kernel: "6.12-rt", n: 400, ns: 24_000 },
];

impl Run {
    /// The lengths of its paths, as the recording has them.
    fn lengths(&self) -> Vec<u64> {
        let spread = |i: u64| self.ns + self.ns * (i * 7919 % 1000) / 30_000;
        (0..self.n).map(spread).chain([OUTLIER]).collect()
    }
}

fn lengths_of(is_in: impl Fn(&Run) -> bool) -> Vec<u64> {
    let mut all: Vec<u64> = RUNS.iter().filter(|run| is_in(run)).flat_map(Run::lengths).collect();
    all.sort_unstable();
    all
}

/// Nearest rank.
fn quantile(sorted: &[u64], per_mille: u64) -> u64 {
    sorted.iter().copied().collect::<Latencies>().quantile_ns(per_mille)
}

fn make_campaign(root: &Path) {
    let made = RUNS.iter().enumerate().map(|(i, run)| {
        let mut meta = Meta {
            host: run.host.to_owned(),
            run_id: run.id.to_owned(),
            commit: run.commit.to_owned(),
            started_at: format!("2026-02-0{}T00:00:00Z", i + 1),
            ..meta()
        };
        run.kernel.clone_into(&mut meta.kernel.release);
        result_of(root, run.id, &meta, run.n, run.ns)
    });
    let mut made: Vec<PathBuf> = made.collect();
    made.push(make_lab_result(&root.join("lab")));
    irqpath().arg("merge").args(made).arg("-o").arg(root.join("campaign")).assert().success();
}

/// A result of the lab, with the lengths that version 2 wrote.
fn make_lab_result(directory: &Path) -> PathBuf {
    fs::create_dir(directory).unwrap();
    let golden = project_root().join("tests/golden/results/v2/lengths.parquet");
    fs::copy(golden, directory.join("samples.parquet")).unwrap();
    let meta = Meta { source: "lab, exact: 1 ns is one instruction".to_owned(), ..meta() };
    let summary = Summary::from_measured(Measured::Bench { bench: Vec::new() });
    write_meta(fs::File::create(directory.join("meta.json")).unwrap(), &meta).unwrap();
    write_summary(fs::File::create(directory.join("summary.json")).unwrap(), &summary).unwrap();
    directory.to_owned()
}

/// The blocks of the page, the first of which makes the views.
fn sql_blocks() -> Vec<String> {
    let page = fs::read_to_string(project_root().join("docs/analysis.md")).unwrap();
    let blocks = page.split("```sql\n").skip(1);
    blocks.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

fn find_duckdb() -> Option<PathBuf> {
    let python = fs::canonicalize(target_directory()).ok()?.join("duckdb/bin/python");
    let found = Command::new(&python).args(["-c", "import duckdb"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skipped: the SQL of docs/analysis.md: no DuckDB; scripts/setup.sh --with test");
    None
}

fn answer(python: &Path, root: &Path, blocks: &[String]) -> Vec<Value> {
    let mut child = Command::new(python)
        .args(["-c", RUNNER])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = serde_json::to_vec(blocks).unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "DuckDB refused a block");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_answers_are_those_of_the_samples() {
    let Some(python) = find_duckdb() else { return };
    let root = tempfile::tempdir().unwrap();
    make_campaign(root.path());
    let blocks = sql_blocks();
    assert_eq!(blocks.len(), 11, "the views and ten questions");
    let answers = answer(&python, root.path(), &blocks);
    check_counts(&answers[1]);
    check_quantiles(&answers[2]);
    check_hosts(&answers[3]);
    check_stages(&answers[4]);
    check_steps(&answers[5]);
    check_slowest(&answers[6]);
    check_missed(&answers[7]);
    check_fleet(&answers[8]);
    check_cpus(&answers[9]);
    check_lab(&answers[10]);
}

fn check_counts(rows: &Value) {
    let expected = json!([
        ["0012", "6.12-rt", "paths", 1, 1, 401, 0],
        ["a1", "6.1-rt", "paths", 1, 1, 401, 0],
        ["a1", "6.12-rt", "paths", 2, 2, 602, 0],
        ["unknown", "unknown", "bench", 1, 1, 400, 0],
    ]);
    assert_eq!(rows, &expected);
}

fn check_quantiles(rows: &Value) {
    let expected = ["6.1-rt", "6.12-rt"].map(|kernel| {
        let all = lengths_of(|run| run.kernel == kernel);
        let (q50, q99) = (quantile(&all, 500), quantile(&all, 990));
        json!([kernel, "36:virtio1-req.0", "postgres", all.len(), q50, q99, OUTLIER])
    });
    assert_eq!(rows, &json!(expected));
}

fn check_hosts(rows: &Value) {
    let median = |id: &str| quantile(&lengths_of(|run| run.id == id), 500) as f64;
    // An odd number of paths in each: the median is one of them.
    assert_eq!(rows, &json!([["lion", 1, median("r3")], ["tiger", 1, median("r2")]]));
}

fn check_stages(rows: &Value) {
    let expected = [("0012", "6.12-rt"), ("a1", "6.1-rt"), ("a1", "6.12-rt")];
    for (row, (commit, kernel)) in rows.as_array().unwrap().iter().zip(expected) {
        let all = lengths_of(|run| run.commit == commit && run.kernel == kernel);
        let mean = |part: fn(u64) -> u64| {
            all.iter().map(|ns| part(*ns)).sum::<u64>() as f64 / all.len() as f64
        };
        assert_eq!((&row[0], &row[1]), (&json!(commit), &json!(kernel)));
        for (found, want) in [(&row[2], mean(|ns| ns / 4)), (&row[3], mean(|ns| ns - ns / 4))] {
            assert!((found.as_f64().unwrap() - want).abs() < 1e-6, "{row}: {want}");
        }
    }
    assert_eq!(rows.as_array().unwrap().len(), 3);
}

fn check_steps(rows: &Value) {
    let median = |commit: &str| {
        quantile(&lengths_of(|run| run.commit == commit && run.kernel == "6.12-rt"), 500)
    };
    let (before, after) = (median("a1"), median("0012"));
    let ratio = after as f64 / before as f64;
    let expected = json!([["0012", "36:virtio1-req.0", "postgres", before, after, ratio]]);
    assert_eq!(rows, &expected);
}

fn check_slowest(rows: &Value) {
    let rows = rows.as_array().unwrap();
    let lengths: Vec<u64> = rows.iter().map(|row| row[0].as_u64().unwrap()).collect();
    let mut all = lengths_of(|_| true);
    all.reverse();
    assert_eq!(lengths, all[..10]);
    let of_outliers: Vec<&Value> = rows[..4].iter().map(|row| &row[5]).collect();
    assert_eq!(of_outliers, ["r1", "r2", "r3", "r4"]);
    // The last path of 400 began after 400 ms.
    assert_eq!(rows[0][6], 1_400_000_000);
}

fn check_missed(rows: &Value) {
    let expected =
        json!([["0012", "6.12-rt", 401, 1], ["a1", "6.1-rt", 401, 1], ["a1", "6.12-rt", 602, 2],]);
    assert_eq!(rows, &expected);
}

fn check_fleet(rows: &Value) {
    let expected = ["6.1-rt", "6.12-rt"].map(|kernel| {
        let mut histogram = Histogram::default();
        let all = lengths_of(|run| run.kernel == kernel);
        for ns in &all {
            histogram.record_ns(*ns);
        }
        let q99 = histogram.quantile_ns(0.99);
        json!([kernel, "36:virtio1-req.0", "postgres", all.len(), q99])
    });
    assert_eq!(rows, &json!(expected));
}

fn check_cpus(rows: &Value) {
    let nr_over = |id: &str| {
        let all = lengths_of(|run| run.id == id);
        let q99 = quantile(&all, 990);
        all.iter().filter(|ns| **ns > q99).count()
    };
    let tiger = nr_over("r1") + nr_over("r2") + nr_over("r4");
    assert_eq!(rows, &json!([["tiger", 0, tiger], ["lion", 0, nr_over("r3")]]));
}

fn check_lab(rows: &Value) {
    // As the file was made: 100 repetitions of each.
    let median = |first: u64, base: u64| {
        let mut all: Vec<u64> = (first..first + 100).map(|n| base + n * n % 37 * 11).collect();
        all.sort_unstable();
        u64::midpoint(all[49], all[50]) as f64
            + if (all[49] + all[50]) % 2 == 1 { 0.5 } else { 0.0 }
    };
    let expected = [("irq_to_thread", 9000), ("thread_to_user", 11_000)].map(|(interval, base)| {
        let (idle, load) = (median(0, base), median(100, base));
        (json!([interval, idle, load]), load / idle)
    });
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, (numbers, ratio)) in rows.iter().zip(expected) {
        assert_eq!(row.as_array().unwrap()[..3], numbers.as_array().unwrap()[..]);
        // JSON is read with an error in the last of 16 digits.
        assert!((row[3].as_f64().unwrap() - ratio).abs() < 1e-12, "{row}");
    }
}
