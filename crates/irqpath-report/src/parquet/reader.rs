// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads `samples.parquet` back, one row group at a time.
//!
//! Columns are found by name and checked before anything is decoded: a file may come from
//! anywhere, and whatever is wrong with it must be an error with a reason. Columns that this
//! version does not know are ignored.

use std::collections::HashMap;

use bytes::Bytes;
use irqpath_model::{Comm, PathRecord, Point, SCHEMA_VERSION, Stamp, Task, Via};
use parquet::basic::{Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use super::columns::{self, Kind};
use super::digest;
use super::{DIGEST_KEY, SamplesError, VERSION_KEY};

/// Values decoded at a time; bounds what a damaged row count can make us allocate.
const BATCH: usize = 4096;

fn corrupt(error: impl std::fmt::Display) -> SamplesError {
    SamplesError::Corrupt(error.to_string())
}

/// Every record of a file held in memory.
pub fn read_samples(bytes: impl Into<Bytes>) -> Result<Vec<PathRecord>, SamplesError> {
    SampleReader::new(bytes.into())?.collect()
}

/// The records of a file (`std::fs::File`) or of bytes (`bytes::Bytes`), in the order written.
/// After an error it ends.
pub struct SampleReader<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    next_group: usize,
    rows: std::vec::IntoIter<PathRecord>,
}

impl<R: ChunkReader + 'static> SampleReader<R> {
    /// Open, and check version and columns.
    pub fn new(input: R) -> Result<Self, SamplesError> {
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).map_err(corrupt)?;
        check_version(metadata.file_metadata())?;
        check_columns(metadata.file_metadata())?;
        check_ranges(&metadata, input.len())?;
        check_digest(&metadata, &input)?;
        let file = SerializedFileReader::new(input).map_err(corrupt)?;
        Ok(Self { file, next_group: 0, rows: Vec::new().into_iter() })
    }

    /// Number of records, by the footer.
    pub fn nr_rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    fn read_group(&mut self) -> Result<(), SamplesError> {
        let group = self.file.get_row_group(self.next_group).map_err(corrupt)?;
        self.next_group += 1;
        self.rows = Group::read(group.as_ref())?.rows()?.into_iter();
        Ok(())
    }
}

impl<R: ChunkReader + 'static> Iterator for SampleReader<R> {
    type Item = Result<PathRecord, SamplesError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.rows.next() {
                return Some(Ok(row));
            }
            if self.next_group >= self.file.num_row_groups() {
                return None;
            }
            if let Err(error) = self.read_group() {
                self.next_group = usize::MAX;
                return Some(Err(error));
            }
        }
    }
}

fn stored<'a>(metadata: &'a FileMetaData, key: &str) -> Option<&'a str> {
    let pairs = metadata.key_value_metadata()?;
    pairs.iter().find(|p| p.key == key)?.value.as_deref()
}

fn check_version(metadata: &FileMetaData) -> Result<(), SamplesError> {
    let text = stored(metadata, VERSION_KEY).ok_or(SamplesError::Foreign)?;
    let found: u32 = text.parse().map_err(|_| corrupt(format!("{VERSION_KEY} is '{text}'")))?;
    if found > SCHEMA_VERSION {
        return Err(SamplesError::Newer { found, supported: SCHEMA_VERSION });
    }
    Ok(())
}

fn check_digest<R: ChunkReader>(metadata: &ParquetMetaData, input: &R) -> Result<(), SamplesError> {
    let stored = stored(metadata.file_metadata(), DIGEST_KEY)
        .ok_or_else(|| corrupt(format!("{DIGEST_KEY} is absent")))?;
    let pages = input.get_read(0).map_err(corrupt)?;
    if digest::matches(stored, metadata.row_groups(), pages).map_err(corrupt)? {
        Ok(())
    } else {
        Err(corrupt("its digest does not match"))
    }
}

