// SPDX-License-Identifier: GPL-2.0-or-later
//! Opening a recording: it is checked as a whole before anything of it is shown, so that a
//! damaged one is refused at once and not after half of a report.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use irqpath_files::input;
use irqpath_model::{Event, Meta, Snapshot};

use super::format::{
    END_MAGIC, Events, FrameError, FrameReader, HEADER_LEN, Kind, MAGIC, OLDEST_VERSION,
    TRAILER_LEN, Trailer, VERSION, decode_payload,
};
use crate::SourceError;

/// An opened recording: its results, and its events still to be read.
pub(super) struct Opened {
    pub meta: Meta,
    pub snapshot: Snapshot,
    frames: FrameReader<io::Take<File>>,
    /// Frames that the trailer promises for the head.
    nr_expected: u64,
}

/// Why not, still without the path.
enum OpenError {
    Frame(FrameError),
    Version(u32),
}

impl<E: Into<FrameError>> From<E> for OpenError {
    fn from(error: E) -> Self {
        Self::Frame(error.into())
    }
}

fn frame_damage(reason: &str) -> FrameError {
    FrameError::Damaged(reason.to_owned())
}

/// Add the path to an error.
pub(super) fn locate_error(path: &Path, error: FrameError) -> SourceError {
    let path = path.to_owned();
    match error {
        FrameError::Io(source) => SourceError::Io { path, source },
        FrameError::Damaged(reason) => SourceError::Corrupt { path, reason },
    }
}

/// Opens a recording and checks its lengths, checksums and version.
pub(super) fn open(path: &Path) -> Result<Opened, SourceError> {
    let io = |source| SourceError::Io { path: path.to_owned(), source };
    let file = input::open(path).map_err(io)?;
    read(file).map_err(|error| match error {
        OpenError::Frame(error) => locate_error(path, error),
        OpenError::Version(found) => {
            SourceError::Version { path: path.to_owned(), found, supported: VERSION }
        }
    })
}

fn read(mut file: File) -> Result<Opened, OpenError> {
    let len = file.metadata()?.len();
    if len == 0 {
        return Err(frame_damage("it is empty").into());
    }
    if len < HEADER_LEN {
        return Err(frame_damage("it is too short").into());
    }
    check_header(&mut file)?;
    if len < HEADER_LEN + TRAILER_LEN {
        return Err(frame_damage("it is cut off").into());
    }
    let trailer = check_trailer(&mut file, len)?;
    let end = len - TRAILER_LEN;
    if !(HEADER_LEN..=end).contains(&trailer.tail_offset) {
        return Err(frame_damage("its tail lies outside of it").into());
    }
    file.seek(SeekFrom::Start(trailer.tail_offset))?;
    let len = end - trailer.tail_offset;
    let mut tail = FrameReader::new((&file).take(len), len)?;
    let meta = parse_meta(&tail.expect_frame(Kind::Meta)?)?;
    let snapshot = decode_payload(&tail.expect_frame(Kind::Snapshot)?)?;
    tail.expect_end()?;
    let nr_expected = trailer.nr_frames.checked_sub(tail.nr_frames);
    drop(tail);
    file.seek(SeekFrom::Start(HEADER_LEN))?;
    let len = trailer.tail_offset - HEADER_LEN;
    let mut frames = FrameReader::new(file.take(len), len)?;
    parse_meta(&frames.expect_frame(Kind::Meta)?)?;
    let nr_expected = nr_expected.ok_or_else(|| frame_damage("it lacks frames"))?;
    Ok(Opened { meta, snapshot, frames, nr_expected })
}

fn check_header(file: &mut File) -> Result<(), OpenError> {
    let (mut magic, mut version) = ([0; 8], [0; 4]);
    file.read_exact(&mut magic)?;
    file.read_exact(&mut version)?;
    if magic != MAGIC {
        return Err(frame_damage("it does not begin like one").into());
    }
    match u32::from_le_bytes(version) {
        OLDEST_VERSION..=VERSION => Ok(()),
        found => Err(OpenError::Version(found)),
    }
}

/// Check end and checksum.
fn check_trailer(file: &mut File, len: u64) -> Result<Trailer, OpenError> {
    let (mut bytes, mut crc, mut magic) = ([0; 16], [0; 4], [0; 8]);
    file.seek(SeekFrom::Start(len - TRAILER_LEN))?;
    file.read_exact(&mut bytes)?;
    file.read_exact(&mut crc)?;
    file.read_exact(&mut magic)?;
    if magic != END_MAGIC {
        return Err(frame_damage("it is cut off").into());
    }
    let mut sum = crc32fast::Hasher::new();
    let mut buffer = vec![0; 256 << 10];
    let mut left = len - TRAILER_LEN + bytes.len() as u64;
    file.seek(SeekFrom::Start(0))?;
    while left > 0 {
        let want = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut buffer[..want])?;
        sum.update(&buffer[..want]);
        left -= want as u64;
    }
    if sum.finalize() != u32::from_le_bytes(crc) {
        return Err(frame_damage("its checksum is wrong").into());
    }
    Ok(Trailer::from_bytes(bytes))
}

fn parse_meta(payload: &[u8]) -> Result<Meta, FrameError> {
    serde_json::from_slice(payload).map_err(|e| FrameError::Damaged(format!("meta: {e}")))
}

impl Opened {
    /// The next events; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Vec<Event>>, FrameError> {
        match self.frames.next()? {
            // Never written, and millions of them are a few kilobytes.
            Some((Kind::Events, payload)) => match decode_payload(&payload)? {
                Events(events) if events.is_empty() => Err(frame_damage("a frame has no events")),
                Events(events) => Ok(Some(events)),
            },
            Some((kind, _)) => Err(FrameError::Damaged(format!("{kind:?} among the events"))),
            None if self.frames.nr_frames != self.nr_expected => {
                Err(frame_damage("it has not as many frames as it says"))
            }
            None => Ok(None),
        }
    }
}
