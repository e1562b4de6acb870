// SPDX-License-Identifier: GPL-2.0-or-later
//! The tables and their columns, and the numbers and words that labels are stored as.
//!
//! A row is a vector of cells in the order of [`Table::columns`]. Unsigned numbers are stored bit
//! for bit in Parquet's signed types.

use std::borrow::Cow;

use irqpath_model::{Origin, Point};
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};

use super::TABLES_VERSION;

/// A table; its name is that of its file in a result, and of its directory in a merged campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// Every path that was traced.
    Paths,
    /// The length of every repetition in the lab.
    Lengths,
    /// Merged: every run.
    Runs,
    /// Merged: every histogram, without its buckets.
    Histograms,
    /// Merged: the occupied buckets of the histograms.
    Buckets,
}

/// Physical type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// UTF-8.
    Text,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
}

/// A column's name, type, and whether it may be null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spec {
    /// Name of the column.
    pub name: Cow<'static, str>,
    /// Type of the values.
    pub kind: Kind,
    /// True if a value may be absent.
    pub nullable: bool,
    /// What a value says.
    pub meaning: &'static str,
}

/// A table as `irqpath schema tables` prints it.
#[derive(Debug, Serialize)]
pub struct Description {
    table: Table,
    /// What a row is.
    row: &'static str,
    columns: Vec<Spec>,
}

/// All tables.
#[derive(Debug, Serialize)]
pub struct Tables {
    schema_version: u32,
    tables: Vec<Description>,
}

/// Lists every table with its columns.
pub fn describe_tables() -> Tables {
    let describe =
        |&table: &Table| Description { table, row: table.row(), columns: table.columns() };
    Tables {
        schema_version: TABLES_VERSION,
        tables: Table::VARIANTS.iter().map(describe).collect(),
    }
}

const fn column(name: &'static str, kind: Kind, nullable: bool, meaning: &'static str) -> Spec {
    Spec { name: Cow::Borrowed(name), kind, nullable, meaning }
}

const NEVER: bool = false;
const NULL: bool = true;

/// The columns that every table begins with.
const RUN: [Spec; 5] = [
    column("host", Kind::Text, NEVER, "name of the host"),
    column("boot_id", Kind::Text, NEVER, "its boot; empty in older results"),
    column(
        "run_id",
        Kind::Text,
        NEVER,
        "the measurement; the same in every exact run of the same inputs",
    ),
    column("commit", Kind::Text, NEVER, "revision under test; empty if unknown"),
    column("kernel", Kind::Text, NEVER, "uname -r of the kernel that was measured"),
];

const PATHS: [Spec; 17] = [
    column("origin_kind", Kind::Text, NEVER, "irq, vector or softirq"),
    column("origin_nr", Kind::U32, NEVER, "its number"),
    column("origin_name", Kind::Text, NEVER, "its name: 36:virtio1-req.0"),
    column("via", Kind::Text, NEVER, "what the path went through: thread+net_rx"),
    column("via_bits", Kind::U32, NEVER, "the same as bits"),
    column("target_tid", Kind::U32, NEVER, "thread that was woken"),
    column("target_tgid", Kind::U32, NEVER, "its process"),
    column("target_comm", Kind::Text, NEVER, "its name"),
    column("target_prio", Kind::I32, NEVER, "its priority as the kernel keeps it, with a boost"),
    column("target_normal_prio", Kind::I32, NEVER, "the same without a boost"),
    column("target_policy", Kind::Text, NEVER, "its scheduling policy"),
    column(
        "end",
        Kind::Text,
        NEVER,
        "how the path ended: user, switch_in, slept_again, already_running",
    ),
    column("timer", Kind::Text, NULL, "function of the timer that expired"),
    column("timer_fn", Kind::U64, NEVER, "address of that function; 0 without one"),
    column("target_cpu", Kind::U32, NULL, "CPU on which the target ran"),
    column("first_ns", Kind::I64, NULL, "first stamp, CLOCK_MONOTONIC"),
    column("total_ns", Kind::I64, NEVER, "first stamp to last"),
];

const LENGTHS: [Spec; 6] = [
    column("experiment", Kind::Text, NEVER, "experiment of the lab; empty in older results"),
    column("variant", Kind::Text, NEVER, "its variant; empty in older results"),
    column("series", Kind::Text, NEVER, "what was measured: a mechanism with its conditions"),
    column("interval", Kind::Text, NEVER, "from what to what"),
    column("repetition", Kind::U32, NEVER, "number of the repetition, from 0"),
    column("length_ns", Kind::U64, NEVER, "its length; in an exact run, instructions"),
];

