// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of every earlier format are still read: `tests/golden/results/VERSION` has one of each
//! kind, as that version wrote it.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use irqpath_model::{Measured, SCHEMA_VERSION, Scheduling, Summary};
use irqpath_report::json::{read_summary, write_summary};
use serde_json::{Value, json};

fn stored(version: u32, kind: &str) -> Vec<u8> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/results");
    fs::read(root.join(format!("v{version}/{kind}.json"))).unwrap()
}

fn nr(summary: &Summary) -> (usize, usize) {
    match &summary.measured {
        Measured::Paths(paths) => (paths.paths.len(), paths.slow.len()),
        Measured::Bench { bench } => (bench.len(), 0),
        Measured::Response { response, slow } => (response.len(), slow.len()),
        Measured::Jitter { jitter } => (jitter.len(), 0),
    }
}

/// The rows of version 1 with the scheduling of paths as it is written since.
fn as_written_now(rows: &Value) -> Value {
    let mut rows = rows.clone();
    for row in rows.as_array_mut().unwrap() {
        if let Some(sched) = row.pointer_mut("/key/sched").filter(|sched| !sched.is_null()) {
            let prio = sched["prio"].as_i64().unwrap() as i16;
            let policy = serde_json::from_value(sched["policy"].take()).unwrap();
            *sched = serde_json::to_value(Scheduling::from_prio(policy, prio)).unwrap();
        }
    }
    rows
}

#[test]
fn a_result_of_version_1_is_read_and_written_with_its_kind() {
    for (file, kind) in
        [("trace", "paths"), ("bench", "bench"), ("respond", "response"), ("jitter", "jitter")]
    {
        let bytes = stored(1, file);
        let old: Value = serde_json::from_slice(&bytes).unwrap();
        let summary = read_summary(&bytes).unwrap();
        let listed = |name: &str| old[name].as_array().unwrap().len();
        let slow = if matches!(kind, "paths" | "response") { listed("slow") } else { 0 };
        assert_eq!(nr(&summary), (listed(kind), slow), "{file}");
        assert!(nr(&summary).0 > 0, "{file} has nothing in it");
        let mut out = Vec::new();
        write_summary(&mut out, &Summary { schema_version: SCHEMA_VERSION, ..summary.clone() })
            .unwrap();
        let new: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(new["kind"], kind);
        assert_eq!(new[kind], as_written_now(&old[kind]), "{file} lost something");
        for other in ["paths", "bench", "response", "jitter"].iter().filter(|o| **o != kind) {
            assert!(new.get(other).is_none(), "{file} has {other}");
        }
        let again = read_summary(&out).unwrap();
        assert_eq!(again.measured, summary.measured);
    }
}

#[test]
fn a_mixed_result_is_refused() {
    let jitter: Value = serde_json::from_slice(&stored(1, "jitter")).unwrap();
    let trace: Value = serde_json::from_slice(&stored(1, "trace")).unwrap();
    let mut mixed = trace.clone();
    mixed["jitter"] = jitter["jitter"].clone();
    let mut wrong = trace.clone();
    wrong["kind"] = json!("bench");
    let mut without = trace;
    without["schema_version"] = json!(SCHEMA_VERSION);
    for (document, part) in [
        (mixed, "more than one kind"),
        (wrong, "its kind is not"),
        (without, "missing field `kind`"),
    ] {
        let error = read_summary(&serde_json::to_vec(&document).unwrap()).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}
