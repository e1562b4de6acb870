// SPDX-License-Identifier: GPL-2.0-or-later
//! `samples.parquet` of a measurement that has lengths and no paths: benchmarks, experiments of
//! the lab. One row per repetition, with the same version key and digest as a file of paths.

use std::io::Write;
use std::sync::Arc;

use irqpath_model::SCHEMA_VERSION;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::digest::Digesting;
use super::{DIGEST_KEY, ROW_GROUP_ROWS, SamplesError, VERSION_KEY};

const SCHEMA: &str = "message lengths {
  REQUIRED BYTE_ARRAY series (STRING);
  REQUIRED BYTE_ARRAY interval (STRING);
  REQUIRED INT32 repetition (INTEGER(32,false));
  REQUIRED INT64 length_ns (INTEGER(64,false));
}";

/// How long an interval of a series was in one repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length<'a> {
    /// What was measured: a mechanism with its conditions.
    pub series: &'a str,
    /// From what to what.
    pub interval: &'a str,
    /// Counted from 0.
    pub repetition: u32,
    /// ns.
    pub length_ns: u64,
}

/// Writes all lengths as a file and hands the output back.
pub fn write_lengths<'a, W: Write + Send>(
    out: W,
    lengths: impl IntoIterator<Item = Length<'a>>,
) -> Result<W, SamplesError> {
    let schema = parse_message_type(SCHEMA).expect("a valid Parquet schema");
    let mut file =
        SerializedFileWriter::new(Digesting::new(out), Arc::new(schema), Arc::new(properties()))
            .map_err(wrong)?;
    let mut lengths = lengths.into_iter();
    loop {
        let rows: Vec<_> = lengths.by_ref().take(ROW_GROUP_ROWS).collect();
        if rows.is_empty() {
            break;
        }
        let mut group = file.next_row_group().map_err(wrong)?;
        write_rows(&mut group, &rows).map_err(wrong)?;
        group.close().map_err(wrong)?;
    }
    file.flush().map_err(wrong)?;
    let groups: Vec<_> = file.flushed_row_groups().to_vec();
    let digest = file.inner().stored(&groups);
    file.append_key_value_metadata(KeyValue::new(DIGEST_KEY.to_owned(), digest));
    Ok(file.into_inner().map_err(wrong)?.inner)
}

fn wrong(error: impl std::fmt::Display) -> SamplesError {
    SamplesError::Write(error.to_string())
}

fn properties() -> WriterProperties {
    let version = KeyValue::new(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_string());
    let repetition = ColumnPath::from("repetition");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_created_by(format!("irqpath {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![version]))
        .set_column_dictionary_enabled(repetition.clone(), false)
        .set_column_encoding(repetition, Encoding::DELTA_BINARY_PACKED)
        .build()
}

fn write_rows<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Length<'_>],
) -> Result<(), ParquetError> {
    let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
    let column = rows.iter().map(|row| text(row.series));
    write_column::<ByteArrayType>(group, column)?;
    let column = rows.iter().map(|row| text(row.interval));
    write_column::<ByteArrayType>(group, column)?;
    let column = rows.iter().map(|row| row.repetition.cast_signed());
    write_column::<Int32Type>(group, column)?;
    let column = rows.iter().map(|row| row.length_ns.cast_signed());
    write_column::<Int64Type>(group, column)
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: impl Iterator<Item = T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("the schema has this column");
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;

    #[test]
    fn what_is_written_can_be_read_by_any_reader() {
        let rows: Vec<_> = (0..70_000)
            .map(|n| Length {
                series: if n < 3 { "softirq" } else { "workqueue" },
                interval: "bottom_half",
                repetition: n,
                length_ns: u64::from(n) * 7,
            })
            .collect();
        let bytes = write_lengths(Vec::new(), rows.iter().copied()).expect("written");
        let file = SerializedFileReader::new(Bytes::from(bytes)).expect("parquet");
        assert_eq!(file.num_row_groups(), rows.len().div_ceil(ROW_GROUP_ROWS));
        let read = file.get_row_iter(None).expect("rows").map(|row| row.expect("row"));
        let mut nr = 0;
        for (row, expected) in read.zip(&rows) {
            assert_eq!(row.get_string(0).expect("series"), expected.series);
            assert_eq!(row.get_string(1).expect("interval"), expected.interval);
            assert_eq!(row.get_uint(2).expect("repetition"), expected.repetition);
            assert_eq!(row.get_ulong(3).expect("length"), expected.length_ns);
            nr += 1;
        }
        assert_eq!(nr, rows.len());
    }

    #[test]
    fn nothing_measured_is_a_file_without_rows() {
        let bytes = write_lengths(Vec::new(), []).expect("written");
        let file = SerializedFileReader::new(Bytes::from(bytes)).expect("parquet");
        assert_eq!(file.metadata().file_metadata().num_rows(), 0);
    }
}
