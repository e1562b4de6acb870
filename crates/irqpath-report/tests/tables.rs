// SPDX-License-Identifier: GPL-2.0-or-later
//! Tables are read back, whichever version wrote them, and damaged ones are refused.
//!
//! `IRQPATH_BLESS=1 cargo test --locked -p irqpath-report --test tables` accepts a change of the
//! columns. A column that went or changed its type raises `TABLES_VERSION`.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests

mod common;

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use common::{names, record};
use irqpath_model::RunIdentity;
use irqpath_report::json::write_pretty;
use irqpath_report::parquet::tables::describe_tables;
use irqpath_report::parquet::{
    Length, LengthLabels, ReadError, SampleWriter, Table, TableReader, TableWriter, is_guarded,
    write_lengths,
};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};

const LABELS: LengthLabels<'_> = LengthLabels { experiment: "ihm-net", variant: "rt" };

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn run() -> RunIdentity {
    RunIdentity { host: "tiger".to_owned(), run_id: "77aa".to_owned(), ..RunIdentity::default() }
}

fn rows(bytes: Vec<u8>) -> Vec<Row> {
    let file = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    file.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

/// The rows of a file as a campaign has them.
fn copied(bytes: Vec<u8>) -> Vec<Row> {
    let reader = TableReader::open(Bytes::from(bytes)).unwrap();
    let mut out = TableWriter::for_runs(Vec::new(), reader.table(), 100).unwrap();
    let nr_rows = reader.check_rows().unwrap();
    assert_eq!(reader.copy_rows(&run(), LABELS, &mut out).unwrap(), nr_rows);
    rows(out.finish().unwrap())
}

fn total(rows: &[Row], name: &str) -> i64 {
    let value = |row: &Row| match row.get_column_iter().find(|(n, _)| *n == name).unwrap().1 {
        Field::Long(v) => *v,
        Field::ULong(v) => v.cast_signed(),
        other => panic!("{other}"),
    };
    rows.iter().map(value).sum()
}

fn paths(nr: u64) -> Vec<u8> {
    let mut writer = SampleWriter::new(Vec::new(), &run()).unwrap();
    for i in 0..nr {
        let mut record = record();
        record.target.tid = 1000 + i as u32;
        if i % 3 == 0 {
            record.stamps[0] = None;
        }
        writer.push(&record, &names()).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn copied_rows_are_the_rows() {
    let bytes = paths(250);
    assert_eq!(copied(bytes.clone()), rows(bytes));
    let lengths = (0..250).map(|n| Length {
        series: "a",
        interval: "b",
        repetition: n,
        length_ns: u64::from(n) << 40,
    });
    let bytes = write_lengths(Vec::new(), &run(), LABELS, lengths).unwrap();
    assert_eq!(copied(bytes.clone()), rows(bytes));
}

#[test]
fn tables_of_version_2_are_read() {
    let bytes = fs::read(golden("results/v2/paths.parquet")).unwrap();
    let (old, new) = (rows(bytes.clone()), copied(bytes));
    assert_eq!((old.len(), total(&new, "total_ns")), (new.len(), total(&old, "total_ns")));
    assert!(new.len() > 1000, "{}", new.len());
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(
            new.get_column_iter().skip(5).collect::<Vec<_>>(),
            old.get_column_iter().collect::<Vec<_>>()
        );
    }
    let bytes = fs::read(golden("results/v2/lengths.parquet")).unwrap();
    let (old, new) = (rows(bytes.clone()), copied(bytes));
    assert_eq!((old.len(), total(&new, "length_ns")), (400, total(&old, "length_ns")));
    for (_, label) in new.iter().map(|row| (row, row.get_column_iter().nth(5).unwrap().1)) {
        assert_eq!(label, &Field::Str("ihm-net".to_owned()));
    }
}

#[test]
fn a_column_that_goes_or_changes_is_noticed() {
    let mut text = Vec::new();
    write_pretty(&mut text, &describe_tables()).unwrap();
    let path = golden("tables.json");
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read(&path).unwrap();
    assert!(expected == text, "the columns of the tables have changed; see the top of this file");
}

#[test]
fn the_columns_of_the_run_cost_little() {
    let lengths = || {
        (0..100_000).map(|n| Length {
            series: "softirq, load 256",
            interval: "bottom_half",
            repetition: n,
            length_ns: 9000 + u64::from(n % 977) * u64::from(n % 31),
        })
    };
    let long = RunIdentity {
        host: "h".repeat(64),
        boot_id: "b".repeat(36),
        run_id: "r".repeat(38),
        commit: "c".repeat(40),
        kernel: "k".repeat(64),
    };
    let size = |run: &RunIdentity| write_lengths(Vec::new(), run, LABELS, lengths()).unwrap().len();
    let more = size(&long) - size(&RunIdentity::default());
    println!("{more} bytes more for 100 000 rows, of {} in all", size(&long));
    assert!(more < 30_000, "{more} bytes for 100 000 rows");
}

fn refusal(bytes: Vec<u8>) -> Option<String> {
    let read = TableReader::open(Bytes::from(bytes)).and_then(|reader| reader.check_rows());
    let error = read.err()?.to_string();
    assert!(!error.contains('\n'), "{error}");
    Some(error)
}

#[test]
fn a_table_that_is_cut_is_refused_wherever_it_is_cut() {
    let bytes = paths(40);
    for cut in (0..bytes.len()).step_by(17) {
        assert!(refusal(bytes[..cut].to_vec()).is_some(), "{cut}");
    }
}

#[test]
fn a_changed_byte_is_refused_or_read_and_never_ends_the_process() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_guarded() {
            hook(info);
        }
    }));
    let bytes = paths(40);
    let mut nr_refused = 0;
    // A prime step meets every kind of byte; all of them take a minute.
    for at in (0..bytes.len()).step_by(23) {
        for bit in [1, 0x80] {
            let mut bytes = bytes.clone();
            bytes[at] ^= bit;
            nr_refused += usize::from(refusal(bytes).is_some());
        }
    }
    assert!(nr_refused > bytes.len() / 40, "{nr_refused} of {}", bytes.len());
}

#[test]
fn another_table_and_a_newer_one_are_named() {
    let other = TableWriter::for_runs(Vec::new(), Table::Runs, 1).unwrap().finish().unwrap();
    assert!(refusal(other).unwrap().contains("neither of paths nor of lengths"));
    let mut newer = paths(1);
    let key = b"irqpath.schema_version";
    let at = newer.windows(key.len()).rposition(|w| w == key).unwrap() + key.len();
    let digit = at + newer[at..].iter().position(|byte| *byte == b'3').unwrap();
    newer[digit] = b'9';
    let read = TableReader::open(Bytes::from(newer));
    assert!(matches!(read.err().unwrap(), ReadError::Newer { found: 9 }));
    assert!(refusal(b"PAR1\xff\xff\xff\xffPAR1".to_vec()).unwrap().contains("a footer of more"));
    assert!(refusal(Vec::new()).unwrap().contains("too short"));
}