fn check_columns(metadata: &FileMetaData) -> Result<(), SamplesError> {
    let schema = metadata.schema_descr();
    for want in columns::all() {
        let physical = match want.kind {
            Kind::Text => Physical::BYTE_ARRAY,
            Kind::I32 => Physical::INT32,
            Kind::I64 => Physical::INT64,
        };
        let column = schema
            .columns()
            .iter()
            .find(|c| c.path().parts().len() == 1 && c.name() == want.name)
            .ok_or_else(|| corrupt(format!("the column {} is absent", want.name)))?;
        let repeated = column.self_type().get_basic_info().repetition() == Repetition::REPEATED;
        if column.physical_type() != physical || repeated {
            return Err(corrupt(format!("the column {} has another type", want.name)));
        }
    }
    Ok(())
}

/// The Parquet library asserts that column chunks lie where a file can have them; a damaged footer
/// may say otherwise.
fn check_ranges(metadata: &ParquetMetaData, len: u64) -> Result<(), SamplesError> {
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let inside = start >= 0
            && column.data_page_offset() >= 0
            && column.compressed_size() >= 0
            && end.and_then(|e| u64::try_from(e).ok()).is_some_and(|e| e <= len);
        if !inside || column.num_values() < 0 {
            return Err(corrupt("a column lies outside the file"));
        }
    }
    Ok(())
}

/// Times and CPUs of one point.
type PointColumns = (Vec<Option<i64>>, Vec<Option<i32>>);

/// One row group, decoded column by column.
struct Group {
    texts: HashMap<String, Vec<Option<ByteArray>>>,
    i32s: HashMap<String, Vec<Option<i32>>>,
    i64s: HashMap<String, Vec<Option<i64>>>,
    /// Time and CPU of every point, taken out of the maps.
    points: Vec<PointColumns>,
    nr_rows: usize,
}

impl Group {
    fn read(group: &dyn RowGroupReader) -> Result<Self, SamplesError> {
        let nr_rows = usize::try_from(group.metadata().num_rows()).map_err(corrupt)?;
        let mut this = Self {
            texts: HashMap::new(),
            i32s: HashMap::new(),
            i64s: HashMap::new(),
            points: Vec::new(),
            nr_rows,
        };
        let wanted: HashMap<String, Kind> =
            columns::all().into_iter().map(|c| (c.name, c.kind)).collect();
        for index in 0..group.num_columns() {
            let column = group.metadata().column(index).column_descr_ptr();
            let name = column.name().to_owned();
            if column.path().parts().len() != 1 || !wanted.contains_key(&name) {
                continue;
            }
            let nullable = column.max_def_level() > 0;
            match group.get_column_reader(index).map_err(corrupt)? {
                ColumnReader::ByteArrayColumnReader(r) => {
                    this.texts.insert(name, values(r, nr_rows, nullable)?);
                }
                ColumnReader::Int32ColumnReader(r) => {
                    this.i32s.insert(name, values(r, nr_rows, nullable)?);
                }
                ColumnReader::Int64ColumnReader(r) => {
                    this.i64s.insert(name, values(r, nr_rows, nullable)?);
                }
                _ => return Err(corrupt(format!("the column {name} has another type"))),
            }
        }
        for [ns, cpu] in Point::ALL.map(columns::point_columns) {
            let times = this.i64s.remove(&ns.name).unwrap_or_default();
            let cpus = this.i32s.remove(&cpu.name).unwrap_or_default();
            this.points.push((times, cpus));
        }
        Ok(this)
    }

    fn rows(&self) -> Result<Vec<PathRecord>, SamplesError> {
        (0..self.nr_rows).map(|row| self.row(row)).collect()
    }

    fn i32(&self, name: &str, row: usize) -> Result<Option<i32>, SamplesError> {
        get(&self.i32s, name, row)
    }

    fn i64(&self, name: &str, row: usize) -> Result<Option<i64>, SamplesError> {
        get(&self.i64s, name, row)
    }

    fn text(&self, name: &str, row: usize) -> Result<String, SamplesError> {
        let value = required(get(&self.texts, name, row)?, name)?;
        Ok(String::from_utf8_lossy(value.data()).into_owned())
    }

