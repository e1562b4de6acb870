// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON and its schema.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{meta, summary};
use irqpath_model::{
    SCHEMA_VERSION, Scheduling, Summary, TaskId, change, policy, record, shield, tune,
};
use irqpath_report::json::{self, JsonError};
use irqpath_report::schema::{Kind, document_schema, write_schema};
use proptest::prelude::*;
use serde_json::Value;

#[test]
fn documents_read_back_equal() {
    let mut out = Vec::new();
    json::write_document(&mut out, &meta(), &summary()).unwrap();
    let read = json::read_document(&out).unwrap();
    let mut printable = meta();
    printable.names.irqs.insert(40, r#"a,b "quoted"\ and\nnewline"#.to_owned());
    assert_eq!(json::printable_meta(&meta()).unwrap(), printable);
    assert_eq!((read.meta, read.summary), (printable.clone(), summary()));
    let mut out = Vec::new();
    json::write_meta(&mut out, &meta()).unwrap();
    assert_eq!(json::read_meta(&out).unwrap(), printable);
    let mut out = Vec::new();
    json::write_summary(&mut out, &summary()).unwrap();
    assert_eq!(json::read_summary(&out).unwrap(), summary());
}

#[test]
fn newer_and_damaged_documents_are_told_apart() {
    let newer = format!(r#"{{"schema_version":{},"unknown":1}}"#, SCHEMA_VERSION + 1);
    match json::read_summary(newer.as_bytes()).unwrap_err() {
        JsonError::Newer { found, .. } => assert_eq!(found, SCHEMA_VERSION + 1),
        other @ JsonError::Corrupt { .. } => panic!("{other}"),
    }
    for damaged in ["", "{", "[]", "{}", r#"{"schema_version":1}"#, r#"{"schema_version":"x"}"#] {
        let error = json::read_summary(damaged.as_bytes()).unwrap_err();
        assert!(matches!(error, JsonError::Corrupt { .. }), "{damaged}: {error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

/// The schema itself, those that it refers to, and the variant that a value is of.
fn parts<'a>(root: &'a Value, schema: &'a Value, value: &Value) -> Vec<&'a Value> {
    let mut parts = vec![schema];
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let definition = &root["$defs"][name.rsplit('/').next().unwrap()];
        parts.extend(self::parts(root, definition, value));
    }
    let variants = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let is_of = |variant: &&Value| variant["properties"]["kind"]["const"] == value["kind"];
    for variant in variants.filter(is_of) {
        parts.extend(self::parts(root, variant, value));
    }
    parts
}

/// Every key of `value` is a property that `schema` knows, down to the leaves of objects.
fn check_known(root: &Value, schema: &Value, value: &Value, at: &str) {
    let parts = parts(root, schema, value);
    match value {
        Value::Object(map) => {
            let properties: Vec<&Value> =
                parts.iter().filter_map(|s| s.get("properties")).collect();
            if properties.is_empty() {
                return;
            }
            for (key, value) in map {
                let known = properties.iter().find_map(|properties| properties.get(key));
                let known = known.unwrap_or_else(|| panic!("{at}/{key} is not in the schema"));
                check_known(root, known, value, &format!("{at}/{key}"));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = parts.iter().find_map(|schema| schema.get("items")) {
                for item in items {
                    check_known(root, schema, item, at);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn schemas_carry_their_version_and_know_what_is_written() {
    for &kind in Kind::ALL {
        let value = document_schema(kind);
        let id = format!("urn:irqpath:schema:{}:{SCHEMA_VERSION}", kind.name());
        assert_eq!(value["$id"], Value::String(id));
        assert_eq!(value["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let mut out = Vec::new();
        write_schema(&mut out, kind).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), value);
        let definitions = value["$defs"].as_object().unwrap();
        let twin = definitions.keys().find(|name| name.ends_with(|c: char| c.is_ascii_digit()));
        assert_eq!(twin, None, "two types of one name in {}", kind.name());
    }
}

fn record_document() -> record::Recorded {
    let capture = record::Capture { nr: 1, trigger: "signal".to_owned(), ..Default::default() };
    let directory = "captures/0001-signal".to_owned();
    let written = record::Written { directory, capture, nr_bytes: 1 << 20, took_ns: 3 };
    record::Recorded {
        schema_version: SCHEMA_VERSION,
        captures: vec![written],
        triggers: [("signal".to_owned(), 1)].into(),
        ..record::Recorded::default()
    }
}

/// Documents of each kind as they are written.
fn written() -> Vec<(Kind, Value)> {
    let mut document = Vec::new();
    json::write_document(&mut document, &meta(), &summary()).unwrap();
    let task = TaskId { tid: 40, start_ticks: 7 };
    let left = change::Left {
        target: change::Target::TaskScheduling { task },
        label: "task 40 (jackd)".to_owned(),
        original: change::Value::Scheduling(Scheduling::other(-5)),
        reason: change::LeftReason::ChangedMeanwhile {
            found: change::Value::Scheduling(Scheduling::rr(3)),
            ours: change::Value::Scheduling(Scheduling::fifo(81)),
        },
    };
    let undone = change::Undone { restored: 1, left: vec![left], ..change::Undone::default() };
    let reset = shield::Reset { undone: undone.clone(), ..shield::Reset::default() };
    let shield = shield::Document {
        reset: Some(reset),
        measured: Some(shield::Measured::default()),
        ..shield::Document::default()
    };
    let thread = tune::LiveThread {
        id: task,
        comm: "irq/24-sound".to_owned(),
        kernel: true,
        scheduling: Scheduling::fifo(50),
    };
    let left = tune::LeftThread { thread: thread.clone(), why: tune::LeftAlone::SetByHand };
    let plan = tune::TunePlan { take_back: vec![thread], left: vec![left], ..Default::default() };
    let tune = tune::Document {
        plan: Some(plan),
        reset: Some(tune::Reset { undone, ..tune::Reset::default() }),
        ..tune::Document::default()
    };
    let known = policy::KernelPolicy { name: "learn".to_owned(), ..Default::default() };
    let policy = policy::Document { policies: Some(vec![known]), ..policy::Document::default() };
    vec![
        (Kind::Document, serde_json::from_slice(&document).unwrap()),
        (Kind::Shield, serde_json::to_value(&shield).unwrap()),
        (Kind::Tune, serde_json::to_value(&tune).unwrap()),
        (Kind::Policy, serde_json::to_value(&policy).unwrap()),
        (Kind::Record, serde_json::to_value(record_document()).unwrap()),
    ]
}

#[test]
fn what_is_written_is_valid_and_a_wrong_type_is_not() {
    for (kind, document) in written() {
        let root = document_schema(kind);
        let validator = jsonschema::validator_for(&root).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{}", kind.name());
        check_known(&root, &root, &document, "");
        let mut wrong = document.clone();
        let first = wrong.as_object_mut().unwrap().values_mut().next().unwrap();
        *first = serde_json::json!([["no such thing"]]);
        assert!(!validator.is_valid(&wrong), "{}: {wrong}", kind.name());
    }
}

#[test]
fn empty_input_is_a_complete_document() {
    let mut out = Vec::new();
    json::write_summary(&mut out, &Summary::default()).unwrap();
    assert_eq!(json::read_summary(&out).unwrap(), Summary::default());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = json::read_document(&bytes);
        let _ = json::read_meta(&bytes);
    }
}
