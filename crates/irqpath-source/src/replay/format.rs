// SPDX-License-Identifier: GPL-2.0-or-later
//! The recording format, as bytes.
//!
//! ```text
//! header   magic, version
//! head     zstd: meta as known at the start, events ...
//! tail     zstd: final meta, final snapshot
//! trailer  offset of the tail, number of frames, CRC-32 of all before it, end magic
//! ```
//! Head and tail are sequences of frames: kind, length, payload. Meta is JSON, so that it may
//! grow fields; the rest is MessagePack without field names, whose form is the types of
//! `irqpath-model`: a change of those types raises [`VERSION`]. What is only added at their ends
//! is read from older files as its default, down to [`OLDEST_VERSION`]. All numbers are little-endian.
//!
//! The rule to know: lengths in a file are claims. Nothing is allocated by them alone.

use std::fmt;
use std::io::{self, Read, Write};

use irqpath_model::Event;
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// First bytes of a recording. The line end shows transfers that changed line ends.
pub(super) const MAGIC: [u8; 8] = *b"IRQPATH\n";
/// Last bytes of a recording: it is whole.
pub(super) const END_MAGIC: [u8; 8] = *b"\nIRQPEND";
/// Version of the format that is written.
pub(super) const VERSION: u32 = 5;
/// Oldest version that is read: what the types have got since then stands at their ends and has
/// a default.
pub(super) const OLDEST_VERSION: u32 = 2;
/// Length of the header.
pub(super) const HEADER_LEN: u64 = 12;
/// Length of the trailer.
pub(super) const TRAILER_LEN: u64 = 28;
/// Longest frame of meta or snapshot; a full table of paths takes half of it. Decoded, one takes
/// many times as much memory.
pub(super) const MAX_FRAME: u32 = 4 << 20;
/// Paths and transitions per frame of events, about 300 KiB, and the most events of one.
pub(super) const FRAME_WEIGHT: usize = 4096;
/// Longest frame of events. Decoded, they take several times as much memory.
pub(super) const MAX_EVENTS_FRAME: u32 = 4 << 20;
/// Most decompressed bytes for each one of a recording. A live one of 2 s has 5; for zeros zstd has
/// thousands, and each takes time.
const MAX_RATIO: u64 = 256;
/// One byte of kind and four of length.
const FRAME_HEADER: u64 = 5;
/// What a recording may always have, whatever its length.
const MIN_DECOMPRESSED: u64 = 2 * MAX_FRAME as u64;
/// Largest zstd window accepted, as a power of two; the writer's level uses less.
const WINDOW_LOG_MAX: u32 = 22;
/// Fast: the recorder runs on the machine that is measured.
const LEVEL: i32 = 1;

/// What a frame contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Meta = 1,
    Events = 2,
    Snapshot = 3,
}

impl Kind {
    fn from_nr(nr: u8) -> Option<Self> {
        [Self::Meta, Self::Events, Self::Snapshot].into_iter().find(|&k| k as u8 == nr)
    }

    /// Largest payload that is written or accepted, bytes.
    pub const fn max_len(self) -> u32 {
        match self {
            Self::Events => MAX_EVENTS_FRAME,
            Self::Meta | Self::Snapshot => MAX_FRAME,
        }
    }
}

/// The last bytes of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trailer {
    pub tail_offset: u64,
    pub nr_frames: u64,
}

impl Trailer {
    /// The bytes that the checksum covers.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.tail_offset.to_le_bytes());
        bytes[8..].copy_from_slice(&self.nr_frames.to_le_bytes());
        bytes
    }

    /// The inverse of [`Trailer::to_bytes`].
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let (offset, nr) = bytes.split_at(8);
        let number = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("half of 16 bytes is 8"));
        Self { tail_offset: number(offset), nr_frames: number(nr) }
    }
}

/// A writer that counts and sums what passes.
pub(super) struct Summed<W> {
    pub inner: W,
    pub len: u64,
    pub crc: crc32fast::Hasher,
}

impl<W> Summed<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, len: 0, crc: crc32fast::Hasher::new() }
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.crc.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Write frames into one zstd stream.
pub(super) struct FrameWriter<W: Write> {
    zstd: zstd::Encoder<'static, W>,
    pub nr_frames: u64,
}

impl<W: Write> FrameWriter<W> {
    pub fn new(inner: W) -> io::Result<Self> {
        Ok(Self { zstd: zstd::Encoder::new(inner, LEVEL)?, nr_frames: 0 })
    }

