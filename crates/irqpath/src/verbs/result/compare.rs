// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath compare`: two results, several a side, or a history.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail, ensure};
use irqpath_files::input;
use irqpath_model::Meta;
use irqpath_report::compare::{History, Point, Run, compare_results};
use irqpath_report::parquet::TableReader;
use irqpath_report::text::Page;

use super::args::Compare;
use super::directory::{self, Stored};
use crate::output::console;

/// Results of one side, of which only the numbers are kept.
const MAX_RUNS: usize = 1000;

pub fn run(arguments: &Compare) -> anyhow::Result<ExitCode> {
    let Compare { a, b, history, json } = arguments;
    if *history {
        ensure!(b.is_empty(), "--history takes one list of results; leave out --");
        return compare_history(a, *json);
    }
    let (a, b) = match (a.as_slice(), b.as_slice()) {
        ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        (_, []) => bail!("give two results, several as A... -- B..., or --history"),
        (a, b) => (a, b),
    };
    let (sides, names) = (read_side(a, b.len() == 1)?, read_side(b, a.len() == 1)?);
    let ((a, a_name), (b, b_name)) = (sides, names);
    let comparison = compare_results(&a, &b);
    if *json {
        console::print_json(&comparison, false)?;
    } else {
        let mut page = Page::default();
        page.add_line(format_args!("A: {a_name}"));
        page.add_line(format_args!("B: {b_name}"));
        page.add_blank();
        page.append_page(&comparison.render_table());
        console::print_page(&page)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The results of a side and its name; samples are kept where each side has one result.
fn read_side(paths: &[PathBuf], is_other_single: bool) -> anyhow::Result<(Vec<Run>, String)> {
    check_number(paths)?;
    let is_single = paths.len() == 1 && is_other_single;
    let (mut runs, mut name) = (Vec::new(), String::new());
    for path in paths {
        let (meta, run) = read_run(path)?;
        runs.push(if is_single { run } else { run.without_samples() });
        if name.is_empty() {
            name = describe_result(path, &meta);
        }
    }
    if paths.len() > 1 {
        name = format!("{} results, the first: {name}", paths.len());
    }
    Ok((runs, name))
}

/// A result with the lengths of its table, if it is one of the lab.
fn read_run(path: &Path) -> anyhow::Result<(Meta, Run)> {
    let Stored { meta, summary } = directory::read_result(path, directory::MAX_OF_TWO)?;
    let mut run = Run::from_result(&meta, &summary);
    drop(summary);
    if !meta.source.starts_with("lab") {
        return Ok((meta, run));
    }
    for name in ["lengths.parquet", "samples.parquet"] {
        let table = path.join(name);
        match input::open(&table) {
            Ok(file) => {
                let lengths = TableReader::open(file).and_then(|reader| reader.collect_lengths());
                run.add_lengths(&lengths.map_err(|e| anyhow!("{}: {e}", table.display()))?);
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let shown = table.display();
                return Err(error).with_context(|| format!("cannot read {shown}; check it"));
            }
        }
    }
    Ok((meta, run))
}

fn check_number(paths: &[PathBuf]) -> anyhow::Result<()> {
    let max = MAX_RUNS.min(History::MAX);
    ensure!(paths.len() <= max, "{} results are more than {max}; give the last ones", paths.len());
    Ok(())
}

fn describe_result(path: &Path, meta: &Meta) -> String {
    let on = meta.kernel.policies_suffix();
    format!("{} ({}, {}{on})", path.display(), meta.host, meta.kernel.release)
}

fn compare_history(paths: &[PathBuf], json: bool) -> anyhow::Result<ExitCode> {
    check_number(paths)?;
    let mut results = Vec::new();
    for path in paths {
        let (meta, run) = read_run(path)?;
        let point = Point {
            directory: path.display().to_string(),
            started_at: meta.started_at.clone(),
            run: meta.run_identity(),
        };
        results.push((point, run.without_samples()));
    }
    let history = History::find(results);
    if json {
        console::print_json(&history, false)?;
    } else {
        console::print_page(&history.render())?;
    }
    Ok(ExitCode::SUCCESS)
}
