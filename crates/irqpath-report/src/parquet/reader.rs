// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the tables of result directories back, of every version that wrote one.
//!
//! A file may be a stranger's: what it claims is checked before anything is allocated by it, and
//! its texts become printable. Rows are taken one row group at a time. The library panics on some
//! damaged files; that counts as damage.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use irqpath_model::bench::Latencies;
use irqpath_model::{RunIdentity, printable};
use parquet::basic::Type;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::{FileMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, FileReader as _, RowGroupReader, SerializedFileReader};

use super::table::Column;
use super::tables::{Kind, Spec};
use super::{Cell, LengthLabels, RUN_KEY, SamplesError, TABLES_VERSION, Table, TableWriter};
use super::{VERSION_KEY, pages};

/// Longest footer; a row group takes 5 KiB of it.
const MAX_FOOTER: u64 = 32 << 20;
/// Most series with their intervals.
const MAX_SERIES: usize = 10_000;
/// Most rows of a row group.
const MAX_GROUP_ROWS: usize = 64 << 10;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum ReadError {
    /// Not a table of irqpath, or damaged.
    #[error("it is not a table that irqpath wrote ({0}); measure again, or restore the file")]
    Corrupt(String),
    /// Made by a newer irqpath.
    #[error(
        "it has format {found}, this irqpath reads up to {TABLES_VERSION}; use a newer irqpath"
    )]
    Newer { found: u32 },
    /// What was read could not be written.
    #[error(transparent)]
    Write(#[from] SamplesError),
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn corrupt(why: impl ToString) -> ReadError {
    ReadError::Corrupt(printable(&why.to_string()).into_owned())
}

thread_local! {
    static IS_GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// True while a panic of this thread counts as damage of a file: a hook need not report it.
pub fn is_guarded() -> bool {
    IS_GUARDED.get()
}

/// Runs what may panic in the library.
fn guard<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    IS_GUARDED.set(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(false);
    read.unwrap_or_else(|_| Err(corrupt("the library gave up on it")))
}

/// A table of a result directory: its paths, or its lengths.
pub struct TableReader<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    table: Table,
    /// The table's own columns, and where they are in the file.
    columns: Vec<(Spec, Option<usize>)>,
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Open a file and check what it claims.
    pub fn open(input: R) -> Result<Self, ReadError> {
        guard(|| Self::open_unguarded(input))
    }

    fn open_unguarded(input: R) -> Result<Self, ReadError> {
        check_footer(&input)?;
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&input).map_err(corrupt)?;
        for group in metadata.row_groups() {
            let nr_rows = usize::try_from(group.num_rows()).unwrap_or(usize::MAX);
            if nr_rows > MAX_GROUP_ROWS {
                return Err(corrupt(format!("a row group of more than {MAX_GROUP_ROWS} rows")));
            }
            for chunk in group.columns() {
                pages::check_chunk(&input, chunk).map_err(corrupt)?;
            }
        }
        check_version(metadata.file_metadata())?;
        let table = find_table(metadata.file_metadata())?;
        let columns = find_columns(table, metadata.file_metadata())?;
        Ok(Self { file: SerializedFileReader::new(input).map_err(corrupt)?, table, columns })
    }

    /// Which table it is.
    pub fn table(&self) -> Table {
        self.table
    }

    /// The run that the file says it is of; `None` in files of versions that did not tell.
    pub fn run_id(&self) -> Option<&str> {
        find_value(self.file.metadata().file_metadata(), RUN_KEY)
    }

    /// Read every row and throw it away; returns how many there are.
    pub fn check_rows(&self) -> Result<u64, ReadError> {
        let mut nr_rows = 0;
        for group in 0..self.file.num_row_groups() {
            nr_rows += guard(|| self.read_group(group))?.0 as u64;
        }
        Ok(nr_rows)
    }

    /// Add every length to those of its series and interval, `SERIES: INTERVAL`; nothing of a table
    /// of paths.
    pub fn collect_lengths(&self) -> Result<BTreeMap<String, Latencies>, ReadError> {
        let mut all: BTreeMap<String, Latencies> = BTreeMap::new();
        let find = |name: &str| self.columns.iter().position(|(spec, _)| spec.name == name);
        let places = (find("series"), find("interval"), find("length_ns"));
        let (Some(series), Some(interval), Some(length)) = places else { return Ok(all) };
        for group in 0..self.file.num_row_groups() {
            let (nr_rows, columns) = guard(|| self.read_group(group))?;
            let text = |column: usize, row: usize| {
                std::str::from_utf8(columns[column].texts[row].data()).map_err(corrupt)
            };
            for row in 0..nr_rows {
                let name = format!("{}: {}", text(series, row)?, text(interval, row)?);
                let ns = columns[length].i64s[row].cast_unsigned();
                all.entry(printable(&name).into_owned()).or_default().record_ns(ns);
            }
            if all.len() > MAX_SERIES {
                return Err(corrupt(format!("lengths of more than {MAX_SERIES} series")));
            }
        }
        Ok(all)
    }

    /// Copy every row, as one of this run; returns how many there were. Labels are for lengths
    /// of a version that did not tell them.
    pub fn copy_rows<W: Write + Send>(
        &self,
        run: &RunIdentity,
        labels: LengthLabels<'_>,
        out: &mut TableWriter<W>,
    ) -> Result<u64, ReadError> {
        let mut total = 0;
        for group in 0..self.file.num_row_groups() {
            let (nr_rows, columns) = guard(|| self.read_group(group))?;
            let mut columns: Vec<_> = columns
                .iter()
                .zip(&self.columns)
                .map(|(column, (spec, at))| {
                    let absent = match &*spec.name {
                        "experiment" => labels.experiment,
                        _ => labels.variant,
                    };
                    Cells { column, is_there: at.is_some(), absent, row: 0, value: 0 }
                })
                .collect();
            let mut row = Vec::with_capacity(columns.len() + 5);
            for _ in 0..nr_rows {
                row.extend(out.run_cells(run));
                for column in &mut columns {
                    row.push(column.next_cell(out)?);
                }
                out.push_row(row.drain(..))?;
            }
            total += nr_rows as u64;
        }
        Ok(total)
    }

    /// The rows of a row group, by column.
    fn read_group(&self, group: usize) -> Result<(usize, Vec<Column>), ReadError> {
        let group = self.file.get_row_group(group).map_err(corrupt)?;
        let nr_rows = usize::try_from(group.metadata().num_rows()).map_err(corrupt)?;
        let read = |(spec, at): &(Spec, Option<usize>)| match at {
            Some(at) => read_column(&*group, *at, spec, nr_rows),
            None => Ok(Column::new(spec.clone())),
        };
        Ok((nr_rows, self.columns.iter().map(read).collect::<Result<_, _>>()?))
    }
}

