// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes one partition: five tables, of which those without rows are not made.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use irqpath_files::output::{StagedDir, describe_failed_write};
use irqpath_model::merge::Campaign;
use irqpath_model::{Meta, RunIdentity, Summary};
use irqpath_report::parquet::histograms::{HistogramSet, kind_of};
use irqpath_report::parquet::{Cell, LengthLabels, ReadError, Table, TableReader, TableWriter};

use super::plan::{Planned, find_table};
use crate::verbs::result::{MAX_FILE, read_result};

/// Rows of a row group; readers work on one at a time.
const ROW_GROUP_ROWS: usize = 32 << 10;
/// Where a lab's result lies: `EXPERIMENT/VARIANT`.
const UNKNOWN: &str = "";

type Output = TableWriter<BufWriter<File>>;

/// The tables of one partition, each made when it gets its first row.
pub struct Partition<'a> {
    staged: &'a StagedDir,
    /// The names `commit=...` and `kernel=...`.
    names: [String; 2],
    tables: BTreeMap<Table, (Output, PathBuf)>,
    histograms: HistogramSet,
}

impl<'a> Partition<'a> {
    pub fn new(staged: &'a StagedDir, commit: &str, kernel: &str) -> Self {
        let names = [format!("commit={commit}"), format!("kernel={kernel}")];
        Self { staged, names, tables: BTreeMap::new(), histograms: HistogramSet::default() }
    }

    fn table(&mut self, table: Table) -> anyhow::Result<&mut Output> {
        if !self.tables.contains_key(&table) {
            let [commit, kernel] = &self.names;
            let directory = self.staged.create_directory(table.name())?;
            let directory = directory.create_directory(commit)?.create_directory(kernel)?;
            let path = directory.path().join("part-0.parquet");
            let file = BufWriter::new(directory.create_file("part-0.parquet")?);
            let writer = TableWriter::for_runs(file, table, ROW_GROUP_ROWS)
                .with_context(|| describe_failed_write(&path))?;
            self.tables.insert(table, (writer, path));
        }
        Ok(&mut self.tables.get_mut(&table).expect("it was made above").0)
    }

    /// Copy a result that was planned.
    pub fn add_result(&mut self, directory: &Path, planned: &Planned) -> anyhow::Result<()> {
        let stored = read_result(directory, MAX_FILE)?;
        let run = &planned.run;
        let told = &stored.meta.run_id;
        ensure!(told.is_empty() || *told == run.run_id, "{}", changed(directory));
        let mut nr_rows = 0;
        if let Some((name, file)) = find_table(directory)? {
            ensure!(name == planned.table, "{}", changed(directory));
            let opened = TableReader::open(file).map_err(|_| anyhow!(changed(directory)))?;
            let labels = LengthLabels { experiment: UNKNOWN, variant: UNKNOWN };
            let table = opened.table();
            let out = self.table(table)?;
            nr_rows = opened.copy_rows(run, labels, out).map_err(|error| match error {
                ReadError::Write(error) => anyhow::Error::from(error)
                    .context(describe_failed_write(Path::new(table.name()))),
                _ => anyhow!(changed(directory)),
            })?;
        }
        self.add_run(directory, run, &stored.meta, &stored.summary, nr_rows)?;
        self.histograms.add_summary(run, &stored.summary);
        if self.histograms.is_full() { self.write_histograms() } else { Ok(()) }
    }

    fn add_run(
        &mut self,
        directory: &Path,
        run: &RunIdentity,
        meta: &Meta,
        summary: &Summary,
        nr_rows: u64,
    ) -> anyhow::Result<()> {
        let shown = irqpath_model::printable(&directory.display().to_string()).into_owned();
        let out = self.table(Table::Runs)?;
        let mut row: Vec<Cell> = out.run_cells(run).into();
        row.extend([
            out.text(kind_of(&summary.measured)),
            out.text(&meta.started_at),
            Cell::u64(meta.duration_ns),
            out.text(&meta.source),
            Cell::u32(u32::from(meta.is_exact)),
            out.text(&meta.irqpath_version),
            Cell::u64(summary.loss.nr_lost()),
            Cell::u64(nr_rows),
            out.text(&shown),
        ]);
        out.push_row(row).with_context(|| describe_failed_write(Path::new("runs")))
    }

    fn write_histograms(&mut self) -> anyhow::Result<()> {
        let mut histograms = std::mem::take(&mut self.histograms);
        if histograms.is_empty() {
            return Ok(());
        }
        // Both are there from here on, and are taken out as two are changed at once.
        self.table(Table::Histograms)?;
        self.table(Table::Buckets)?;
        let mut taken = [Table::Histograms, Table::Buckets]
            .map(|table| self.tables.remove(&table).expect("it was made above"));
        let [(rows, path), (buckets, _)] = &mut taken;
        histograms.write_rows(rows, buckets).with_context(|| describe_failed_write(path))?;
        self.tables.extend([Table::Histograms, Table::Buckets].into_iter().zip(taken));
        Ok(())
    }

    /// Complete the files, and count their rows.
    pub fn finish(mut self, campaign: &mut Campaign) -> anyhow::Result<()> {
        self.write_histograms()?;
        for (table, (writer, path)) in self.tables {
            *campaign.nr_rows.entry(table.name().to_owned()).or_default() += writer.nr_rows();
            let mut file = writer.finish().with_context(|| describe_failed_write(&path))?;
            file.flush().with_context(|| describe_failed_write(&path))?;
        }
        campaign.nr_partitions += 1;
        Ok(())
    }
}

fn changed(directory: &Path) -> String {
    format!("{} changed while it was merged; merge again when it is complete", directory.display())
}
