// SPDX-License-Identifier: GPL-2.0-or-later
//! Result directories of the columns: the same files that a measurement on a real machine has.
//!
//! What the guest said about itself (`/results/host`) is read by the same code as a real host's
//! files. The console and the job's output are kept beside the figures.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use irqpath_analysis::bench::finish;
use irqpath_model::{Meta, SCHEMA_VERSION, Summary};
use irqpath_report::parquet::{Length, write_lengths};
use irqpath_report::{html, json};
use irqpath_system::Host;

use super::definition::Definition;
use super::run::{ColumnRun, Remains};
use super::table;
use crate::vm::Outcome;

/// Writes a column's result directory below `out`, for the command and time given.
pub fn store_column(
    definition: &Definition,
    run: &ColumnRun,
    out: &Path,
    command: &[String],
    started_at: &str,
) -> io::Result<()> {
    let directory = out.join(table::directory(&definition.id, &run.column.name));
    fs::create_dir_all(&directory)?;
    let meta = Meta { command: command.to_vec(), started_at: started_at.to_owned(), ..meta(run)? };
    let summary = summary(run);
    json::write_meta(File::create(directory.join("meta.json"))?, &meta)?;
    json::write_summary(File::create(directory.join("summary.json"))?, &summary)?;
    let samples = File::create(directory.join("samples.parquet"))?;
    write_lengths(samples, lengths(run)).map_err(io::Error::other)?;
    // It shows paths and tests of mechanisms: without either it would be a page of nothing.
    if !summary.bench.is_empty() {
        let mut page = io::BufWriter::new(File::create(directory.join("report.html"))?);
        html::write(&mut page, &meta, &summary, html::Options::default())?;
    }
    for attributed in &run.attributed {
        attributed.store(&directory, &definition.id, &run.column.name)?;
    }
    store_words(&run.outcome, &directory)
}

/// Writes what a guest that went wrong said, for people to look at, below `out` and beside the
/// results of a run that went well; returns where.
pub fn store_remains(remains: &Remains, out: &Path) -> io::Result<PathBuf> {
    let column = format!("{} failed", remains.column);
    let directory = out.join(table::directory(&remains.experiment, &column));
    fs::create_dir_all(&directory)?;
    store_words(&remains.outcome, &directory)?;
    Ok(directory)
}

/// Console, output of the job, and every text that the job left.
fn store_words(outcome: &Outcome, directory: &Path) -> io::Result<()> {
    for (name, text) in outcome.results.files() {
        if name.extension().is_some_and(|extension| extension == "txt") {
            fs::write(directory.join(name.file_name().unwrap_or_default()), text)?;
        }
    }
    fs::write(directory.join("console.log"), &outcome.console)?;
    fs::write(directory.join("job.log"), outcome.results.job_log())
}

/// Every repetition of every series.
fn lengths(run: &ColumnRun) -> impl Iterator<Item = Length<'_>> {
    run.series.iter().flat_map(|series| {
        series.samples.iter().flat_map(|(interval, lengths)| {
            (0..).zip(lengths).map(|(repetition, &length_ns)| Length {
                series: &series.name,
                interval,
                repetition,
                length_ns,
            })
        })
    })
}

fn summary(run: &ColumnRun) -> Summary {
    let series = run.series.iter().flat_map(|series| series.bench.clone()).collect();
    Summary { schema_version: SCHEMA_VERSION, bench: finish(series), ..Summary::default() }
}

fn meta(run: &ColumnRun) -> io::Result<Meta> {
    let facts = run.files.path().join("host");
    fs::create_dir_all(facts.join("boot"))?;
    fs::copy(
        &run.kernel.config,
        facts.join("boot").join(format!("config-{}", run.kernel.release)),
    )?;
    let host = Host::new(&facts);
    let after = Host::new(run.files.path().join("after"));
    let mut kernel = host.kernel_info();
    run.kernel.arch.name().clone_into(&mut kernel.machine);
    Ok(Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: format!("lab guest, {}", run.column.name),
        duration_ns: run.outcome.job_ns.unwrap_or_default(),
        source: source(run),
        kernel,
        cpu: host.cpu_info(),
        isolation: host.isolation(),
        // A guest without them still has its figures.
        before: host.interrupt_counts().unwrap_or_default(),
        after: after.interrupt_counts().unwrap_or_default(),
        ..Meta::default()
    })
}

fn source(run: &ColumnRun) -> String {
    if run.outcome.exact {
        "lab, exact: 1 ns is one instruction".to_owned()
    } else {
        "lab, several virtual CPUs: not exact".to_owned()
    }
}