    /// A label that must be a number of another width.
    fn label<T: TryFrom<i32>>(&self, name: &str, row: usize) -> Result<T, SamplesError> {
        let value = required(self.i32(name, row)?, name)?;
        T::try_from(value).map_err(|_| corrupt(format!("{name} is {value}")))
    }

    /// A label that must be one of our words.
    fn word<T>(
        &self,
        name: &str,
        row: usize,
        parse: fn(&str) -> Option<T>,
    ) -> Result<T, SamplesError> {
        let text = self.text(name, row)?;
        parse(&text).ok_or_else(|| corrupt(format!("{name} is '{text}'")))
    }

    fn row(&self, row: usize) -> Result<PathRecord, SamplesError> {
        let kind = self.text("origin_kind", row)?;
        let nr = required(self.i32("origin_nr", row)?, "origin_nr")?.cast_unsigned();
        let origin = columns::origin_from_cells(&kind, nr)
            .ok_or_else(|| corrupt(format!("unknown origin {kind} {nr}")))?;
        let target = Task {
            tid: required(self.i32("target_tid", row)?, "target_tid")?.cast_unsigned(),
            tgid: required(self.i32("target_tgid", row)?, "target_tgid")?.cast_unsigned(),
            comm: Comm::from_stored(&self.text("target_comm", row)?),
            prio: self.label("target_prio", row)?,
            normal_prio: self.label("target_normal_prio", row)?,
            policy: self.word("target_policy", row, columns::policy_from_word)?,
        };
        Ok(PathRecord {
            origin,
            via: Via::from_bits_retain(self.label("via_bits", row)?),
            stamps: self.stamps(row)?,
            timer_fn: required(self.i64("timer_fn", row)?, "timer_fn")?.cast_unsigned(),
            target,
            end: self.word("end", row, columns::end_from_word)?,
            queues: Vec::new(), // causes are not worked out from samples
        })
    }

    fn stamps(&self, row: usize) -> Result<[Option<Stamp>; Point::COUNT], SamplesError> {
        let mut stamps = [None; Point::COUNT];
        for (point, (times, cpus)) in Point::ALL.into_iter().zip(&self.points) {
            let time = times.get(row).copied().flatten();
            let cpu = cpus.get(row).copied().flatten();
            stamps[point.index()] = match (time, cpu) {
                (Some(ns), Some(cpu)) => {
                    let cpu = u16::try_from(cpu)
                        .map_err(|_| corrupt(format!("{point} is on CPU {cpu}")))?;
                    Some(Stamp { ns: ns.cast_unsigned(), cpu })
                }
                (None, None) => None,
                _ => return Err(corrupt(format!("{point} has a time or a CPU, not both"))),
            };
        }
        Ok(stamps)
    }
}

fn required<T>(value: Option<T>, name: &str) -> Result<T, SamplesError> {
    value.ok_or_else(|| corrupt(format!("{name} is null")))
}

fn get<T: Clone>(
    columns: &HashMap<String, Vec<Option<T>>>,
    name: &str,
    row: usize,
) -> Result<Option<T>, SamplesError> {
    let column =
        columns.get(name).ok_or_else(|| corrupt(format!("the column {name} is absent")))?;
    Ok(column.get(row).cloned().flatten())
}

/// All values of a column chunk, `None` where null.
fn values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    nr_rows: usize,
    nullable: bool,
) -> Result<Vec<Option<T::T>>, SamplesError> {
    let mut out: Vec<Option<T::T>> = Vec::new();
    while out.len() < nr_rows {
        let (mut levels, mut present) = (Vec::new(), Vec::new());
        let want = BATCH.min(nr_rows - out.len());
        let (nr_records, ..) = reader
            .read_records(want, nullable.then_some(&mut levels), None, &mut present)
            .map_err(|e: ParquetError| corrupt(e))?;
        if nr_records == 0 {
            return Err(corrupt("a column is shorter than the others"));
        }
        let mut present = present.into_iter();
        if nullable {
            out.extend(levels.iter().map(|&l| if l > 0 { present.next() } else { None }));
        } else {
            out.extend(present.map(Some));
        }
    }
    Ok(out)
}
