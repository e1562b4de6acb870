// SPDX-License-Identifier: GPL-2.0-or-later
//! The files that a measurement keeps: opened before it starts, so that a target that cannot be
//! written is refused at once; filled at its end; and given their final names only when all of
//! them are complete. The one type for this: every verb that measures uses it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use irqpath_files::output::{Directory, OutputError, StagedDir, StagedFile, describe_failed_write};
use irqpath_model::{Meta, Summary};
use irqpath_report::json::is_meta;

use super::args::{ResultOutput, is_stdout};
use super::console;
use super::export::{self, Exporter};
use crate::host::signals::Stop;

/// The name below a result directory under which raw directories are kept.
const RAW: &str = "raw";

/// The files and the directory that were asked for; none has its final name yet.
#[derive(Default)]
pub struct ResultFiles {
    directory: Option<StagedDir>,
    /// Filled at the end.
    late: Vec<(StagedFile, File, Exporter)>,
    /// Filled by others while the measurement runs; only the names are left to give.
    streamed: Vec<StagedFile>,
    json_to_stdout: bool,
    /// Where raw directories go when no result directory was asked for.
    scratch: Option<tempfile::TempDir>,
}

impl ResultFiles {
    /// Open everything that was asked for.
    pub fn open(asked: &ResultOutput) -> anyhow::Result<Self> {
        let mut files =
            Self { json_to_stdout: is_stdout(asked.json.as_deref()), ..Self::default() };
        if let Some(target) = &asked.directory {
            files.directory = Some(StagedDir::create(target, asked.force, is_meta)?);
        }
        if !files.json_to_stdout {
            files.add_late(asked.json.as_deref(), export::write_document)?;
        }
        files.add_late(asked.report.as_deref(), export::write_report)?;
        Ok(files)
    }

    /// Fill this file at the end, if there is one.
    pub fn add_late(&mut self, path: Option<&Path>, exporter: Exporter) -> anyhow::Result<()> {
        let Some(path) = path else { return Ok(()) };
        ensure!(
            !is_stdout(Some(path)),
            "only --json can write to standard output; give a file name"
        );
        let (staged, file) = StagedFile::create(path)?;
        self.late.push((staged, file, exporter));
        Ok(())
    }

    /// A file that the caller fills before [`Self::commit_files`].
    pub fn add_streamed(&mut self, path: &Path) -> anyhow::Result<File> {
        let (staged, file) = StagedFile::create(path)?;
        self.streamed.push(staged);
        Ok(file)
    }

    /// The same below the result directory, with its whole name; `None` if there is no directory.
    pub fn add_streamed_below(&self, name: &str) -> anyhow::Result<Option<(File, PathBuf)>> {
        let Some(staged) = &self.directory else { return Ok(None) };
        Ok(Some((staged.create_file(name)?, staged.target().join(name))))
    }

    /// An empty directory for raw directories: kept with the result, or gone at the end.
    pub fn raw_directory(&mut self) -> anyhow::Result<Directory> {
        if let Some(staged) = &self.directory {
            return Ok(staged.create_directory(RAW)?);
        }
        let scratch = tempfile::tempdir()
            .context("no temporary directory can be made; set TMPDIR, or keep a result with -o")?;
        Ok(Directory::open(self.scratch.insert(scratch).path(), false)?)
    }

    /// Fill what is filled at the end and give everything its final name, the directory last.
    /// `before_directory` gives a name to what the caller keeps. Returns what was written.
    pub fn commit_files(
        self,
        meta: &Meta,
        summary: &Summary,
        stop: &Stop,
        before_directory: impl FnOnce() -> anyhow::Result<Option<PathBuf>>,
    ) -> anyhow::Result<Written> {
        if let Some(staged) = &self.directory {
            for (name, exporter) in export::DIRECTORY {
                let file = staged.create_file(name)?;
                fill_file(file, &staged.target().join(name), |w| exporter(w, meta, summary))?;
            }
        }
        let mut files = self.streamed;
        for (staged, file, exporter) in self.late {
            fill_file(file, staged.target(), |w| exporter(w, meta, summary))?;
            files.push(staged);
        }
        stop.check_abort()?;
        let mut paths =
            files.into_iter().map(StagedFile::commit).collect::<Result<Vec<_>, OutputError>>()?;
        paths.extend(before_directory()?);
        if let Some(staged) = self.directory {
            paths.push(staged.commit()?);
        }
        Ok(Written { paths, json_to_stdout: self.json_to_stdout })
    }

    /// Commit, and show the result by `text` unless standard output is for JSON.
    pub fn commit_and_print(
        self,
        meta: &Meta,
        summary: &Summary,
        stop: &Stop,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        self.commit_files(meta, summary, stop, || Ok(None))?.print_result(meta, summary, text)
    }
}

/// What was written, with what is left to print.
pub struct Written {
    paths: Vec<PathBuf>,
    json_to_stdout: bool,
}

impl Written {
    /// Show the result by `text` and name the files, unless standard output is for JSON.
    pub fn print_result(
        self,
        meta: &Meta,
        summary: &Summary,
        text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        if self.json_to_stdout {
            return console::write_stdout(|w| export::write_document(w, meta, summary));
        }
        console::write_stdout(text)?;
        self.paths.iter().try_for_each(|path| console::print_written(path))
    }
}

/// Fill a file by `write`; `name` is for an error.
pub fn fill_file(
    file: File,
    name: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut file = BufWriter::new(file);
    write(&mut file).and_then(|()| file.flush()).with_context(|| describe_failed_write(name))
}

/// Write one complete file, under its name only when it is.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let (staged, file) = StagedFile::create(path)?;
    fill_file(file, path, write)?;
    staged.commit()?;
    Ok(())
}
