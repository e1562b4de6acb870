// SPDX-License-Identifier: GPL-2.0-or-later
//! `paths.parquet`: every path record of a measurement, one row each, written while it runs.
//!
//! Label columns say what the path was, then every point has two nullable columns: `<point>_ns`
//! (`CLOCK_MONOTONIC`) and `<point>_cpu`.

use std::io::Write;

use irqpath_model::{Names, PathRecord, Point, RunIdentity};

use super::tables::origin_to_cells;
use super::{Cell, SamplesError, Table, TableWriter};

/// A stream of path records into a Parquet file.
pub struct SampleWriter<W: Write + Send> {
    table: TableWriter<W>,
}

impl<W: Write + Send> SampleWriter<W> {
    /// Starts a file of this run; it is complete after `finish`.
    pub fn new(out: W, run: &RunIdentity) -> Result<Self, SamplesError> {
        Ok(Self { table: TableWriter::for_run(out, Table::Paths, run)? })
    }

    /// Add one record. Writes when a row group is full.
    pub fn push(&mut self, record: &PathRecord, names: &Names) -> Result<(), SamplesError> {
        let cells = self.record_cells(record, names);
        self.table.push_row(cells)
    }

    /// Records added so far.
    pub fn nr_rows(&self) -> u64 {
        self.table.nr_rows()
    }

    /// Write what waits and the footer, and hand the output back.
    pub fn finish(self) -> Result<W, SamplesError> {
        self.table.finish()
    }

    /// The row, in the order of the table's own columns.
    fn record_cells(&mut self, record: &PathRecord, names: &Names) -> Vec<Cell> {
        let (kind, nr) = origin_to_cells(record.origin);
        let target = &record.target;
        let target_cpu =
            record.stamps[Point::SwitchIn.index()].or_else(|| record.last()).map(|s| s.cpu);
        let mut text = |text: &str| self.table.text(text);
        let timer = match record.timer_fn {
            0 => Cell::Null,
            address => text(&names.symbol(address)),
        };
        let mut cells = vec![
            text(kind),
            Cell::u32(nr),
            text(&names.origin(record.origin)),
            text(&record.via.describe()),
            Cell::u32(record.via.bits()),
            Cell::u32(target.tid),
            Cell::u32(target.tgid),
            text(target.comm.as_str()),
            Cell::I32(i32::from(target.prio)),
            Cell::I32(i32::from(target.normal_prio)),
            text(target.policy.into()),
            text(record.end.into()),
            timer,
            Cell::u64(record.timer_fn),
            target_cpu.map_or(Cell::Null, |cpu| Cell::u32(u32::from(cpu))),
            record.first().map_or(Cell::Null, |s| Cell::u64(s.ns)),
            Cell::u64(record.total_ns()),
        ];
        for stamp in record.stamps {
            cells.push(stamp.map_or(Cell::Null, |s| Cell::u64(s.ns)));
            cells.push(stamp.map_or(Cell::Null, |s| Cell::u32(u32::from(s.cpu))));
        }
        cells
    }
}
