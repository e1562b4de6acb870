// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes `samples.parquet` while the measurement runs: rows are kept until a row group is full,
//! so that memory stays bounded however long the measurement is.
//!
//! Nothing is readable before [`SampleWriter::finish`] has written the footer; whoever opens the
//! output gives it its final name only after that.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use irqpath_model::{Names, PathRecord, Point, SCHEMA_VERSION};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::columns::{self, Kind, Spec};
use super::digest::Digesting;
use super::{DIGEST_KEY, ROW_GROUP_ROWS, SamplesError, VERSION_KEY};

/// Distinct texts remembered so that equal labels share memory.
const MAX_INTERNED: usize = 4096;

/// One value of a row.
enum Cell {
    Text(ByteArray),
    I32(i32),
    I64(i64),
    Null,
}

/// The values of one column that wait for the row group to be full.
struct Column {
    spec: Spec,
    texts: Vec<ByteArray>,
    i32s: Vec<i32>,
    i64s: Vec<i64>,
    /// 1 where there is a value; Parquet wants none for a column that cannot be null.
    present: Vec<i16>,
}

impl Column {
    fn new(spec: Spec) -> Self {
        Self { spec, texts: vec![], i32s: vec![], i64s: vec![], present: vec![] }
    }

    fn push(&mut self, cell: Cell) {
        self.present.push(i16::from(!matches!(cell, Cell::Null)));
        match cell {
            Cell::Text(v) => self.texts.push(v),
            Cell::I32(v) => self.i32s.push(v),
            Cell::I64(v) => self.i64s.push(v),
            Cell::Null => debug_assert!(self.spec.nullable, "{} is null", self.spec.name),
        }
    }

    fn write(&mut self, mut out: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let levels = self.spec.nullable.then_some(self.present.as_slice());
        match self.spec.kind {
            Kind::Text => out.typed::<ByteArrayType>().write_batch(&self.texts, levels, None)?,
            Kind::I32 => out.typed::<Int32Type>().write_batch(&self.i32s, levels, None)?,
            Kind::I64 => out.typed::<Int64Type>().write_batch(&self.i64s, levels, None)?,
        };
        self.texts.clear();
        self.i32s.clear();
        self.i64s.clear();
        self.present.clear();
        out.close()
    }
}

/// A stream of path records into a Parquet file.
pub struct SampleWriter<W: Write + Send> {
    file: SerializedFileWriter<Digesting<W>>,
    columns: Vec<Column>,
    interned: HashMap<String, ByteArray>,
    nr_waiting: usize,
    nr_rows: u64,
}

fn write_error(error: impl std::fmt::Display) -> SamplesError {
    SamplesError::Write(error.to_string())
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_created_by(format!("irqpath {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(
            VERSION_KEY.to_owned(),
            SCHEMA_VERSION.to_string(),
        )]));
    // Time stamps never repeat: a dictionary only costs, their differences are small.
    for column in columns::all().into_iter().filter(|c| c.kind == Kind::I64) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

impl<W: Write + Send> SampleWriter<W> {
    /// Start a file.
    pub fn new(out: W) -> Result<Self, SamplesError> {
        let schema = parse_message_type(&columns::message_type())
            .expect("the column list is a valid Parquet schema");
        let file = SerializedFileWriter::new(
            Digesting::new(out),
            Arc::new(schema),
            Arc::new(properties()),
        )
        .map_err(write_error)?;
        let columns = columns::all().into_iter().map(Column::new).collect();
        Ok(Self { file, columns, interned: HashMap::new(), nr_waiting: 0, nr_rows: 0 })
    }

    /// Add one record. Writes when a row group is full.
    pub fn push(&mut self, record: &PathRecord, names: &Names) -> Result<(), SamplesError> {
        let cells = self.cells(record, names);
        debug_assert_eq!(cells.len(), self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        self.nr_waiting += 1;
        self.nr_rows += 1;
        if self.nr_waiting == ROW_GROUP_ROWS { self.write_row_group() } else { Ok(()) }
    }

    /// Records added so far.
    pub fn nr_rows(&self) -> u64 {
        self.nr_rows
    }

    /// Write what waits and the footer, and hand the output back.
    pub fn finish(mut self) -> Result<W, SamplesError> {
        if self.nr_waiting > 0 {
            self.write_row_group()?;
        }
        self.file.flush().map_err(write_error)?;
        let groups: Vec<_> = self.file.flushed_row_groups().to_vec();
        let digest = self.file.inner().stored(&groups);
        self.file.append_key_value_metadata(KeyValue::new(DIGEST_KEY.to_owned(), digest));
        Ok(self.file.into_inner().map_err(write_error)?.inner)
    }

    fn write_row_group(&mut self) -> Result<(), SamplesError> {
        self.nr_waiting = 0;
        let mut group = self.file.next_row_group().map_err(write_error)?;
        for column in &mut self.columns {
            let out = group.next_column().map_err(write_error)?;
            let out = out.expect("the schema has a column for every buffer");
            column.write(out).map_err(write_error)?;
        }
        group.close().map_err(write_error)?;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Cell {
        if let Some(known) = self.interned.get(text) {
            return Cell::Text(known.clone());
        }
        if self.interned.len() == MAX_INTERNED {
            self.interned.clear();
        }
        let bytes = ByteArray::from(text.as_bytes().to_vec());
        self.interned.insert(text.to_owned(), bytes.clone());
        Cell::Text(bytes)
    }

    /// The row, in the order of [`columns::all`].
    fn cells(&mut self, record: &PathRecord, names: &Names) -> Vec<Cell> {
        let (kind, nr) = columns::origin_to_cells(record.origin);
        let target = &record.target;
        let target_cpu =
            record.stamps[Point::SwitchIn.index()].or_else(|| record.last()).map(|s| s.cpu);
        let timer = match record.timer_fn {
            0 => Cell::Null,
            address => self.text(&names.symbol(address)),
        };
        let mut cells = vec![
            self.text(kind),
            Cell::I32(nr.cast_signed()),
            self.text(&names.origin(record.origin)),
            self.text(&record.via.describe()),
            Cell::I32(record.via.bits().cast_signed()),
            Cell::I32(target.tid.cast_signed()),
            Cell::I32(target.tgid.cast_signed()),
            self.text(target.comm.as_str()),
            Cell::I32(i32::from(target.prio)),
            Cell::I32(i32::from(target.normal_prio)),
            self.text(columns::policy_to_word(target.policy)),
            self.text(columns::end_to_word(record.end)),
            timer,
            Cell::I64(record.timer_fn.cast_signed()),
            target_cpu.map_or(Cell::Null, |cpu| Cell::I32(i32::from(cpu))),
            record.first().map_or(Cell::Null, |s| Cell::I64(s.ns.cast_signed())),
            Cell::I64(record.total_ns().cast_signed()),
        ];
        for stamp in record.stamps {
            cells.push(stamp.map_or(Cell::Null, |s| Cell::I64(s.ns.cast_signed())));
            cells.push(stamp.map_or(Cell::Null, |s| Cell::I32(i32::from(s.cpu))));
        }
        cells
    }
}