/// The cells of a column, one row after the other.
struct Cells<'a> {
    column: &'a Column,
    is_there: bool,
    /// The text of every row of a column that is not there.
    absent: &'a str,
    row: usize,
    value: usize,
}

impl Cells<'_> {
    fn next_cell<W: Write + Send>(&mut self, out: &mut TableWriter<W>) -> Result<Cell, ReadError> {
        let column = self.column;
        if !self.is_there {
            return Ok(if column.spec.nullable { Cell::Null } else { out.text(self.absent) });
        }
        let row = self.row;
        self.row += 1;
        if column.spec.nullable && column.present[row] == 0 {
            return Ok(Cell::Null);
        }
        let at = self.value;
        self.value += 1;
        Ok(match column.spec.kind {
            Kind::Text => {
                let text = std::str::from_utf8(column.texts[at].data()).map_err(corrupt)?;
                out.text(&printable(text))
            }
            Kind::I32 | Kind::U32 => Cell::I32(column.i32s[at]),
            Kind::I64 | Kind::U64 => Cell::I64(column.i64s[at]),
        })
    }
}

fn read_column(
    group: &dyn RowGroupReader,
    at: usize,
    spec: &Spec,
    nr_rows: usize,
) -> Result<Column, ReadError> {
    let mut column = Column::new(spec.clone());
    let reader = group.get_column_reader(at).map_err(corrupt)?;
    let present = spec.nullable.then_some(&mut column.present);
    // As many values as it may return: the library takes one call per page.
    macro_rules! read_all {
        ($kind:ty, $values:expr) => {{
            let mut reader = get_typed_column_reader::<$kind>(reader);
            let mut present = present;
            let (mut rows, mut values) = (0, 0);
            while rows < nr_rows {
                let left = nr_rows - rows;
                let read = reader.read_records(left, present.as_deref_mut(), None, $values);
                let (n, v, _) = read.map_err(corrupt)?;
                if n == 0 {
                    break;
                }
                (rows, values) = (rows + n, values + v);
            }
            (rows, values)
        }};
    }
    let (rows, values) = match spec.kind {
        Kind::Text => read_all!(ByteArrayType, &mut column.texts),
        Kind::I32 | Kind::U32 => read_all!(Int32Type, &mut column.i32s),
        Kind::I64 | Kind::U64 => read_all!(Int64Type, &mut column.i64s),
    };
    let nr_present = if spec.nullable {
        column.present.iter().filter(|level| **level == 1).count()
    } else {
        nr_rows
    };
    if rows != nr_rows || values != nr_present {
        return Err(corrupt(format!("the column {} ends too early", spec.name)));
    }
    Ok(column)
}

