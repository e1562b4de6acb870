// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything that `trace` writes to files: opened before the measurement starts, so that a
//! target that cannot be written is refused at once; filled at its end; and given the final
//! names only when all of it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use irqpath_files::output::{StagedDir, StagedFile, full};
use irqpath_model::{Meta, Summary};

use crate::cli::Output;
use crate::session::Finished;
use crate::shown;
use crate::signals::Stop;
use crate::sinks::Sinks;
use crate::stored;

/// Standard output, where a file name is expected.
const STDOUT: &str = "-";

/// A file that is filled at the end.
type Late = Option<(StagedFile, File)>;

/// The targets, open.
#[derive(Default)]
pub struct Outputs {
    directory: Option<StagedDir>,
    json: Late,
    report: Late,
    openmetrics: Late,
    /// Filled by the sinks; only the names are left to give.
    streamed: Vec<StagedFile>,
    json_to_stdout: bool,
}

/// True if any output wants every path and transition.
pub fn record_all(asked: &Output) -> bool {
    asked.result.directory.is_some() || asked.perfetto.is_some() || asked.record.is_some()
}

/// What is left when everything is written.
pub struct Written {
    /// The numbers.
    pub summary: Summary,
    /// What was written.
    pub paths: Vec<PathBuf>,
}

impl Outputs {
    /// Open everything that was asked for.
    pub fn open(asked: &Output, meta: &Meta) -> anyhow::Result<(Self, Sinks)> {
        let mut sinks = Sinks::default();
        let mut this =
            Self { json_to_stdout: is_stdout(asked.result.json.as_deref()), ..Self::default() };
        if let Some(target) = &asked.result.directory {
            let staged = StagedDir::create(target, asked.result.force, stored::is_meta)?;
            sinks.add_samples(staged.file("samples.parquet")?, target.join("samples.parquet"))?;
            this.directory = Some(staged);
        }
        match &asked.perfetto {
            None => {}
            Some(Some(path)) => {
                let (staged, file) = StagedFile::create(path)?;
                this.streamed.push(staged);
                sinks.add_perfetto(file, path.clone());
            }
            Some(None) => {
                let staged = this
                    .directory
                    .as_ref()
                    .context("--perfetto without a file name needs -o DIR; give it a name")?;
                let name = "trace.pftrace";
                sinks.add_perfetto(staged.file(name)?, staged.target().join(name));
            }
        }
        if let Some(path) = &asked.record {
            sinks.add_recording(path.clone(), meta)?;
        }
        if !this.json_to_stdout {
            this.json = late(asked.result.json.as_deref())?;
        }
        this.report = late(asked.result.report.as_deref())?;
        this.openmetrics = late(asked.openmetrics.as_deref())?;
        Ok((this, sinks))
    }

    /// True if standard output is for JSON only.
    pub fn json_to_stdout(&self) -> bool {
        self.json_to_stdout
    }

    /// Fill what is filled at the end and give everything its final name.
    pub fn commit(self, meta: &Meta, finished: Finished, stop: &Stop) -> anyhow::Result<Written> {
        let Finished { summary, snapshot, mut sinks, .. } = finished;
        if let Some(staged) = &self.directory {
            fill_directory(staged, meta, &summary)?;
        }
        let mut files = self.streamed;
        files.extend(fill(self.json, |w| shown::document(w, meta, &summary))?);
        files.extend(fill(self.report, |w| shown::report(w, meta, &summary))?);
        files.extend(fill(self.openmetrics, |w| shown::openmetrics(w, meta, &summary))?);
        stop.check()?;
        let mut paths = Vec::new();
        for file in files {
            paths.push(file.commit()?);
        }
        if let Some(snapshot) = snapshot {
            paths.extend(sinks.commit_recording(meta, &snapshot)?);
        }
        if let Some(staged) = self.directory {
            paths.push(staged.commit()?);
        }
        Ok(Written { summary, paths })
    }
}

/// True if a file name stands for standard output.
pub fn is_stdout(path: Option<&Path>) -> bool {
    path.is_some_and(|p| p.as_os_str() == STDOUT)
}

fn late(path: Option<&Path>) -> anyhow::Result<Late> {
    if let Some(path) = path {
        ensure!(
            !is_stdout(Some(path)),
            "only --json can write to standard output; give a file name"
        );
        return Ok(Some(StagedFile::create(path)?));
    }
    Ok(None)
}

fn fill(
    late: Late,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<Option<StagedFile>> {
    let Some((staged, file)) = late else { return Ok(None) };
    let mut file = BufWriter::new(file);
    write(&mut file).and_then(|()| file.flush()).with_context(|| full(staged.target()))?;
    Ok(Some(staged))
}

fn fill_directory(staged: &StagedDir, meta: &Meta, summary: &Summary) -> anyhow::Result<()> {
    let write = |name: &str, write: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
        let mut file = BufWriter::new(staged.file(name)?);
        write(&mut file)
            .and_then(|()| file.flush())
            .with_context(|| full(&staged.target().join(name)))
    };
    write("meta.json", &|w| shown::meta(w, meta))?;
    write("summary.json", &|w| shown::summary(w, summary))?;
    write("report.html", &|w| shown::report(w, meta, summary))
}
