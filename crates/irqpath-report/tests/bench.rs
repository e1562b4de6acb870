// SPDX-License-Identifier: GPL-2.0-or-later
//! Benchmarks as text, word for word, and what must hold for their page. `IRQPATH_BLESS=1 cargo
//! test` rewrites the files under `tests/golden`; look at them before they are committed.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod bench_support;

use std::path::Path;

use bench_support::{clocks, meta, result, series};
use irqpath_model::bench::Mechanism::{Softirq, Workqueue};
use irqpath_model::{BenchSeries, Measured, Meta, Summary};
use irqpath_report::html::{self, Options};
use irqpath_report::json;
use irqpath_report::text::{TextOptions, write_bench};
use serde_json::Value;

fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        std::fs::write(&path, got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    assert_eq!(got, want, "{name}");
}

fn text(meta: &Meta, summary: &Summary, width: usize) -> String {
    let mut out = Vec::new();
    write_bench(&mut out, meta, summary, &TextOptions { width, ..<_>::default() }).unwrap();
    String::from_utf8(out).unwrap()
}

fn bench_of(summary: &mut Summary) -> &mut Vec<BenchSeries> {
    let Measured::Bench { bench } = &mut summary.measured else { panic!() };
    bench
}

fn two() -> Summary {
    Summary::from_measured(Measured::Bench {
        bench: series(&[Softirq, Workqueue], &[0, 256], 2_000),
    })
}

#[test]
fn tables() {
    golden("bench-100.txt", &text(&meta(), &two(), 100));
    golden("bench-60.txt", &text(&meta(), &two(), 60));
    let of_clocks = Summary::from_measured(Measured::Bench { bench: clocks(500) });
    golden("bench-clocks.txt", &text(&meta(), &of_clocks, 100));
}

#[test]
fn exact_mode_shows_instructions_too() {
    let exact = Meta { is_exact: true, ..meta() };
    let got = text(&exact, &two(), 200);
    assert!(got.contains("instructions; the same numbers"), "{got}");
    assert!(got.contains("a CR3 or MSR write counts as one"), "{got}");
    let q50 = two().bench()[0].quantiles.q50_ns;
    let grouped = format!("{} {:03}", q50 / 1_000, q50 % 1_000);
    assert!(got.contains(&grouped), "{grouped} is not in {got}");
}

#[test]
fn what_was_not_looked_for_is_not_claimed() {
    let mut summary = two();
    bench_of(&mut summary)[0].nr_irq = None;
    bench_of(&mut summary)[0].nr_incomplete = 7;
    let got = text(&meta(), &summary, 100);
    assert!(got.contains("irq ?: no tracepoint was hooked"), "{got}");
    assert!(got.contains("incomplete: 7"), "{got}");
    let empty = text(&meta(), &Summary::default(), 100);
    assert!(empty.contains("runs: 0"), "{empty}");
}

fn page(meta: &Meta, summary: &Summary) -> String {
    let mut out = Vec::new();
    html::write(&mut out, meta, summary, Options::default()).unwrap();
    String::from_utf8(out).unwrap()
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"id="data">"#).unwrap();
    let (json, _) = rest.split_once("</script").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_page_has_every_series_with_its_numbers() {
    let (meta, summary) = result(300);
    let page = page(&meta, &summary);
    assert!(!page.contains("{{"), "a marker was left");
    let data = data(&page);
    let rows = data["series"].as_array().unwrap();
    assert_eq!(rows.len(), summary.bench().len());
    for (row, series) in rows.iter().zip(summary.bench()) {
        assert_eq!(row["label"], series.label);
        assert_eq!(row["q"]["q50_ns"], series.quantiles.q50_ns);
        let values = row["values"].as_array().unwrap();
        let n: u64 = values.chunks(2).map(|pair| pair[1].as_u64().unwrap()).sum();
        assert_eq!(n, series.quantiles.n);
    }
    let verdict = data["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("Median from 2."), "{verdict}");
    assert!(verdict.contains("(softirq, load "), "{verdict}");
}

#[test]
fn a_hostile_name_stays_a_name() {
    let (mut meta, mut summary) = result(50);
    meta.host = bench_support::HOSTILE.to_owned();
    bench_of(&mut summary)[0].base_path.push(bench_support::HOSTILE.to_owned());
    let page = page(&meta, &summary);
    assert!(!page.contains("<img"));
    assert_eq!(data(&page)["machine"]["host"], meta.host);
}

#[test]
fn the_script_never_parses_html_and_loads_nothing() {
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/bench");
    for entry in std::fs::read_dir(assets).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for sink in
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch("]
        {
            assert!(!text.contains(sink), "{sink} in {}", path.display());
        }
    }
}

#[test]
fn stored_benchmarks_read_back_equal() {
    let (meta, summary) = result(40);
    let mut out = Vec::new();
    json::write_document(&mut out, &meta, &summary).unwrap();
    let back = json::read_document(&out).unwrap();
    assert_eq!((back.meta, back.summary), (meta, summary));
}

#[test]
fn results_from_before_benchmarks_are_read() {
    let mut summary = serde_json::to_value(Summary::default()).unwrap();
    let fields = summary.as_object_mut().unwrap();
    assert!(fields.remove("kind").is_some() && !fields.contains_key("bench"));
    let mut meta = serde_json::to_value(Meta::default()).unwrap();
    meta.as_object_mut().unwrap().remove("is_exact").unwrap();
    assert_eq!(json::read_summary(summary.to_string().as_bytes()).unwrap(), Summary::default());
    assert_eq!(json::read_meta(meta.to_string().as_bytes()).unwrap(), Meta::default());
}