    pub fn write(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let len = u32::try_from(payload.len()).ok().filter(|&len| len <= kind.max_len());
        let Some(len) = len else {
            let text = format!("{kind:?} of {} bytes do not fit into a recording", payload.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        self.zstd.write_all(&[kind as u8])?;
        self.zstd.write_all(&len.to_le_bytes())?;
        self.zstd.write_all(payload)?;
        self.nr_frames += 1;
        Ok(())
    }

    pub fn finish(self) -> io::Result<W> {
        self.zstd.finish()
    }
}

/// Why frames could not be read.
#[derive(Debug)]
pub(super) enum FrameError {
    Io(io::Error),
    /// The content is wrong.
    Damaged(String),
}

impl From<io::Error> for FrameError {
    /// What comes from the system has its number; the rest is zstd's opinion of the content.
    fn from(error: io::Error) -> Self {
        if error.raw_os_error().is_some() {
            Self::Io(error)
        } else {
            Self::Damaged(error.to_string())
        }
    }
}

/// Read frames from one zstd stream.
pub(super) struct FrameReader<R: Read> {
    zstd: zstd::Decoder<'static, io::BufReader<R>>,
    pub nr_frames: u64,
    /// Bytes that may still be decompressed.
    left: u64,
}

impl<R: Read> FrameReader<R> {
    /// For a stream of `len` bytes.
    pub fn new(inner: R, len: u64) -> Result<Self, FrameError> {
        let mut zstd = zstd::Decoder::new(inner)?.single_frame();
        zstd.window_log_max(WINDOW_LOG_MAX)?;
        let left = len.saturating_mul(MAX_RATIO).max(MIN_DECOMPRESSED);
        Ok(Self { zstd, nr_frames: 0, left })
    }

    /// The next frame; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(Kind, Vec<u8>)>, FrameError> {
        let mut kind = [0];
        if self.zstd.read(&mut kind)? == 0 {
            return Ok(None);
        }
        let mut len = [0; 4];
        self.zstd.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        let kind = Kind::from_nr(kind[0])
            .ok_or_else(|| FrameError::Damaged(format!("unknown frame {}", kind[0])))?;
        if len > kind.max_len() {
            return Err(FrameError::Damaged(format!("a frame claims {len} bytes")));
        }
        let whole = FRAME_HEADER + u64::from(len);
        self.left = self.left.checked_sub(whole).ok_or_else(|| {
            FrameError::Damaged(format!("it is more than {MAX_RATIO} times as long inside"))
        })?;
        let mut payload = Vec::new();
        // Grows with what is there, not with what is claimed.
        self.zstd.by_ref().take(u64::from(len)).read_to_end(&mut payload)?;
        if payload.len() != len as usize {
            return Err(FrameError::Damaged("a frame ends early".to_owned()));
        }
        self.nr_frames += 1;
        Ok(Some((kind, payload)))
    }

    /// The next frame, which has to be of this kind.
    pub fn expect_frame(&mut self, wanted: Kind) -> Result<Vec<u8>, FrameError> {
        match self.next()? {
            Some((kind, payload)) if kind == wanted => Ok(payload),
            _ => Err(FrameError::Damaged(format!("the frame {wanted:?} is missing"))),
        }
    }

    /// Check that the stream ends here.
    pub fn expect_end(&mut self) -> Result<(), FrameError> {
        match self.next()? {
            None => Ok(()),
            Some(_) => Err(FrameError::Damaged("there is a frame too many".to_owned())),
        }
    }
}

/// The events of a frame, no more than one can have: an empty block of transitions is a few bytes
/// of the frame and hundreds in memory.
pub(super) struct Events(pub Vec<Event>);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded;
        impl<'de> Visitor<'de> for Bounded {
            type Value = Events;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("events")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Events, A::Error> {
                let mut events = Vec::new();
                while let Some(event) = seq.next_element()? {
                    if events.len() == FRAME_WEIGHT {
                        return Err(A::Error::custom("more events than a frame has"));
                    }
                    events.push(event);
                }
                Ok(Events(events))
            }
        }
        deserializer.deserialize_seq(Bounded)
    }
}

/// Decode MessagePack, all of it. From a slice: from a reader the decoder allocates a text by the
/// length that it claims.
pub(super) fn decode_payload<T: DeserializeOwned>(payload: &[u8]) -> Result<T, FrameError> {
    let damaged = |e: rmp_serde::decode::Error| FrameError::Damaged(e.to_string());
    let mut decoder = rmp_serde::Deserializer::from_read_ref(payload);
    let value = T::deserialize(&mut decoder).map_err(damaged)?;
    // Nothing can be read at the end, not even the first byte of a value.
    match bool::deserialize(&mut decoder) {
        Err(rmp_serde::decode::Error::InvalidMarkerRead(_)) => Ok(value),
        _ => Err(FrameError::Damaged("a frame is too long".to_owned())),
    }
}
