// SPDX-License-Identifier: GPL-2.0-or-later
//! Result directories of the variants: the same files that a measurement on a real machine has.
//!
//! What the guest said about itself (`/results/host`) is read by the same code as a real host's
//! files. The console and the job's output are kept beside the figures.

use std::io::{self, Write as _};

use irqpath_analysis::bench::sort_and_label;
use irqpath_files::input;
use irqpath_files::output::{Directory, OutputError};
use irqpath_model::{Measured, Meta, SCHEMA_VERSION, Summary};
use irqpath_report::parquet::{Length, LengthLabels, Table, write_lengths};
use irqpath_report::{html, json};
use irqpath_system::Host;

use crate::experiment::definition::Definition;
use crate::experiment::manifest::{MANIFEST, Manifest};
use crate::experiment::run::{Remains, VariantRun};
use crate::vm::{InstructionTime, Outcome};

/// Digits of the digest that name an exact run.
const RUN_ID_DIGITS: usize = 32;

/// Writes a variant's result directory below `out`, for the command and time given.
pub fn store_variant(
    definition: &Definition,
    run: &VariantRun,
    out: &Directory,
    command: &[String],
    started_at: &str,
) -> Result<(), OutputError> {
    let directory = open_directory(out, &definition.id, &run.variant.name, run.draw.number)?;
    write_result(definition, run, &directory, command, started_at)?;
    let wall_ms = u64::try_from(run.outcome.wall.as_millis()).unwrap_or(u64::MAX);
    list_files(&directory, &run.identity.key(), wall_ms)
}

/// Writes the list of what a result consists of, by which it is known to be whole.
pub(super) fn list_files(
    directory: &Directory,
    identity: &str,
    wall_ms: u64,
) -> Result<(), OutputError> {
    directory.write(MANIFEST, |file| {
        let place = directory.current_path();
        let manifest = Manifest::describe(&place, identity, "lab run", wall_ms)?;
        file.write_all(&manifest.to_json())
    })
}

pub(super) fn write_result(
    definition: &Definition,
    run: &VariantRun,
    directory: &Directory,
    command: &[String],
    started_at: &str,
) -> Result<(), OutputError> {
    let run_id = make_run_id(run);
    let meta = Meta {
        command: command.to_vec(),
        started_at: started_at.to_owned(),
        commit: run.identity.commit().to_owned(),
        // A guest boots for one run.
        boot_id: run_id.clone(),
        run_id,
        ..read_meta(run)?
    };
    let summary = summarize_run(run);
    directory.write("meta.json", |file| json::write_meta(file, &meta))?;
    directory.write("summary.json", |file| json::write_summary(file, &summary))?;
    let labels = LengthLabels { experiment: &definition.id, variant: &run.variant.name };
    directory.write(Table::Lengths.file_name(), |file| {
        let written = write_lengths(file, &meta.run_identity(), labels, list_lengths(run));
        written.map(drop).map_err(io::Error::other)
    })?;
    // It shows paths and tests of mechanisms: without either it would be a page of nothing.
    if !summary.bench().is_empty() {
        let options = html::Options::default();
        directory.write("report.html", |page| html::write(page, &meta, &summary, options))?;
    }
    for attributed in &run.attributed {
        attributed.write_files(directory, &definition.id, &run.variant.name)?;
    }
    store_words(&run.outcome, directory)
}

/// The name of a run. That of an exact run is the digest of what decides its bytes: two of them
/// have the same name and, if nothing is wrong, the same bytes in every table. Others never have
/// the same name.
fn make_run_id(run: &VariantRun) -> String {
    if run.outcome.exact {
        format!("exact-{}", &run.identity.key()[..RUN_ID_DIGITS])
    } else {
        Host::real().make_unique_name()
    }
}

/// Writes what a guest that went wrong said, for people to look at, below `out` and beside the
/// results of a run that went well; returns where.
pub fn store_remains(remains: &Remains, out: &Directory) -> Result<Directory, OutputError> {
    let variant = format!("{} failed", remains.variant);
    let directory = open_directory(out, &remains.experiment, &variant, 0)?;
    store_words(&remains.outcome, &directory)?;
    Ok(directory)
}

