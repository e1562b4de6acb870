// SPDX-License-Identifier: GPL-2.0-or-later
//! The files that grow while the measurement runs: samples, Perfetto trace, recording. Each is a
//! writer on a file that `staging` keeps out of sight until everything is complete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::Context as _;
use irqpath_files::output::describe_failed_write;
use irqpath_model::record::KernelStack;
use irqpath_model::{Event, Meta, Names, Snapshot};
use irqpath_report::parquet::SampleWriter;
use irqpath_report::perfetto::PerfettoWriter;
use irqpath_source::replay::RecordingWriter;

/// Large enough that a batch of events is one write.
const BUFFER: usize = 256 << 10;

type Output = BufWriter<File>;

/// A writer and the name that people know its file by.
struct Sink<W> {
    writer: W,
    path: PathBuf,
}

/// The files that were asked for.
#[derive(Default)]
pub struct Streams {
    samples: Option<Sink<SampleWriter<Output>>>,
    perfetto: Option<Sink<PerfettoWriter<Output>>>,
    recording: Option<Sink<RecordingWriter>>,
}

impl Streams {
    /// Write every path to this file.
    pub fn add_samples(&mut self, file: File, path: PathBuf, meta: &Meta) -> anyhow::Result<()> {
        let writer = SampleWriter::new(buffer_file(file), &meta.run_identity())
            .with_context(|| describe_failed_write(&path))?;
        self.samples = Some(Sink { writer, path });
        Ok(())
    }

    /// Write paths and transitions to this file.
    pub fn add_perfetto(&mut self, file: File, path: PathBuf) {
        self.perfetto = Some(Sink { writer: PerfettoWriter::new(buffer_file(file)), path });
    }

    /// Record everything; the recording has its own way to appear only when it is complete.
    pub fn add_recording(&mut self, path: PathBuf, meta: &Meta) -> anyhow::Result<()> {
        let writer = RecordingWriter::create(&path, meta)?;
        self.recording = Some(Sink { writer, path });
        Ok(())
    }

    /// The same in a file of a directory that appears as a whole.
    pub fn add_recording_file(
        &mut self,
        file: File,
        path: PathBuf,
        meta: &Meta,
    ) -> anyhow::Result<()> {
        let writer = RecordingWriter::with_file(file, &path, meta)?;
        self.recording = Some(Sink { writer, path });
        Ok(())
    }

    /// Write events to every file that is open; the error names the file.
    pub fn write_events(&mut self, events: &[Event], names: &Names) -> anyhow::Result<()> {
        if let Some(Sink { writer, path }) = &mut self.samples {
            for event in events {
                if let Event::Path(record) = event {
                    writer.push(record, names).with_context(|| describe_failed_write(path))?;
                }
            }
        }
        if let Some(Sink { writer, path }) = &mut self.perfetto {
            for event in events {
                match event {
                    Event::Path(record) => writer.write_path(record, names),
                    Event::Occupancy(block) => writer.write_occupancy(block, names),
                }
                .with_context(|| describe_failed_write(path))?;
            }
        }
        if let Some(Sink { writer, path }) = &mut self.recording {
            writer.write_events(events).with_context(|| describe_failed_write(path))?;
        }
        Ok(())
    }

    /// Write the stacks of who blocked paths to the trace.
    pub fn write_stacks(
        &mut self,
        stacks: &[KernelStack],
        functions: &BTreeMap<u64, String>,
    ) -> anyhow::Result<()> {
        let Some(Sink { writer, path }) = &mut self.perfetto else { return Ok(()) };
        writer.write_stacks(stacks, functions).with_context(|| describe_failed_write(path))
    }

    /// Write what samples and trace want at their end, down to the files.
    pub fn complete_files(&mut self) -> anyhow::Result<()> {
        if let Some(Sink { writer, path }) = self.samples.take() {
            let mut output = writer.finish().with_context(|| describe_failed_write(&path))?;
            output.flush().with_context(|| describe_failed_write(&path))?;
        }
        if let Some(Sink { writer, path }) = self.perfetto.take() {
            let mut output = writer.finish().with_context(|| describe_failed_write(&path))?;
            output.flush().with_context(|| describe_failed_write(&path))?;
        }
        Ok(())
    }

    /// True if everything is recorded.
    pub fn has_recording(&self) -> bool {
        self.recording.is_some()
    }

    /// Complete the recording and give it its name. Returns that.
    pub fn commit_recording(
        &mut self,
        meta: &Meta,
        snapshot: &Snapshot,
    ) -> anyhow::Result<Option<PathBuf>> {
        let Some(Sink { writer, path }) = self.recording.take() else { return Ok(None) };
        writer.finish(meta, snapshot).with_context(|| describe_failed_write(&path))?;
        Ok(Some(path))
    }
}

fn buffer_file(file: File) -> Output {
    BufWriter::with_capacity(BUFFER, file)
}
