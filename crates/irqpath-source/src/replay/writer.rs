// SPDX-License-Identifier: GPL-2.0-or-later
//! Writing a recording. Under its final name a recording is whole or absent: it grows under a
//! temporary name beside it and is renamed when it is safe on the disk.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use irqpath_files::output::StagedFile;
use irqpath_model::{Event, Meta, Snapshot};

use super::format::{END_MAGIC, FRAME_WEIGHT, FrameWriter, Kind, MAGIC, Summed, Trailer, VERSION};
use crate::SourceError;

/// Writes a recording; dropped without [`RecordingWriter::finish`] it leaves nothing behind.
pub struct RecordingWriter {
    path: PathBuf,
    /// `None` for one in a directory that is itself not complete yet.
    staged: Option<StagedFile>,
    /// `None` after a failure: what was written then is not a recording.
    encoder: Option<Encoder<BufWriter<File>>>,
}

impl RecordingWriter {
    /// Start a recording that will be at `path`, which is replaced if it exists.
    pub fn create(path: &Path, meta: &Meta) -> Result<Self, SourceError> {
        let error = |source| SourceError::Io { path: path.to_owned(), source };
        let (staged, file) = StagedFile::create(path)?;
        if !staged.is_file() {
            let text = "not a regular file; name a file that can be replaced";
            return Err(error(io::Error::new(io::ErrorKind::InvalidInput, text)));
        }
        Self::start(file, path, Some(staged), meta)
    }

    /// Start one in an open file; `path` is for errors. Its name is the caller's matter.
    pub fn with_file(file: File, path: &Path, meta: &Meta) -> Result<Self, SourceError> {
        Self::start(file, path, None, meta)
    }

    fn start(
        file: File,
        path: &Path,
        staged: Option<StagedFile>,
        meta: &Meta,
    ) -> Result<Self, SourceError> {
        let path = path.to_owned();
        match Encoder::new(BufWriter::new(file), meta) {
            Ok(encoder) => Ok(Self { path, staged, encoder: Some(encoder) }),
            Err(source) => Err(SourceError::Io { path, source }),
        }
    }

    /// Append events, in the order in which the source delivered them.
    pub fn write_events(&mut self, events: &[Event]) -> Result<(), SourceError> {
        let mut encoder = self.take_encoder()?;
        encoder.write_events(events).map_err(|e| self.io_error(e))?;
        self.encoder = Some(encoder);
        Ok(())
    }

    /// Complete the recording and give it its name.
    pub fn finish(mut self, meta: &Meta, snapshot: &Snapshot) -> Result<(), SourceError> {
        let written = self.take_encoder()?.finish(meta, snapshot);
        let file = written.and_then(|w| w.into_inner().map_err(io::IntoInnerError::into_error));
        file.map_err(|e| self.io_error(e))?;
        self.staged.map_or(Ok(()), |staged| staged.commit().map(drop))?;
        Ok(())
    }

    fn take_encoder(&mut self) -> Result<Encoder<BufWriter<File>>, SourceError> {
        let failed = || io::Error::other("an earlier write failed, the recording is incomplete");
        self.encoder.take().ok_or_else(|| self.io_error(failed()))
    }

    fn io_error(&self, source: io::Error) -> SourceError {
        SourceError::Io { path: self.path.clone(), source }
    }
}

/// The format, over any writer.
pub(super) struct Encoder<W: Write> {
    head: FrameWriter<Summed<W>>,
}

impl<W: Write> Encoder<W> {
    pub fn new(inner: W, meta: &Meta) -> io::Result<Self> {
        let mut out = Summed::new(inner);
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        let mut head = FrameWriter::new(out)?;
        head.write(Kind::Meta, &serde_json::to_vec(meta)?)?;
        Ok(Self { head })
    }

    pub fn write_events(&mut self, events: &[Event]) -> io::Result<()> {
        let mut batch: Vec<Cow<'_, Event>> = Vec::new();
        let mut weight = 0;
        for event in events.iter().flat_map(split_event) {
            weight += match &*event {
                Event::Path(_) => 1,
                Event::Occupancy(block) => block.len().max(1),
            };
            batch.push(event);
            if weight >= FRAME_WEIGHT {
                self.write_frame(&batch)?;
                batch.clear();
                weight = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.write_frame(&batch) }
    }

    fn write_frame(&mut self, batch: &[Cow<'_, Event>]) -> io::Result<()> {
        self.head.write(Kind::Events, &rmp_serde::to_vec(batch).map_err(io::Error::other)?)
    }

    pub fn finish(self, meta: &Meta, snapshot: &Snapshot) -> io::Result<W> {
        let nr_head = self.head.nr_frames;
        let out = self.head.finish()?;
        let tail_offset = out.len;
        let mut tail = FrameWriter::new(out)?;
        tail.write(Kind::Meta, &serde_json::to_vec(meta)?)?;
        tail.write(Kind::Snapshot, &rmp_serde::to_vec(snapshot).map_err(io::Error::other)?)?;
        let nr_frames = nr_head + tail.nr_frames;
        let mut out = tail.finish()?;
        out.write_all(&Trailer { tail_offset, nr_frames }.to_bytes())?;
        let crc = out.crc.clone().finalize();
        out.write_all(&crc.to_le_bytes())?;
        out.write_all(&END_MAGIC)?;
        out.flush()?;
        Ok(out.inner)
    }
}

/// An event, or its parts where it is a block of transitions too long for one frame.
fn split_event(event: &Event) -> Vec<Cow<'_, Event>> {
    match event {
        Event::Occupancy(block) if block.len() > FRAME_WEIGHT => block
            .chunks(FRAME_WEIGHT)
            .map(|part| Cow::Owned(Event::Occupancy(part.to_vec())))
            .collect(),
        _ => vec![Cow::Borrowed(event)],
    }
}
