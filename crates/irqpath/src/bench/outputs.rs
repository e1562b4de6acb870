// SPDX-License-Identifier: GPL-2.0-or-later
//! What `bench` writes to files: opened before the measurement, so that a target that cannot be
//! written is refused at once; given the final names when all of it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use irqpath_model::{Meta, Summary};

use crate::cli_bench::BenchOutput;
use crate::outputs::is_stdout;
use crate::shown;
use crate::signals::Stop;
use crate::staging::{StagedDir, StagedFile, full};

/// The name below a result directory under which raw directories are kept.
const RAW: &str = "raw";

/// The targets, open.
pub struct BenchOutputs {
    directory: Option<StagedDir>,
    json: Option<(StagedFile, File)>,
    report: Option<(StagedFile, File)>,
    json_to_stdout: bool,
    /// Where raw directories go when no result directory was asked for.
    scratch: Option<tempfile::TempDir>,
}

impl BenchOutputs {
    /// Open everything that was asked for.
    pub fn open(asked: &BenchOutput) -> anyhow::Result<Self> {
        let json_to_stdout = is_stdout(asked.json.as_deref());
        let file = |path: &PathBuf| StagedFile::create(path);
        Ok(Self {
            directory: match &asked.directory {
                Some(target) => Some(StagedDir::create(target, asked.force)?),
                None => None,
            },
            json: asked.json.as_ref().filter(|_| !json_to_stdout).map(file).transpose()?,
            report: asked.report.as_ref().map(file).transpose()?,
            json_to_stdout,
            scratch: None,
        })
    }

    /// True if standard output is for JSON only.
    pub fn json_to_stdout(&self) -> bool {
        self.json_to_stdout
    }

    /// An empty directory for raw directories: kept with the result, or gone at the end.
    pub fn raw_directory(&mut self) -> anyhow::Result<PathBuf> {
        if let Some(staged) = &self.directory {
            return staged.directory(RAW);
        }
        let scratch = tempfile::tempdir()
            .context("no temporary directory can be made; set TMPDIR, or keep a result with -o")?;
        Ok(self.scratch.insert(scratch).path().to_owned())
    }

    /// Fill everything and give it its final name. Returns what was written.
    pub fn commit(
        self,
        meta: &Meta,
        summary: &Summary,
        stop: &Stop,
    ) -> anyhow::Result<Vec<PathBuf>> {
        if let Some(staged) = &self.directory {
            fill_directory(staged, meta, summary)?;
        }
        let mut files = Vec::new();
        files.extend(fill(self.json, |w| shown::document(w, meta, summary))?);
        files.extend(fill(self.report, |w| shown::report(w, meta, summary))?);
        stop.check()?;
        let mut paths =
            files.into_iter().map(StagedFile::commit).collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(staged) = self.directory {
            paths.push(staged.commit()?);
        }
        Ok(paths)
    }
}

fn fill(
    late: Option<(StagedFile, File)>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<Option<StagedFile>> {
    let Some((staged, file)) = late else { return Ok(None) };
    write_to(file, staged.target(), write)?;
    Ok(Some(staged))
}

fn write_to(
    file: File,
    name: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut file = BufWriter::new(file);
    write(&mut file).and_then(|()| file.flush()).with_context(|| full(name))
}

fn fill_directory(staged: &StagedDir, meta: &Meta, summary: &Summary) -> anyhow::Result<()> {
    let name = |file: &str| staged.target().join(file);
    write_to(staged.file("meta.json")?, &name("meta.json"), |w| shown::meta(w, meta))?;
    write_to(staged.file("summary.json")?, &name("summary.json"), |w| shown::summary(w, summary))?;
    write_to(staged.file("report.html")?, &name("report.html"), |w| shown::report(w, meta, summary))
}
