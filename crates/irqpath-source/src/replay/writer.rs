// SPDX-License-Identifier: GPL-2.0-or-later
//! Writing a recording. Under its final name a recording is whole or absent: it grows under a
//! temporary name beside it and is renamed when it is safe on the disk.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use irqpath_files::output::StagedFile;
use irqpath_model::{Event, Meta, Snapshot};

use super::format::{END_MAGIC, FRAME_WEIGHT, FrameWriter, Kind, MAGIC, Summed, Trailer, VERSION};
use crate::SourceError;

/// Writes a recording; dropped without [`RecordingWriter::finish`] it leaves nothing behind.
pub struct RecordingWriter {
    staged: StagedFile,
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
        let encoder = Encoder::new(BufWriter::new(file), meta).map_err(error)?;
        Ok(Self { staged, encoder: Some(encoder) })
    }

    /// Append events, in the order in which the source delivered them.
    pub fn events(&mut self, events: &[Event]) -> Result<(), SourceError> {
        let mut encoder = self.take()?;
        encoder.events(events).map_err(|e| self.error(e))?;
        self.encoder = Some(encoder);
        Ok(())
    }

    /// Complete the recording and give it its name.
    pub fn finish(mut self, meta: &Meta, snapshot: &Snapshot) -> Result<(), SourceError> {
        let written = self.take()?.finish(meta, snapshot);
        let file = written.and_then(|w| w.into_inner().map_err(io::IntoInnerError::into_error));
        file.map_err(|e| self.error(e))?;
        self.staged.commit()?;
        Ok(())
    }

    fn take(&mut self) -> Result<Encoder<BufWriter<File>>, SourceError> {
        let failed = || io::Error::other("an earlier write failed, the recording is incomplete");
        self.encoder.take().ok_or_else(|| self.error(failed()))
    }

    fn error(&self, source: io::Error) -> SourceError {
        SourceError::Io { path: self.staged.target().to_owned(), source }
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

    pub fn events(&mut self, events: &[Event]) -> io::Result<()> {
        let mut batch: Vec<Cow<'_, Event>> = Vec::new();
        let mut weight = 0;
        for event in events.iter().flat_map(split) {
            weight += match &*event {
                Event::Path(_) => 1,
                Event::Occupancy(block) => block.len().max(1),
            };
            batch.push(event);
            if weight >= FRAME_WEIGHT {
                self.frame(&batch)?;
                batch.clear();
                weight = 0;
            }
        }
        if batch.is_empty() { Ok(()) } else { self.frame(&batch) }
    }

    fn frame(&mut self, batch: &[Cow<'_, Event>]) -> io::Result<()> {
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
fn split(event: &Event) -> Vec<Cow<'_, Event>> {
    match event {
        Event::Occupancy(block) if block.len() > FRAME_WEIGHT => block
            .chunks(FRAME_WEIGHT)
            .map(|part| Cow::Owned(Event::Occupancy(part.to_vec())))
            .collect(),
        _ => vec![Cow::Borrowed(event)],
    }
}