/// Console, output of the job, and every text that the job left.
fn store_words(outcome: &Outcome, directory: &Directory) -> Result<(), OutputError> {
    for (name, text) in outcome.results.files() {
        if name.extension().is_some_and(|extension| extension == "txt") {
            let name = name.file_name().unwrap_or_default();
            directory.write(name, |file| file.write_all(text))?;
        }
    }
    directory.write("console.log", |file| file.write_all(outcome.console.as_bytes()))?;
    directory.write("job.log", |file| file.write_all(outcome.results.job_log().as_bytes()))
}

/// Every repetition of every series.
fn list_lengths(run: &VariantRun) -> impl Iterator<Item = Length<'_>> {
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

fn summarize_run(run: &VariantRun) -> Summary {
    let series = run.series.iter().flat_map(|series| series.bench.clone()).collect();
    Summary::from_measured(Measured::Bench { bench: sort_and_label(series) })
}

fn read_meta(run: &VariantRun) -> Result<Meta, OutputError> {
    let facts = Directory::open(run.files.path(), false)?.create_directory("host")?;
    let config = format!("config-{}", run.kernel.release);
    facts
        .create_directory("boot")?
        .write(config, |file| io::copy(&mut input::open(&run.kernel.config)?, file).map(drop))?;
    let host = Host::new(facts.path());
    let after = Host::new(run.files.path().join("after"));
    let mut kernel = host.kernel_info();
    run.kernel.arch.name().clone_into(&mut kernel.machine);
    Ok(Meta {
        schema_version: SCHEMA_VERSION,
        irqpath_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: format!("lab guest, {}", run.variant.name),
        duration_ns: run.outcome.job_ns.unwrap_or_default(),
        source: describe_source(run),
        is_exact: run.outcome.exact && run.instruction.is_one(),
        kernel,
        cpu: host.cpu_info(),
        isolation: host.isolation(),
        // A guest without them still has its figures.
        before: host.interrupt_counts().unwrap_or_default(),
        after: after.interrupt_counts().unwrap_or_default(),
        ..Meta::default()
    })
}

fn describe_source(run: &VariantRun) -> String {
    if run.outcome.exact {
        format!("lab, exact: {}", describe_speed(run.instruction))
    } else {
        "lab, several virtual CPUs: not exact".to_owned()
    }
}

/// How a guest's clock counts; `irqpath compare` knows an exact run by what stands before it.
fn describe_speed(instruction: InstructionTime) -> String {
    match instruction.ns() {
        1 => "1 ns is one instruction".to_owned(),
        ns => format!("an instruction takes {ns} ns"),
    }
}

/// Where the result directory of a variant's draw lies below the table.
pub fn variant_directory(experiment: &str, variant: &str, draw: u32) -> String {
    format!("{experiment}/{}", name_in(variant, draw))
}

/// The name of its directory in that of its experiment.
fn name_in(variant: &str, draw: u32) -> String {
    let name = variant.replace([' ', '/'], "-");
    if draw > 0 { format!("{name}-draw-{draw}") } else { name }
}

/// Opens the same directory below `out`, and makes it if it is missing.
pub(super) fn open_directory(
    out: &Directory,
    experiment: &str,
    variant: &str,
    draw: u32,
) -> Result<Directory, OutputError> {
    out.create_directory(experiment)?.create_directory(name_in(variant, draw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_stored_where_the_table_says_it_is() {
        let below = tempfile::tempdir().unwrap();
        let out = Directory::open(below.path(), false).unwrap();
        for variant in ["rt x86-64", "6.12-rt", "a/b failed"] {
            for draw in [0, 7] {
                let stored = open_directory(&out, "ihm-net", variant, draw).unwrap();
                let place = variant_directory("ihm-net", variant, draw);
                assert_eq!(stored.path(), below.path().join(place));
                assert!(stored.path().is_dir(), "{variant}");
            }
        }
    }
}
