// SPDX-License-Identifier: GPL-2.0-or-later
//! Results of a campaign's units: one variant each, stored without place and time, and put together
//! afterwards as if one run of the lab had made them.

use std::io;
use std::path::Path;

use irqpath_files::input;
use irqpath_files::output::{Directory, OutputError};
use irqpath_model::{Made, Meta, Reproduced, ReproducedVariant, Reproduction, Summary};
use irqpath_report::{html, json};
use serde::de::DeserializeOwned;

use super::directory::{list_files, open_directory, write_result};
use super::table::{tabulate_experiment, take_medians};
use super::{ResultsError, collect, store_merged};
use crate::experiment::definition::Definition;
use crate::experiment::manifest::Manifest;
use crate::experiment::run::{Options, VariantRun};

/// The unit's part of the table.
const ROW: &str = "row.json";
/// Of a file that is read whole, bytes.
const MAX_FILE: u64 = 64 << 20;

/// Writes a variant's result directory as a unit of a campaign: nothing in it depends on when, where
/// and by which command it was made.
pub fn store_unit(
    definition: &Definition,
    run: &VariantRun,
    options: &Options,
    directory: &Directory,
) -> Result<(), OutputError> {
    write_result(definition, run, directory, &[], "")?;
    let options = Options { variants: vec![run.variant.name.clone()], ..options.clone() };
    let run = std::slice::from_ref(run);
    let row = tabulate_experiment(definition, run, &options, &Made::default());
    directory.write(ROW, |file| json::write_part(file, &row))
}

/// Reads the part of the table that a unit has stored.
pub fn read_row(unit: &Path) -> Result<Reproduced, ResultsError> {
    parse_file(&unit.join(ROW))
}

/// Copies the files of a unit to where `lab run` puts them, and adds the command and its time.
pub fn copy_unit(
    unit: &Path,
    manifest: &Manifest,
    row: &Reproduced,
    out: &Directory,
    (made, started_at): (&Made, &str),
) -> Result<(), ResultsError> {
    let drawn = row.variants.first();
    let variant = drawn.map_or("", |variant| &variant.name);
    let draw = drawn.and_then(|variant| variant.draws.keys().next().copied()).unwrap_or(0);
    let directory = open_directory(out, &row.id, variant, draw)?;
    for name in manifest.files.keys().filter(|name| *name != ROW) {
        let from = unit.join(name);
        directory.write(name, |file| io::copy(&mut input::open(&from)?, file).map(drop))?;
    }
    let (command, started_at) = (made.command.clone(), started_at.to_owned());
    let meta = Meta { command, started_at, ..parse_file(&unit.join("meta.json"))? };
    directory.write("meta.json", |file| json::write_meta(file, &meta))?;
    if manifest.files.contains_key("report.html") {
        let summary: Summary = parse_file(&unit.join("summary.json"))?;
        let options = html::Options::default();
        directory.write("report.html", |page| html::write(page, &meta, &summary, options))?;
    }
    Ok(list_files(&directory, &manifest.identity, manifest.wall_ms)?)
}

/// Puts the units of each experiment together, and into the table of a directory.
pub fn store_rows(
    definitions: &[&Definition],
    rows: &[Reproduced],
    made: &Made,
    directory: &Directory,
) -> Result<Reproduction, ResultsError> {
    let mut table = Reproduction::new(&made.irqpath_version, made.command.clone());
    for definition in definitions {
        let of_it: Vec<&Reproduced> = rows.iter().filter(|row| row.id == definition.id).collect();
        let of_it = merge_draws(&of_it);
        let merge = |all: Option<Reproduced>, row: &Reproduced| match all {
            Some(all) => Some(collect::merge_variants(definition, row, &all)),
            None => Some(row.clone()),
        };
        let merged = of_it.iter().fold(None, merge);
        table.experiments.extend(merged.map(|row| Reproduced { made: Some(made.clone()), ..row }));
    }
    store_merged(directory, definitions, &table, &[])?;
    Ok(table)
}