const RUNS: [Spec; 9] = [
    column("kind", Kind::Text, NEVER, "paths, bench, response or jitter"),
    column("started_at", Kind::Text, NEVER, "RFC 3339, UTC"),
    column("duration_ns", Kind::U64, NEVER, "length of the measurement"),
    column("source", Kind::Text, NEVER, "live, a recording, or the lab"),
    column("is_exact", Kind::U32, NEVER, "1 if one instruction was one nanosecond"),
    column("irqpath_version", Kind::Text, NEVER, "what measured"),
    column("nr_lost", Kind::U64, NEVER, "events that were lost or could not be joined"),
    column("nr_rows", Kind::U64, NEVER, "rows of this run in paths and lengths"),
    column("directory", Kind::Text, NEVER, "the result directory as it was given"),
];

const HISTOGRAMS: [Spec; 11] = [
    column("kind", Kind::Text, NEVER, "paths, bench, response or jitter"),
    column("origin", Kind::Text, NEVER, "interrupt, series or test"),
    column("via", Kind::Text, NEVER, "what paths went through; else empty"),
    column("target", Kind::Text, NEVER, "name of the task that was woken; else empty"),
    column("sched", Kind::Text, NEVER, "its policy and priority: f:90; empty if unknown"),
    column("stage", Kind::Text, NEVER, "total, or the point that ends the stage"),
    column("nr_runs", Kind::U64, NEVER, "runs that were added up in this row"),
    column("min_ns", Kind::U64, NEVER, "shortest time, exact"),
    column("max_ns", Kind::U64, NEVER, "longest time, exact"),
    column("sum_ns", Kind::U64, NEVER, "sum of the times, exact"),
    column("nr_overflow", Kind::U64, NEVER, "times too long for a bucket"),
];

const BUCKETS: [Spec; 3] = [
    column("low_ns", Kind::U64, NEVER, "lowest time that counts here"),
    column("high_ns", Kind::U64, NEVER, "highest time that counts here"),
    column("n", Kind::U64, NEVER, "how many times"),
];

/// How many columns of [`HISTOGRAMS`] say what a histogram is of; buckets have them, too.
pub const HISTOGRAM_LABELS: usize = 6;

impl Table {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its file in a result directory.
    pub fn file_name(self) -> String {
        format!("{}.parquet", self.name())
    }

    const fn row(self) -> &'static str {
        match self {
            Self::Paths => "a path that was traced",
            Self::Lengths => "an interval of a repetition in the lab",
            Self::Runs => "a run that was merged",
            Self::Histograms => "a histogram, added up over the runs of a host",
            Self::Buckets => "a bucket of such a histogram; rows of equal labels add up",
        }
    }

    /// Its columns without those of the run.
    pub fn own_columns(self) -> Vec<Spec> {
        match self {
            Self::Paths => {
                let points = Point::ALL.iter().copied().flat_map(point_columns);
                PATHS.into_iter().chain(points).collect()
            }
            Self::Lengths => LENGTHS.to_vec(),
            Self::Runs => RUNS.to_vec(),
            Self::Histograms => HISTOGRAMS.to_vec(),
            Self::Buckets => HISTOGRAMS.into_iter().take(HISTOGRAM_LABELS).chain(BUCKETS).collect(),
        }
    }

    /// Its columns in the order of the file.
    pub fn columns(self) -> Vec<Spec> {
        RUN.into_iter().chain(self.own_columns()).collect()
    }

    /// The schema in Parquet's own notation.
    pub(super) fn message_type(self) -> String {
        let lines: Vec<String> = self.columns().iter().map(Spec::message_line).collect();
        format!("message {} {{\n{}}}", self.name(), lines.concat())
    }
}

impl Spec {
    fn message_line(&self) -> String {
        let repetition = if self.nullable { "OPTIONAL" } else { "REQUIRED" };
        let (kind, annotation) = match self.kind {
            Kind::Text => ("BYTE_ARRAY", " (STRING)"),
            Kind::I32 => ("INT32", ""),
            Kind::I64 => ("INT64", ""),
            Kind::U32 => ("INT32", " (INTEGER(32,false))"),
            Kind::U64 => ("INT64", " (INTEGER(64,false))"),
        };
        format!("  {repetition} {kind} {}{annotation};\n", self.name)
    }

    /// True where values rise or differ by little: a dictionary only costs.
    pub(super) fn is_delta_encoded(&self) -> bool {
        matches!(self.kind, Kind::I64 | Kind::U64) && self.name != "length_ns"
            || self.name == "repetition"
    }
}

/// The two columns of one point: when and where.
fn point_columns(point: Point) -> [Spec; 2] {
    let name = point.name();
    let named = |suffix, kind, meaning| Spec {
        name: Cow::Owned(format!("{name}_{suffix}")),
        kind,
        nullable: true,
        meaning,
    };
    [
        named("ns", Kind::I64, "when the path reached the point, CLOCK_MONOTONIC"),
        named("cpu", Kind::U32, "on which CPU"),
    ]
}

/// Kind and number of an origin.
pub(super) fn origin_to_cells(origin: Origin) -> (&'static str, u32) {
    match origin {
        Origin::Irq(nr) => ("irq", nr),
        Origin::Vector(v) => ("vector", v as u32),
        Origin::Softirq(v) => ("softirq", v as u32),
    }
}
