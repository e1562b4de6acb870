// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads the bytes of a recording; the format is in the parent module.
//!
//! The checksum is verified first, so what follows guards against a wrong writer, not against
//! noise: every index is checked where it is read, and no count is believed before its bytes
//! are there.

use super::{Block, Charge, Instance, Node, PathRecording, Recording, Route, Stats};
use crate::flame::{FlameError, PathMarks};

const MAGIC: &[u8] = b"IRQFLAME";
const FORMAT: u8 = 1;
/// Bytes of the checksum at the end.
const CHECKSUM: usize = 8;

/// The rest of the file, and where it begins.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn fail_with<T>(&self, what: &'static str) -> Result<T, FlameError> {
        Err(FlameError::Recording { offset: self.at, what })
    }

    fn take_bytes(&mut self, length: usize) -> Result<&'a [u8], FlameError> {
        let Some(taken) = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end))
        else {
            return self.fail_with("it ends too early");
        };
        self.at += length;
        Ok(taken)
    }

    fn read_byte(&mut self) -> Result<u8, FlameError> {
        Ok(self.take_bytes(1)?[0])
    }

    fn read_flag(&mut self) -> Result<bool, FlameError> {
        match self.read_byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.fail_with("a flag is neither 0 nor 1"),
        }
    }

    fn read_word(&mut self) -> Result<u64, FlameError> {
        let bytes = self.take_bytes(8)?;
        Ok(bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    fn read_number(&mut self) -> Result<u64, FlameError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return self.fail_with("a number is too large");
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        self.fail_with("a number is too long")
    }

    /// A number below `limit`.
    fn read_index(&mut self, limit: usize, what: &'static str) -> Result<u32, FlameError> {
        let value = self.read_number()?;
        match u32::try_from(value) {
            Ok(index) if (index as usize) < limit => Ok(index),
            _ => self.fail_with(what),
        }
    }

    /// A list: its count, then that many elements of at least one byte each.
    fn read_list<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, FlameError>,
    ) -> Result<Vec<T>, FlameError> {
        let count = self.read_number()?;
        let left = self.bytes.len() - self.at;
        let Some(count) = usize::try_from(count).ok().filter(|&count| count <= left) else {
            return self.fail_with("it ends before a list does");
        };
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            list.push(element(self)?);
        }
        Ok(list)
    }
}

pub(super) fn parse_recording(bytes: &[u8]) -> Result<Recording, FlameError> {
    let mut reader = open_checked(bytes)?;
    let stats = read_stats(&mut reader)?;
    let nodes = read_nodes(&mut reader)?;
    let blocks = reader.read_list(read_block)?;
    let paths = reader.read_list(|reader| read_path(reader, &nodes, &blocks))?;
    if reader.at != reader.bytes.len() {
        return reader.fail_with("something follows its end");
    }
    Ok(Recording { stats, paths, nodes, blocks })
}

/// A reader of everything between the header and the checksum.
fn open_checked(bytes: &[u8]) -> Result<Reader<'_>, FlameError> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take_bytes(MAGIC.len())? != MAGIC {
        return Err(FlameError::Recording { offset: 0, what: "it does not begin like one" });
    }
    let found = reader.read_byte()?;
    if found != FORMAT {
        return Err(FlameError::Version { found, known: FORMAT });
    }
    if !matches!(reader.read_byte()?, 1 | 2) {
        return reader.fail_with("it names no known processor");
    }
    let Some(end) = bytes.len().checked_sub(CHECKSUM).filter(|&end| end >= reader.at) else {
        return reader.fail_with("it ends too early");
    };
    let mut sum = Reader { bytes, at: end };
    if sum.read_word()? != fnv1a(&bytes[..end]) {
        return Err(FlameError::Recording { offset: end, what: "its checksum is wrong" });
    }
    Ok(Reader { bytes: &bytes[..end], at: reader.at })
}

pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn read_stats(reader: &mut Reader<'_>) -> Result<Stats, FlameError> {
    let values = reader.read_list(Reader::read_number)?;
    let [interrupts, entries, faulted, repeated, resumed, unshaped, mismatched, unmatched, lost] =
        values[..]
    else {
        return reader.fail_with("it has other counters");
    };
    Ok(Stats {
        interrupts,
        entries,
        faulted,
        repeated,
        resumed,
        unshaped,
        mismatched,
        unmatched,
        lost,
    })
}

fn read_nodes(reader: &mut Reader<'_>) -> Result<Vec<Node>, FlameError> {
    let mut so_far = 0;
    reader.read_list(|reader| {
        let kind = reader.read_byte()?;
        let node = match kind {
            0 => Node::Unknown,
            1 => Node::User,
            2..=4 => {
                let parent = reader.read_index(so_far, "a chain stands before its parent")?;
                let address = reader.read_number()?;
                match kind {
                    2 => Node::Call { parent, address },
                    3 => Node::Interrupt { parent, address },
                    _ => Node::Syscall { parent, address },
                }
            }
            _ => return reader.fail_with("a chain is of no known kind"),
        };
        so_far += 1;
        Ok(node)
    })
}

fn read_block(reader: &mut Reader<'_>) -> Result<Block, FlameError> {
    let address = reader.read_number()?;
    let sizes = reader.read_list(Reader::read_byte)?;
    Ok(Block { address, sizes })
}

fn read_path(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    blocks: &[Block],
) -> Result<PathRecording, FlameError> {
    let marks = PathMarks { from: reader.read_byte()?, to: reader.read_byte()? };
    let restarted = reader.read_number()?;
    let under_way = reader.read_flag()?;
    let routes = reader.read_list(|reader| read_route(reader, nodes, blocks))?;
    let lengths: Vec<u64> = routes.iter().map(Route::length).collect();
    let instances = reader.read_list(|reader| read_instance(reader, &lengths))?;
    Ok(PathRecording { marks, restarted, under_way, instances, routes })
}

fn read_route(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    blocks: &[Block],
) -> Result<Route, FlameError> {
    let digest = (reader.read_word()?, reader.read_word()?);
    let mut length = 0u64;
    let charges = reader.read_list(|reader| {
        let charge = read_charge(reader, nodes, blocks)?;
        let more = u64::from(charge.count).checked_mul(charge.times);
        let sum = more.and_then(|more| length.checked_add(more));
        // Differences of lengths are signed.
        let Some(sum) = sum.filter(|&sum| i64::try_from(sum).is_ok()) else {
            return reader.fail_with("a route is too long");
        };
        length = sum;
        Ok(charge)
    })?;
    Ok(Route { digest, charges })
}

fn read_charge(
    reader: &mut Reader<'_>,
    nodes: &[Node],
    blocks: &[Block],
) -> Result<Charge, FlameError> {
    let node = reader.read_index(nodes.len(), "there is no such chain")?;
    let block = reader.read_index(blocks.len(), "there is no such block")?;
    let size = blocks[block as usize].sizes.len();
    let first = reader.read_index(size, "there is no such instruction")?;
    let count =
        reader.read_index(size - first as usize + 1, "a block has not so many instructions")?;
    let times = reader.read_number()?;
    Ok(Charge { node, block, first, count, times })
}

fn read_instance(reader: &mut Reader<'_>, lengths: &[u64]) -> Result<Instance, FlameError> {
    let length = reader.read_number()?;
    let route = reader.read_index(lengths.len(), "there is no such route")? as usize;
    let epoch = reader.read_index(1 << 16, "an epoch is too large")? as u16;
    let idle = reader.read_flag()?;
    if lengths[route] != length {
        return reader.fail_with("an instance is not as long as its route");
    }
    Ok(Instance { length, route, epoch, idle })
}