/// The last eight bytes: the length of the footer, and who wrote it.
fn check_footer(input: &impl ChunkReader) -> Result<(), ReadError> {
    let Some(at) = input.len().checked_sub(8) else { return Err(corrupt("it is too short")) };
    let end = input.get_bytes(at, 8).map_err(corrupt)?;
    let length = end.first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)));
    if length > MAX_FOOTER {
        return Err(corrupt(format!("a footer of more than {MAX_FOOTER} bytes")));
    }
    Ok(())
}

fn find_value<'a>(file: &'a FileMetaData, key: &str) -> Option<&'a str> {
    file.key_value_metadata()?.iter().find(|pair| pair.key == key)?.value.as_deref()
}

fn check_version(file: &FileMetaData) -> Result<(), ReadError> {
    let version = find_value(file, VERSION_KEY).and_then(|version| version.parse().ok());
    match version {
        None => Err(corrupt(format!("it has no {VERSION_KEY}"))),
        Some(found) if found > TABLES_VERSION => Err(ReadError::Newer { found }),
        Some(_) => Ok(()),
    }
}

/// The table by the name of the schema, as every version wrote it.
fn find_table(file: &FileMetaData) -> Result<Table, ReadError> {
    match file.schema_descr().name() {
        "paths" | "samples" => Ok(Table::Paths),
        "lengths" => Ok(Table::Lengths),
        _ => Err(corrupt("it is neither of paths nor of lengths")),
    }
}

fn find_columns(
    table: Table,
    file: &FileMetaData,
) -> Result<Vec<(Spec, Option<usize>)>, ReadError> {
    let found = file.schema_descr().columns();
    let find = |spec: Spec| {
        let at = found.iter().position(|column| column.path().parts() == [&*spec.name]);
        let Some(at) = at else {
            let may_lack = spec.nullable || ["experiment", "variant"].contains(&&*spec.name);
            let lacks = || corrupt(format!("it lacks the column {}", spec.name));
            return if may_lack { Ok((spec, None)) } else { Err(lacks()) };
        };
        let column: &Arc<_> = &found[at];
        let kind = match spec.kind {
            Kind::Text => Type::BYTE_ARRAY,
            Kind::I32 | Kind::U32 => Type::INT32,
            Kind::I64 | Kind::U64 => Type::INT64,
        };
        let levels = (i16::from(spec.nullable), 0);
        let is_same = column.physical_type() == kind
            && (column.max_def_level(), column.max_rep_level()) == levels;
        if is_same {
            Ok((spec, Some(at)))
        } else {
            Err(corrupt(format!("its column {} is another", spec.name)))
        }
    };
    table.own_columns().into_iter().map(find).collect()
}
