// SPDX-License-Identifier: GPL-2.0-or-later
//! The bundled recording of a real machine, replayed: the same paths, counts, times and causes
//! as when it was last looked at. `IRQPATH_BLESS=1 cargo test --test golden` rewrites the
//! expectation; look at the difference before you commit it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

fn golden_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

/// What must not change unnoticed: numbers and names, not layout.
fn reduce_document(document: &Value) -> Value {
    let summary = &document["summary"];
    let paths: Vec<Value> = summary["paths"]
        .as_array()
        .expect("paths")
        .iter()
        .map(|p| {
            json!([
                p["origin_name"],
                p["via"],
                p["key"]["comm"],
                p["total"]["n"],
                p["total"]["q50_ns"],
                p["total"]["max_ns"]
            ])
        })
        .collect();
    let slow: Vec<Value> =
        summary["slow"].as_array().expect("slow").iter().map(reduce_causes).collect();
    json!({ "paths": paths, "slow": slow, "loss": summary["loss"] })
}

fn reduce_causes(path: &Value) -> Value {
    path["stages"]
        .as_array()
        .expect("stages")
        .iter()
        .map(|s| {
            let first = &s["causes"][0];
            json!([s["to"], s["ns"], first["kind"], first["who"], first["ns"]])
        })
        .collect()
}

#[test]
fn the_bundled_recording_gives_the_same_summary() {
    let out = Command::new(env!("CARGO_BIN_EXE_irqpath"))
        .args(["trace", "once", "-T", "1000", "--json", "--replay"])
        .arg(golden_path("demo.irqrec"))
        .output()
        .expect("run irqpath");
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    let document: Value = serde_json::from_slice(&out.stdout).expect("JSON on standard output");
    let got = reduce_document(&document);
    let text = serde_json::to_string_pretty(&got).expect("JSON") + "\n";
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        std::fs::write(golden_path("demo.json"), &text).expect("write the expectation");
    }
    let want: Value = serde_json::from_slice(
        &std::fs::read(golden_path("demo.json")).expect("read the expectation"),
    )
    .expect("JSON");
    assert!(got["slow"].as_array().is_some_and(|s| s.len() > 10), "too little to compare");
    assert_eq!(got, want, "look at the difference; IRQPATH_BLESS=1 accepts it");
}