/// The units of each variant as one: their draws together, and of the rest what the first draw has.
fn merge_draws(rows: &[&Reproduced]) -> Vec<Reproduced> {
    let mut merged: Vec<Reproduced> = Vec::new();
    for row in rows {
        let Some(new) = row.variants.first() else { continue };
        let same = |known: &&mut Reproduced| known.variants[0].name == new.name;
        match merged.iter_mut().find(same) {
            Some(known) => {
                let first = |variant: &ReproducedVariant| variant.draws.keys().next().copied();
                let mut draws = std::mem::take(&mut known.variants[0].draws);
                if first(new) < draws.keys().next().copied() {
                    *known = (*row).clone();
                }
                draws.extend(new.draws.clone());
                known.variants[0].draws = draws;
                take_medians(&mut known.variants[0]);
            }
            None => merged.push((*row).clone()),
        }
    }
    merged
}

fn parse_file<T: DeserializeOwned>(path: &Path) -> Result<T, ResultsError> {
    let read = input::read(path, MAX_FILE);
    let text = read.map_err(|source| ResultsError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&text)
        .map_err(|source| ResultsError::Syntax { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
id = "one"
title = "First"
source = { document = "000", section = "1" }
mode = "exact"
workload = "Work."
time_limit_s = 1
guest = { job = "one.sh" }
variant = [{ name = "rt", flavour = "stock-rt" }, { name = "stock", flavour = "stock" }]
series = [{ name = "s" }]
check = [{ claim = "It is less", paper = "2", value = { ratio = ["s.n", "stock:s.n"] }, expect = { max = 1 } }]
"#;

    /// What a unit of one variant stores.
    fn make_row(definition: &Definition, variant: &str, value: f64) -> Reproduced {
        let options = Options { variants: vec![variant.to_owned()], ..Options::default() };
        let row = tabulate_experiment(definition, &[], &options, &Made::default());
        let metrics = [("s.n".to_owned(), value)].into();
        let ran = ReproducedVariant { name: variant.to_owned(), metrics, ..Default::default() };
        let mut row = Reproduced { variants: vec![ran], ..row };
        row.not_run.retain(|part| part.variant != variant);
        row
    }

    #[test]
    fn the_units_of_an_experiment_are_judged_together() {
        let place = tempfile::tempdir().unwrap();
        let jobs = place.path().join("jobs");
        std::fs::create_dir(&jobs).unwrap();
        std::fs::write(jobs.join("one.sh"), "true").unwrap();
        std::fs::write(place.path().join("one.toml"), FILE).unwrap();
        let definition = &Definition::read(&place.path().join("one.toml")).unwrap();
        let rows = [make_row(definition, "rt", 3.0), make_row(definition, "stock", 4.0)];
        let out = tempfile::tempdir().unwrap();
        let out = Directory::open(out.path(), false).unwrap();
        let made = Made { commit: "abc".to_owned(), ..Made::default() };
        let table = store_rows(&[definition], &rows, &made, &out).unwrap();
        let found = &table.experiments[0];
        assert_eq!((found.variants.len(), found.not_run.len()), (2, 0));
        let ours: Vec<&str> = found.claims[0].outcomes.iter().map(|o| o.ours.as_str()).collect();
        assert_eq!(ours, ["0.75", "1.00"]);
        assert_eq!(found.made.as_ref().map(|made| made.commit.as_str()), Some("abc"));
        // One of them alone says that the other is not there.
        let table = store_rows(&[definition], &rows[..1], &made, &out).unwrap();
        assert_eq!(table.experiments[0].not_run.len(), 1);
    }

    #[test]
    fn the_draws_of_a_variant_are_one_row_whatever_their_order() {
        let drawn = |variant: &str, draw: u32, value: f64| {
            let metrics: std::collections::BTreeMap<_, _> = [("s.n".to_owned(), value)].into();
            let draws = [(draw, metrics.clone())].into();
            let name = variant.to_owned();
            let variants = vec![ReproducedVariant { name, metrics, draws, ..Default::default() }];
            Reproduced { title: draw.to_string(), variants, ..Reproduced::default() }
        };
        let rows =
            [drawn("rt", 2, 9.0), drawn("stock", 0, 1.0), drawn("rt", 0, 3.0), drawn("rt", 1, 4.0)];
        let merged = merge_draws(&rows.iter().collect::<Vec<_>>());
        let names: Vec<_> = merged.iter().map(|row| row.variants[0].name.as_str()).collect();
        assert_eq!(names, ["rt", "stock"]);
        // What is not of all draws is that of the first one.
        assert_eq!(merged[0].title, "0");
        let variant = &merged[0].variants[0];
        assert_eq!(variant.draws.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(variant.metrics, [("s.n".to_owned(), 4.0)].into());
    }
}
