// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath report DIR...`: makes report.html again from what a result directory holds.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use irqpath_files::output::{StagedFile, full};
use serde::Serialize;

use crate::cli::Report;
use crate::page::Page;
use crate::{out, shown, stored};

/// One report that was written.
#[derive(Debug, Serialize)]
struct Written {
    directory: PathBuf,
    report: PathBuf,
}

/// Run it.
pub fn run(arguments: &Report) -> anyhow::Result<ExitCode> {
    let directories = &arguments.directories;
    ensure!(
        arguments.output.is_none() || directories.len() == 1,
        "-o is for one directory; leave it out and each gets its own report.html"
    );
    let mut written = Vec::new();
    for directory in directories {
        let report = arguments.output.clone().unwrap_or_else(|| directory.join("report.html"));
        one(directory, &report)?;
        written.push(Written { directory: directory.clone(), report });
    }
    if arguments.json {
        out::json(&written, false)?;
    } else {
        for w in written {
            out::print(&Page::of(format_args!("wrote {}", w.report.display())))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn one(directory: &Path, report: &Path) -> anyhow::Result<()> {
    let stored = stored::read(directory, stored::MAX_FILE)?;
    let (staged, file) = StagedFile::create(report)?;
    let mut file = BufWriter::new(file);
    shown::report(&mut file, &stored.meta, &stored.summary)
        .and_then(|()| file.flush())
        .with_context(|| full(report))?;
    staged.commit()?;
    Ok(())
}
