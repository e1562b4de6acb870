// SPDX-License-Identifier: GPL-2.0-or-later
//! The columns of `samples.parquet`, and the numbers and words that labels are stored as.
//!
//! [`labels`] and [`points`] are the only list of columns; a row is a vector of [`Cell`]s in the
//! same order. Unsigned numbers are stored bit for bit in Parquet's signed types.

use irqpath_model::{Origin, PathEnd, Point, Policy, SoftirqVec, Vector};

/// Physical type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    I32,
    I64,
}

/// A column's name, type, and whether it may be null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    pub name: String,
    pub kind: Kind,
    pub nullable: bool,
    /// Parquet annotation, without the parentheses; empty for a plain signed number.
    pub annotation: &'static str,
}

const U32: &str = "INTEGER(32,false)";
const U64: &str = "INTEGER(64,false)";

fn spec(name: &str, kind: Kind, nullable: bool, annotation: &'static str) -> Spec {
    Spec { name: name.to_owned(), kind, nullable, annotation }
}

/// Columns that say what a path was.
pub(super) fn labels() -> Vec<Spec> {
    use Kind::{I32, I64, Text};
    vec![
        spec("origin_kind", Text, false, "STRING"),
        spec("origin_nr", I32, false, U32),
        spec("origin_name", Text, false, "STRING"),
        spec("via", Text, false, "STRING"),
        spec("via_bits", I32, false, U32),
        spec("target_tid", I32, false, U32),
        spec("target_tgid", I32, false, U32),
        spec("target_comm", Text, false, "STRING"),
        spec("target_prio", I32, false, ""),
        spec("target_normal_prio", I32, false, ""),
        spec("target_policy", Text, false, "STRING"),
        spec("end", Text, false, "STRING"),
        spec("timer", Text, true, "STRING"),
        spec("timer_fn", I64, false, U64),
        spec("target_cpu", I32, true, U32),
        spec("first_ns", I64, true, ""),
        spec("total_ns", I64, false, ""),
    ]
}

/// The two columns of one point: when and where.
pub(super) fn point_columns(point: Point) -> [Spec; 2] {
    let name = point.name();
    [
        spec(&format!("{name}_ns"), Kind::I64, true, ""),
        spec(&format!("{name}_cpu"), Kind::I32, true, U32),
    ]
}

/// Every column in the order of the file.
pub(super) fn all() -> Vec<Spec> {
    labels().into_iter().chain(Point::ALL.into_iter().flat_map(point_columns)).collect()
}

/// The schema in Parquet's own notation.
pub(super) fn message_type() -> String {
    let lines: Vec<String> = all()
        .iter()
        .map(|column| {
            let repetition = if column.nullable { "OPTIONAL" } else { "REQUIRED" };
            let kind = match column.kind {
                Kind::Text => "BYTE_ARRAY",
                Kind::I32 => "INT32",
                Kind::I64 => "INT64",
            };
            let annotation = match column.annotation {
                "" => String::new(),
                a => format!(" ({a})"),
            };
            format!("  {repetition} {kind} {}{annotation};\n", column.name)
        })
        .collect();
    format!("message samples {{\n{}}}", lines.concat())
}

/// Kind and number of an origin.
pub(super) fn origin_to_cells(origin: Origin) -> (&'static str, u32) {
    match origin {
        Origin::Irq(nr) => ("irq", nr),
        Origin::Vector(v) => ("vector", v as u32),
        Origin::Softirq(v) => ("softirq", v as u32),
    }
}

/// The origin of a kind and number, if there is one.
pub(super) fn origin_from_cells(kind: &str, nr: u32) -> Option<Origin> {
    match kind {
        "irq" => Some(Origin::Irq(nr)),
        "vector" => Vector::ALL.get(nr as usize).copied().map(Origin::Vector),
        "softirq" => SoftirqVec::from_nr(nr).map(Origin::Softirq),
        _ => None,
    }
}

const POLICIES: [(Policy, &str); 7] = [
    (Policy::Normal, "normal"),
    (Policy::Fifo, "fifo"),
    (Policy::Rr, "rr"),
    (Policy::Batch, "batch"),
    (Policy::Idle, "idle"),
    (Policy::Deadline, "deadline"),
    (Policy::Ext, "ext"),
];

const ENDS: [(PathEnd, &str); 4] = [
    (PathEnd::User, "user"),
    (PathEnd::SwitchIn, "switch_in"),
    (PathEnd::SleptAgain, "slept_again"),
    (PathEnd::AlreadyRunning, "already_running"),
];

fn word<T: PartialEq + Copy>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(v, _)| *v == value).map_or("", |(_, name)| name)
}

fn value<T: Copy>(table: &[(T, &'static str)], word: &str) -> Option<T> {
    table.iter().find(|(_, name)| *name == word).map(|(v, _)| *v)
}

pub(super) fn policy_to_word(policy: Policy) -> &'static str {
    word(&POLICIES, policy)
}

pub(super) fn policy_from_word(text: &str) -> Option<Policy> {
    value(&POLICIES, text)
}

pub(crate) fn end_to_word(end: PathEnd) -> &'static str {
    word(&ENDS, end)
}

pub(super) fn end_from_word(text: &str) -> Option<PathEnd> {
    value(&ENDS, text)
}
