// SPDX-License-Identifier: GPL-2.0-or-later
//! `report.html` as text: what must hold for every page, whatever was measured.
//! Neighbour: `html_chromium.rs` opens the same page in a browser.

#![allow(clippy::unwrap_used)] // tests fail by panicking

mod html_support;

use irqpath_model::{Meta, Summary};
use irqpath_report::html::{self, Options};
use serde_json::Value;

fn page(meta: &Meta, summary: &Summary, options: Options) -> String {
    let mut out = Vec::new();
    html::write(&mut out, meta, summary, options).unwrap();
    String::from_utf8(out).unwrap()
}

/// The embedded JSON, as a browser's HTML parser cuts it out.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once(r#"id="data">"#).unwrap();
    let (json, _) = rest.split_once("</script").unwrap();
    serde_json::from_str(json).unwrap()
}

fn synthetic() -> (Meta, Summary, String) {
    let (meta, summary) = html_support::result(220);
    let text = page(&meta, &summary, Options::default());
    (meta, summary, text)
}

#[test]
fn loads_nothing_from_anywhere() {
    let (_, _, page) = synthetic();
    let lower = page.to_lowercase();
    for reference in
        ["src=\"", "src='", "href=", "@import", "fetch(", "xmlhttprequest", "url(http", "url(//"]
    {
        assert!(!lower.contains(reference), "{reference}");
    }
    // The name of the SVG namespace, and where the chart library comes from; neither is loaded.
    let addresses: Vec<_> =
        lower.match_indices("http").map(|(i, _)| &lower[i..lower.len().min(i + 30)]).collect();
    for address in addresses.iter().filter(|a| a.contains("://")) {
        let known = address.starts_with("http://www.w3.org/2000/svg")
            || address.starts_with("https://github.com/leeoniya/");
        assert!(known, "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("The MIT License"), "the chart library's license travels with it");
    assert!(!page.contains("{{"), "a marker was left");
}

#[test]
fn a_hostile_name_stays_a_name() {
    let (mut meta, mut summary) = html_support::result(8);
    meta.host = "<!--<script>\u{2028}".to_owned();
    summary.missing[0].what = "</SCRIPT ><svg onload=alert(1)>".to_owned();
    let page = page(&meta, &summary, Options::default());
    assert!(!page.contains("<img"));
    assert!(!page.contains("<svg onload"));
    assert!(!page.contains('\u{2028}'));
    let data = data(&page);
    assert!(data["paths"].as_array().unwrap().iter().any(|p| p["target"] == html_support::HOSTILE));
    assert_eq!(data["machine"]["host"], r"<!--<script>\u{2028}");
    // As many script elements as the frame has: nobody opened or closed another one.
    let plain = self::page(&Meta::default(), &Summary::default(), Options::default());
    for tag in ["<script", "</script"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
}

#[test]
fn the_script_never_parses_html() {
    let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/report");
    for entry in std::fs::read_dir(assets).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for sink in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ] {
            assert!(!text.contains(sink), "{sink} in {}", path.display());
        }
    }
}

#[test]
fn the_verdict_names_path_time_and_cause() {
    let (_, summary, page) = synthetic();
    let verdict = data(&page)["verdict"].as_str().unwrap().replace('\u{202f}', " ");
    assert!(verdict.starts_with("220 paths, slowest to run 3 "), "{verdict}");
    assert!(verdict.contains("LOC:local_timer → cyclictest, "), "{verdict}");
    let (_, cause) = summary.slow()[0].main_cause().unwrap();
    assert!(verdict.ends_with(&cause.who), "{verdict}");
}

#[test]
fn every_path_is_there_with_its_quantiles_and_counts() {
    let (_, summary, page) = synthetic();
    let data = data(&page);
    let rows = data["paths"].as_array().unwrap();
    assert_eq!(rows.len(), summary.traced().paths.len());
    for (row, path) in rows.iter().zip(&summary.traced().paths) {
        assert_eq!(row["origin"], path.origin_name);
        assert_eq!(row["total"][0], path.total.n);
        assert_eq!(row["total"][7], path.total.max_ns);
        let counted: u64 =
            row["bars"].as_array().unwrap().iter().map(|b| b[2].as_u64().unwrap()).sum();
        assert_eq!(counted, path.total.n - path.total.nr_overflow);
        assert_eq!(row["stages"].as_array().unwrap().len(), path.stages.len());
    }
}

#[test]
fn causes_add_up_and_what_is_left_out_is_said() {
    let (meta, mut summary) = html_support::result(60);
    for slow in &mut summary.traced_mut().unwrap().slow {
        slow.stages[0].causes.clear();
    }
    let options = Options { max_slow: 30 };
    let data = data(&page(&meta, &summary, options));
    let slow = data["slow"].as_array().unwrap();
    assert_eq!(slow.len(), 30);
    for stage in slow.iter().flat_map(|s| s["stages"].as_array().unwrap()) {
        let causes = stage["causes"].as_array().unwrap();
        let sum: u64 = causes.iter().map(|c| c["ns"].as_u64().unwrap()).sum();
        assert_eq!(sum, stage["ns"].as_u64().unwrap(), "{stage}");
    }
    let notes = data["notes"].to_string();
    assert!(notes.contains("30 of them shown with causes"), "{notes}");
    // The slowest run of the slowest path is always among them.
    assert_eq!(slow[0]["path"], 0);
    assert_eq!(slow[0]["total_ns"], summary.slow()[0].record.total_ns());
}

#[test]
fn counters_of_proc_stand_beside_ours() {
    let (_, _, page) = synthetic();
    let data = data(&page);
    let line = |name: &str| {
        let lines = data["lines"].as_array().unwrap();
        lines.iter().find(|l| l["name"] == name && l["cpu"] == 3).unwrap().clone()
    };
    assert_eq!(line("LOC:local_timer")["proc_nr"], 12_000);
    assert_eq!(line("36:nvme0q1")["proc_nr"], 4_000);
    assert_eq!(line("37:nvme0q2")["proc_nr"], Value::Null);
    assert_eq!(line("CAL:call_function")["proc_nr"], Value::Null);
    let softirqs = data["softirqs"].as_array().unwrap();
    let net_rx = softirqs.iter().find(|s| s["name"] == "net_rx" && s["cpu"] == 7).unwrap();
    assert_eq!(net_rx["proc_nr"], 8_000);
    assert_eq!(data["napi"][0]["nr_packets"], 98_765);
}

#[test]
fn the_same_result_makes_the_same_page() {
    let (meta, summary, first) = synthetic();
    assert!(first == page(&meta, &summary, Options::default()));
}

#[test]
fn an_empty_result_is_a_page_too() {
    let page = page(&Meta::default(), &Summary::default(), Options::default());
    assert_eq!(data(&page)["paths"], serde_json::json!([]));
}

#[test]
fn a_failing_writer_is_an_error_and_no_panic() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (meta, summary) = html_support::result(8);
    let error = html::write(&mut Full, &meta, &summary, Options::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}
