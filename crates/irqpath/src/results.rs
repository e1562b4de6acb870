// SPDX-License-Identifier: GPL-2.0-or-later
//! What `bench`, `respond` and `jitter` write to files: opened before the measurement, so that a target that cannot be
//! written is refused at once; given the final names when all of it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use irqpath_files::output::{Directory, OutputError, StagedDir, StagedFile, full};
use irqpath_model::{Meta, Summary};

use crate::cli_result::ResultOutput;
use crate::outputs::is_stdout;
use crate::page::Page;
use crate::signals::Stop;
use crate::{out, shown, stored};

/// The name below a result directory under which raw directories are kept.
const RAW: &str = "raw";

/// The targets, open.
pub struct ResultOutputs {
    directory: Option<StagedDir>,
    json: Option<(StagedFile, File)>,
    report: Option<(StagedFile, File)>,
    json_to_stdout: bool,
    /// Where raw directories go when no result directory was asked for.
    scratch: Option<tempfile::TempDir>,
}

impl ResultOutputs {
    /// Open everything that was asked for.
    pub fn open(asked: &ResultOutput) -> anyhow::Result<Self> {
        let json_to_stdout = is_stdout(asked.json.as_deref());
        let file = |path: &PathBuf| StagedFile::create(path);
        Ok(Self {
            directory: match &asked.directory {
                Some(target) => Some(StagedDir::create(target, asked.force, stored::is_meta)?),
                None => None,
            },
            json: asked.json.as_ref().filter(|_| !json_to_stdout).map(file).transpose()?,
            report: asked.report.as_ref().map(file).transpose()?,
            json_to_stdout,
            scratch: None,
        })
    }

    /// An empty directory for raw directories: kept with the result, or gone at the end.
    pub fn raw_directory(&mut self) -> anyhow::Result<Directory> {
        if let Some(staged) = &self.directory {
            return Ok(staged.directory(RAW)?);
        }
        let scratch = tempfile::tempdir()
            .context("no temporary directory can be made; set TMPDIR, or keep a result with -o")?;
        Ok(Directory::open(self.scratch.insert(scratch).path(), false)?)
    }

    /// Fill everything, and show it by `text` unless standard output is for JSON.
    pub fn show(
        self,
        meta: &Meta,
        summary: &Summary,
        stop: &Stop,
        text: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let json = self.json_to_stdout;
        let paths = self.commit(meta, summary, stop)?;
        if json {
            return out::write(|w| shown::document(w, meta, summary));
        }
        out::write(text)?;
        paths
            .iter()
            .try_for_each(|path| out::print(&Page::of(format_args!("wrote {}", path.display()))))
    }

    /// Fill everything and give it its final name. Returns what was written.
    fn commit(self, meta: &Meta, summary: &Summary, stop: &Stop) -> anyhow::Result<Vec<PathBuf>> {
        if let Some(staged) = &self.directory {
            fill_directory(staged, meta, summary)?;
        }
        let mut files = Vec::new();
        files.extend(fill(self.json, |w| shown::document(w, meta, summary))?);
        files.extend(fill(self.report, |w| shown::report(w, meta, summary))?);
        stop.check()?;
        let mut paths =
            files.into_iter().map(StagedFile::commit).collect::<Result<Vec<_>, OutputError>>()?;
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
