// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON and its schema.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{meta, names, slow, summary};
use irqpath_model::{SCHEMA_VERSION, Summary};
use irqpath_report::json::{self, JsonError, SlowLine};
use irqpath_report::schema::{Kind, schema, write_schema};
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
fn a_slow_path_is_one_line_whatever_its_names() {
    let mut path = slow();
    path.record.target.comm = "a\n\"b\",c".into();
    let mut out = Vec::new();
    json::write_slow_line(&mut out, &path, &names()).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches('\n').count(), 1);
    let line: SlowLine = serde_json::from_str(&text).unwrap();
    assert_eq!((line.path, line.total_ns), (path, 813_900));
    assert_eq!(line.origin_name, "36:virtio1-req.0");
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
    for kind in Kind::ALL {
        let value = schema(kind);
        let id = format!("urn:irqpath:schema:{}:{SCHEMA_VERSION}", kind.name());
        assert_eq!(value["$id"], Value::String(id));
        assert_eq!(value["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let mut out = Vec::new();
        write_schema(&mut out, kind).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), value);
    }
    let mut out = Vec::new();
    json::write_document(&mut out, &meta(), &summary()).unwrap();
    let root = schema(Kind::Document);
    check_known(&root, &root, &serde_json::from_slice(&out).unwrap(), "");
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
