// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath report DIR...`: makes report.html again from what a result directory holds.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::ensure;
use serde::Serialize;

use super::args::Report;
use super::{directory, merge};
use crate::output::files::write_file;
use crate::output::{console, export};

/// One report that was written.
#[derive(Debug, Serialize)]
struct Written {
    directory: PathBuf,
    report: PathBuf,
}

pub fn run(arguments: &Report) -> anyhow::Result<ExitCode> {
    let directories = &arguments.directories;
    ensure!(
        arguments.output.is_none() || directories.len() == 1,
        "-o is for one directory; leave it out and each gets its own report.html"
    );
    if let Some(file) = &arguments.perfetto {
        let merged = merge::write_trace(directories, file)?;
        if arguments.json {
            console::print_json(&merged, false)?;
        } else {
            console::print_page(&merge::render_merged(&merged))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut written = Vec::new();
    for directory in directories {
        let report = arguments.output.clone().unwrap_or_else(|| directory.join("report.html"));
        report_directory(directory, &report)?;
        written.push(Written { directory: directory.clone(), report });
    }
    if arguments.json {
        console::print_json(&written, false)?;
    } else {
        for w in written {
            console::print_written(&w.report)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report_directory(directory: &Path, report: &Path) -> anyhow::Result<()> {
    let stored = directory::read_result(directory, directory::MAX_FILE)?;
    write_file(report, |file| export::write_report(file, &stored.meta, &stored.summary))
}
