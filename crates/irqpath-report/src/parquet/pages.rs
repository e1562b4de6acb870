// SPDX-License-Identifier: GPL-2.0-or-later
//! The sizes that pages of a stranger's file claim, before the library allocates by them: it
//! unpacks any page that claims up to 2 GiB.
//!
//! A page header is a Thrift structure in the compact protocol. Only its two sizes are read here,
//! and everything else is skipped to find its end.

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

/// Largest page, unpacked or not; the writer makes pages of 1 MiB.
const MAX_PAGE: u64 = 8 << 20;
/// Longest header of a page. It has statistics, in which the writer cuts texts.
const MAX_HEADER: u64 = 16 << 10;
/// Structures in each other: statistics in the header of a data page in a page header.
const MAX_DEPTH: u8 = 4;

/// Walks over the pages of a column chunk; the error says what is wrong with them.
pub(super) fn check_chunk(
    input: &impl ChunkReader,
    chunk: &ColumnChunkMetaData,
) -> Result<(), String> {
    let number = |n: i64| u64::try_from(n).map_err(|_| "an offset below 0".to_owned());
    let first = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let mut at = number(first)?;
    let size = number(chunk.compressed_size())?;
    let end = at.checked_add(size).filter(|end| *end <= input.len());
    let end = end.ok_or("a column beyond the end of the file")?;
    while at < end {
        let window = usize::try_from(MAX_HEADER.min(end - at)).map_err(|e| e.to_string())?;
        let bytes = input.get_bytes(at, window).map_err(|e| e.to_string())?;
        let header = read_header(&bytes).ok_or("a damaged page header")?;
        if header.unpacked.max(header.packed) > MAX_PAGE {
            return Err(format!("a page of more than {MAX_PAGE} bytes"));
        }
        at += header.length + header.packed;
    }
    if at == end { Ok(()) } else { Err("a page beyond the end of its column".to_owned()) }
}

#[derive(Debug, PartialEq, Eq)]
struct Header {
    length: u64,
    unpacked: u64,
    packed: u64,
}

fn read_header(bytes: &[u8]) -> Option<Header> {
    let mut rest = Thrift(bytes);
    let (mut unpacked, mut packed, mut id) = (None, None, 0);
    while let (kind @ 1.., next) = rest.field(id)? {
        id = next;
        match (id, kind) {
            (2, I32) => unpacked = Some(u64::try_from(rest.zigzag()?).ok()?),
            (3, I32) => packed = Some(u64::try_from(rest.zigzag()?).ok()?),
            _ => rest.skip(kind, MAX_DEPTH)?,
        }
    }
    let length = (bytes.len() - rest.0.len()) as u64;
    Some(Header { length, unpacked: unpacked?, packed: packed? })
}

/// Type of a field in the compact protocol.
const I32: u8 = 5;

/// What is left of a structure; `None` where it ends too early or is none.
struct Thrift<'a>(&'a [u8]);

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn advance(&mut self, n: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Type and number of the next field after the one numbered `id`; type 0 is the end.
    fn field(&mut self, id: i64) -> Option<(u8, i64)> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some((0, id));
        }
        let id = match byte >> 4 {
            0 => self.zigzag()?,
            delta => id.checked_add(i64::from(delta))?,
        };
        // A type 0 elsewhere than at the end is none.
        Some((byte & 0x0f, id)).filter(|(kind, _)| *kind > 0)
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(drop),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            12 => {
                let depth = depth.checked_sub(1)?;
                let mut id = 0;
                while let (kind @ 1.., next) = self.field(id)? {
                    id = next;
                    self.skip(kind, depth)?;
                }
                Some(())
            }
            // Lists, sets and maps: no page header has one.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_the_rest_is_skipped() {
        // Type 0, unpacked 300, packed 5, crc, a structure with a text and a flag; then a page.
        let header = [
            0x15, 0, 0x15, 0xd8, 4, 0x15, 10, 0x15, 1, 0x1c, 0x18, 2, b'a', b'b', 0x11, 0, 0, 9, 9,
        ];
        let want = Header { length: 17, unpacked: 300, packed: 5 };
        assert_eq!(read_header(&header), Some(want));
        for cut in 0..17 {
            assert_eq!(read_header(&header[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn what_is_no_header_is_refused() {
        for bytes in [
            &[0][..],
            &[0x15, 0, 0x15, 0xd8, 4, 0],
            // Sizes below 0.
            &[0x15, 0, 0x15, 1, 0x15, 1, 0],
            // A list.
            &[0x15, 0, 0x15, 2, 0x15, 2, 0x19, 0, 0],
            // Structures without end.
            &[0x1c; 64],
            // A number without end.
            &[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        ] {
            assert_eq!(read_header(bytes), None, "{bytes:?}");
        }
    }
}
