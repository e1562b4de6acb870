// SPDX-License-Identifier: GPL-2.0-or-later
//! `samples.parquet`: what is written reads back equal; what is damaged is an error.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod common;

use common::{any_record, names};
use irqpath_model::{PathRecord, SCHEMA_VERSION};
use irqpath_report::parquet::{
    ROW_GROUP_ROWS, SampleReader, SampleWriter, SamplesError, read_samples,
};
use proptest::prelude::*;

fn written(records: &[PathRecord]) -> Vec<u8> {
    let mut writer = SampleWriter::new(Vec::new()).unwrap();
    for record in records {
        writer.push(record, &names()).unwrap();
    }
    assert_eq!(writer.nr_rows(), records.len() as u64);
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_reads_back_equal(records in prop::collection::vec(any_record(), 0..40)) {
        prop_assert_eq!(read_samples(written(&records)).unwrap(), records);
    }

    #[test]
    fn damage_is_an_error_or_harmless(
        records in prop::collection::vec(any_record(), 1..5),
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = written(&records);
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = read_samples(bytes) {
            prop_assert_eq!(read, records);
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    let whole = written(&[common::record()]);
    for len in 0..whole.len() {
        let error = read_samples(whole[..len].to_vec()).unwrap_err();
        assert!(matches!(error, SamplesError::Corrupt(_)), "{len}: {error}");
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
    let bytes = bytes::Bytes::from(written(&records));
    let reader = SampleReader::new(bytes).unwrap();
    assert_eq!(reader.nr_rows(), records.len() as u64);
    for (i, row) in reader.enumerate() {
        assert_eq!(row.unwrap().target.tid, i as u32);
    }
}

#[test]
fn a_newer_file_names_both_versions() {
    let mut bytes = written(&[]);
    let key = b"irqpath.schema_version";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    let digit = bytes[at..].iter().position(u8::is_ascii_digit).unwrap() + at;
    bytes[digit] = b'9';
    match read_samples(bytes).unwrap_err() {
        SamplesError::Newer { found: 9, supported } => assert_eq!(supported, SCHEMA_VERSION),
        other => panic!("{other}"),
    }
}

#[test]
fn a_parquet_file_of_another_program_is_named_as_such() {
    let mut bytes = written(&[]);
    let key = b"irqpath.schema_version";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap();
    bytes[at] = b'x';
    assert!(matches!(read_samples(bytes).unwrap_err(), SamplesError::Foreign));
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
    let result = SampleWriter::new(Full).and_then(|mut writer| {
        writer.push(&common::record(), &names())?;
        writer.finish()
    });
    assert!(matches!(result.err().unwrap(), SamplesError::Write(_)));
}
