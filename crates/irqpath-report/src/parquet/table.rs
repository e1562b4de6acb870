// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes rows as they come: they are kept until a row group is full, so that memory stays
//! bounded however long a measurement or a campaign is.
//!
//! The columns of the run have one value in a whole file of one run: it is kept once, and Parquet
//! stores it once per row group. Nothing is readable before [`TableWriter::finish`] has written
//! the footer; whoever opens the output gives it its final name only after that.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use irqpath_model::RunIdentity;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::tables::{Kind, Spec};
use super::{ROW_GROUP_ROWS, RUN_KEY, SamplesError, TABLE_KEY, TABLES_VERSION, Table, VERSION_KEY};

/// Distinct texts remembered so that equal labels share memory.
const MAX_INTERNED: usize = 4096;

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text, by [`TableWriter::text`].
    Text(ByteArray),
    /// A number of 32 bits, signed or not.
    I32(i32),
    /// A number of 64 bits, signed or not.
    I64(i64),
    /// No value.
    Null,
}

impl Cell {
    /// An unsigned number of 64 bits.
    pub const fn u64(value: u64) -> Self {
        Self::I64(value.cast_signed())
    }

    /// An unsigned number of 32 bits.
    pub const fn u32(value: u32) -> Self {
        Self::I32(value.cast_signed())
    }
}

/// The values of one column that wait for the row group to be full.
pub(super) struct Column {
    pub spec: Spec,
    /// The value of every row.
    constant: Option<ByteArray>,
    pub texts: Vec<ByteArray>,
    pub i32s: Vec<i32>,
    pub i64s: Vec<i64>,
    /// 1 where there is a value; Parquet wants none for a column that cannot be null.
    pub present: Vec<i16>,
}

impl Column {
    pub fn new(spec: Spec) -> Self {
        Self { spec, constant: None, texts: vec![], i32s: vec![], i64s: vec![], present: vec![] }
    }

    pub fn push(&mut self, cell: Cell) {
        self.present.push(i16::from(!matches!(cell, Cell::Null)));
        match cell {
            Cell::Text(v) => self.texts.push(v),
            Cell::I32(v) => self.i32s.push(v),
            Cell::I64(v) => self.i64s.push(v),
            Cell::Null => debug_assert!(self.spec.nullable, "{} is null", self.spec.name),
        }
    }

    fn write(
        &mut self,
        mut out: SerializedColumnWriter<'_>,
        nr_rows: usize,
    ) -> Result<(), ParquetError> {
        let levels = self.spec.nullable.then_some(self.present.as_slice());
        if let Some(value) = &self.constant {
            out.typed::<ByteArrayType>().write_batch(&vec![value.clone(); nr_rows], None, None)?;
            return out.close();
        }
        match self.spec.kind {
            Kind::Text => out.typed::<ByteArrayType>().write_batch(&self.texts, levels, None)?,
            Kind::I32 | Kind::U32 => {
                out.typed::<Int32Type>().write_batch(&self.i32s, levels, None)?
            }
            Kind::I64 | Kind::U64 => {
                out.typed::<Int64Type>().write_batch(&self.i64s, levels, None)?
            }
        };
        self.texts.clear();
        self.i32s.clear();
        self.i64s.clear();
        self.present.clear();
        out.close()
    }
}

/// A stream of rows into a Parquet file.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Column>,
    interned: HashMap<String, ByteArray>,
    row_group_rows: usize,
    nr_waiting: usize,
    nr_rows: u64,
}

fn writer_properties(table: Table, run: Option<&RunIdentity>) -> WriterProperties {
    let mut pairs = vec![
        KeyValue::new(VERSION_KEY.to_owned(), TABLES_VERSION.to_string()),
        KeyValue::new(TABLE_KEY.to_owned(), table.name().to_owned()),
    ];
    pairs.extend(run.map(|run| KeyValue::new(RUN_KEY.to_owned(), run.run_id.clone())));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(parquet::basic::ZstdLevel::default()))
        .set_created_by(format!("irqpath {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(pairs));
    for column in table.columns().into_iter().filter(Spec::is_delta_encoded) {
        let path = ColumnPath::from(column.name.into_owned());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file whose rows are all of one run; rows have the table's own columns.
    pub fn for_run(out: W, table: Table, run: &RunIdentity) -> Result<Self, SamplesError> {
        let mut writer = Self::create(out, table, Some(run), ROW_GROUP_ROWS)?;
        let values = [&run.host, &run.boot_id, &run.run_id, &run.commit, &run.kernel];
        for (column, value) in writer.columns.iter_mut().zip(values) {
            column.constant = Some(ByteArray::from(value.as_bytes().to_vec()));
        }
        Ok(writer)
    }

    /// Starts a file whose rows are of any run, and have all columns. Memory is that of
    /// `row_group_rows`.
    pub fn for_runs(out: W, table: Table, row_group_rows: usize) -> Result<Self, SamplesError> {
        Self::create(out, table, None, row_group_rows)
    }

    fn create(
        out: W,
        table: Table,
        run: Option<&RunIdentity>,
        row_group_rows: usize,
    ) -> Result<Self, SamplesError> {
        let schema = parse_message_type(&table.message_type())
            .expect("the column list is a valid Parquet schema");
        let properties = Arc::new(writer_properties(table, run));
        let file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
        let columns = table.columns().into_iter().map(Column::new).collect();
        let interned = HashMap::new();
        Ok(Self { file, columns, interned, row_group_rows, nr_waiting: 0, nr_rows: 0 })
    }

    /// Add a row. Writes when a row group is full.
    pub fn push_row(&mut self, cells: impl IntoIterator<Item = Cell>) -> Result<(), SamplesError> {
        let mut cells = cells.into_iter();
        for column in self.columns.iter_mut().filter(|column| column.constant.is_none()) {
            column.push(cells.next().expect("a row has a cell for every column"));
        }
        debug_assert!(cells.next().is_none(), "a row has more cells than columns");
        self.nr_waiting += 1;
        self.nr_rows += 1;
        if self.nr_waiting == self.row_group_rows { self.write_row_group() } else { Ok(()) }
    }

    /// Rows added so far.
    pub fn nr_rows(&self) -> u64 {
        self.nr_rows
    }

    /// The cell of a text; equal ones share memory.
    pub fn text(&mut self, text: &str) -> Cell {
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

    /// The cells of a run, with which a row of any run begins.
    pub fn run_cells(&mut self, run: &RunIdentity) -> [Cell; 5] {
        [&run.host, &run.boot_id, &run.run_id, &run.commit, &run.kernel].map(|text| self.text(text))
    }

    /// Write what waits and the footer, and hand the output back.
    pub fn finish(mut self) -> Result<W, SamplesError> {
        if self.nr_waiting > 0 {
            self.write_row_group()?;
        }
        Ok(self.file.into_inner()?)
    }

    fn write_row_group(&mut self) -> Result<(), SamplesError> {
        let nr_rows = std::mem::take(&mut self.nr_waiting);
        let mut group = self.file.next_row_group()?;
        for column in &mut self.columns {
            let out = group.next_column()?;
            let out = out.expect("the schema has a column for every buffer");
            column.write(out, nr_rows)?;
        }
        group.close()?;
        Ok(())
    }
}
