// SPDX-License-Identifier: GPL-2.0-or-later
//! `paths.parquet`: whatever reads Parquet finds what was written.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use bytes::Bytes;
use common::{any_record, names};
use irqpath_model::{Origin, PathRecord, Point, RunIdentity};
use irqpath_report::parquet::{ROW_GROUP_ROWS, SampleWriter, TABLES_VERSION, VERSION_KEY};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;

fn run() -> RunIdentity {
    RunIdentity {
        host: "tiger".to_owned(),
        boot_id: "0d3f".to_owned(),
        run_id: "77aa".to_owned(),
        commit: "fa7233a".to_owned(),
        kernel: "6.12.1-rt".to_owned(),
    }
}

fn written(records: &[PathRecord]) -> SerializedFileReader<Bytes> {
    let mut writer = SampleWriter::new(Vec::new(), &run()).unwrap();
    for record in records {
        writer.push(record, &names()).unwrap();
    }
    assert_eq!(writer.nr_rows(), records.len() as u64);
    SerializedFileReader::new(Bytes::from(writer.finish().unwrap())).unwrap()
}

fn rows(file: &SerializedFileReader<Bytes>) -> Vec<Row> {
    file.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(column, _)| *column == name).unwrap().1
}

/// A value that may be absent.
fn optional<T>(value: Option<T>, field: fn(T) -> Field) -> Field {
    value.map_or(Field::Null, field)
}

fn expected(record: &PathRecord) -> Vec<(String, Field)> {
    let text = |words: &'static str| Field::Str(words.to_owned());
    let (kind, nr) = match record.origin {
        Origin::Irq(nr) => ("irq", nr),
        Origin::Vector(vector) => ("vector", vector as u32),
        Origin::Softirq(vec) => ("softirq", vec as u32),
    };
    let switched_in = record.stamps[Point::SwitchIn.index()].or_else(|| record.last());
    let target = &record.target;
    let symbol = (record.timer_fn != 0).then(|| names().symbol(record.timer_fn));
    let mut fields: Vec<_> = [
        ("host", text("tiger")),
        ("boot_id", text("0d3f")),
        ("run_id", text("77aa")),
        ("commit", text("fa7233a")),
        ("kernel", text("6.12.1-rt")),
        ("origin_kind", text(kind)),
        ("origin_nr", Field::UInt(nr)),
        ("origin_name", Field::Str(names().origin(record.origin))),
        ("via", Field::Str(record.via.describe())),
        ("via_bits", Field::UInt(record.via.bits())),
        ("target_tid", Field::UInt(target.tid)),
        ("target_tgid", Field::UInt(target.tgid)),
        ("target_comm", Field::Str(target.comm.as_str().to_owned())),
        ("target_prio", Field::Int(target.prio.into())),
        ("target_normal_prio", Field::Int(target.normal_prio.into())),
        ("target_policy", text(target.policy.into())),
        ("end", text(record.end.into())),
        ("timer", optional(symbol, Field::Str)),
        ("timer_fn", Field::ULong(record.timer_fn)),
        ("target_cpu", optional(switched_in.map(|s| s.cpu.into()), Field::UInt)),
        ("first_ns", optional(record.first().map(|s| s.ns.cast_signed()), Field::Long)),
        ("total_ns", Field::Long(record.total_ns().cast_signed())),
    ]
    .map(|(name, field)| (name.to_owned(), field))
    .into();
    for (point, stamp) in Point::ALL.iter().zip(record.stamps) {
        let (ns, cpu) = (stamp.map(|s| s.ns.cast_signed()), stamp.map(|s| s.cpu.into()));
        fields.push((format!("{point}_ns"), optional(ns, Field::Long)));
        fields.push((format!("{point}_cpu"), optional(cpu, Field::UInt)));
    }
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_reads_back_equal(records in prop::collection::vec(any_record(), 0..40)) {
        let rows = rows(&written(&records));
        prop_assert_eq!(rows.len(), records.len());
        for (row, record) in rows.iter().zip(&records) {
            for (name, value) in expected(record) {
                prop_assert_eq!(field(row, &name), &value, "{}", name);
            }
        }
    }
}

#[test]
fn row_groups_join_seamlessly() {
    let mut records = Vec::new();
    for i in 0..ROW_GROUP_ROWS + 3 {
        let mut record = common::record();
        record.target.tid = i as u32;
        records.push(record);
    }
    let file = written(&records);
    assert_eq!(file.num_row_groups(), 2);
    for (row, tid) in rows(&file).iter().zip(0..) {
        assert_eq!(field(row, "target_tid"), &Field::UInt(tid));
    }
}

#[test]
fn a_file_says_which_version_it_has() {
    let file = written(&[]);
    let pairs = file.metadata().file_metadata().key_value_metadata().unwrap();
    let version = pairs.iter().find(|pair| pair.key == VERSION_KEY).unwrap();
    assert_eq!(version.value, Some(TABLES_VERSION.to_string()));
}

#[test]
fn a_full_disk_is_a_write_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let result = SampleWriter::new(Full, &run()).and_then(|mut writer| {
        writer.push(&common::record(), &names())?;
        writer.finish()
    });
    assert!(result.err().unwrap().to_string().starts_with("cannot write the samples"));
}
