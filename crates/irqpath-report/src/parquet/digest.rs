// SPDX-License-Identifier: GPL-2.0-or-later
//! A digest over the pages of the file, so that damage is found before anything is decoded: the
//! Parquet library checks the structure of a file, but asserts (panics) on pages that do not
//! decode.
//!
//! The digest covers the first `len` bytes and what the footer says of where the pages lie, and
//! is stored in the footer as `<len> <sha256>`. A file without it is refused: other tools may read
//! our files, but what they rewrite is no longer the measurement.

use std::io::{self, Read, Write};

use parquet::file::metadata::RowGroupMetaData;
use sha2::{Digest as _, Sha256};

/// Passes bytes on and digests them.
pub(super) struct Digesting<W> {
    pub inner: W,
    hash: Sha256,
    len: u64,
}

impl<W> Digesting<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, hash: Sha256::new(), len: 0 }
    }

    /// What was written so far, as stored, with where the pages lie.
    pub fn stored(&self, groups: &[RowGroupMetaData]) -> String {
        let hash = self.hash.clone().chain_update(layout(groups)).finalize();
        format!("{} {hash:x}", self.len)
    }
}

/// Everything in the footer that decoding relies on, in words of our own: the library's types may
/// change their form.
fn layout(groups: &[RowGroupMetaData]) -> String {
    let column = |c: &parquet::file::metadata::ColumnChunkMetaData| {
        format!(
            "{} {} {} {:?} {} {} {} {}\n",
            c.column_path().string(),
            c.column_type(),
            c.column_descr().max_def_level(),
            c.dictionary_page_offset(),
            c.data_page_offset(),
            c.compressed_size(),
            c.num_values(),
            c.compression(),
        )
    };
    let group = |g: &RowGroupMetaData| {
        let columns: String = g.columns().iter().map(column).collect();
        format!("{}\n{columns}", g.num_rows())
    };
    groups.iter().map(group).collect()
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hash.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// True if the first bytes of `input` and `groups` are what `stored` says.
pub(super) fn matches(
    stored: &str,
    groups: &[RowGroupMetaData],
    input: impl Read,
) -> io::Result<bool> {
    let Some(Ok(len)) = stored.split_once(' ').map(|(len, _)| len.parse()) else {
        return Ok(false);
    };
    let mut sink = Digesting::new(io::sink());
    io::copy(&mut input.take(len), &mut sink)?;
    Ok(sink.stored(groups) == stored)
}
