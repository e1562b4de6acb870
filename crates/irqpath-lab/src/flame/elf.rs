// SPDX-License-Identifier: GPL-2.0-or-later
//! The functions in the symbol table of a 64-bit little endian ELF file; nothing else of it.

use super::FlameError;

/// `SHT_SYMTAB`.
const SYMBOL_TABLE: u32 = 2;
/// `STT_FUNC`.
const FUNCTION: u8 = 2;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;

/// A function of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) address: u64,
    /// Bytes, at least 1.
    pub(super) size: u64,
}

fn damaged<T>(what: &'static str) -> Result<T, FlameError> {
    Err(FlameError::Elf { what })
}

/// `length` bytes from `at`.
fn piece(file: &[u8], at: u64, length: u64) -> Result<&[u8], FlameError> {
    let range = usize::try_from(at).ok().zip(at.checked_add(length));
    let range = range.and_then(|(from, to)| Some(from..usize::try_from(to).ok()?));
    range.and_then(|range| file.get(range)).map_or_else(|| damaged("it ends too early"), Ok)
}

/// A little endian number of 1 to 8 bytes.
fn number(file: &[u8], at: u64, bytes: u64) -> Result<u64, FlameError> {
    Ok(piece(file, at, bytes)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// One section: type, linked section, offset and size in the file.
fn section(file: &[u8], index: u64) -> Result<(u32, u64, u64, u64), FlameError> {
    let table = number(file, 40, 8)?;
    let at = table.saturating_add(index.saturating_mul(SECTION_HEADER as u64));
    let header = piece(file, at, SECTION_HEADER as u64)?;
    let field = |at, bytes| number(header, at, bytes);
    Ok((field(4, 4)? as u32, field(40, 4)?, field(24, 8)?, field(32, 8)?))
}

/// All functions, in the order of the table; a stripped program has none.
pub(super) fn functions(file: &[u8]) -> Result<Vec<Function>, FlameError> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return damaged("it is no 64-bit little endian ELF file");
    }
    let mut found = Vec::new();
    for index in 0..number(file, 60, 2)? {
        let (kind, link, offset, size) = section(file, index)?;
        if kind != SYMBOL_TABLE {
            continue;
        }
        let (_, _, names_at, names_size) = section(file, link)?;
        let names = piece(file, names_at, names_size)?;
        for symbol in piece(file, offset, size)?.chunks_exact(SYMBOL) {
            found.extend(function(symbol, names)?);
        }
    }
    Ok(found)
}

fn function(symbol: &[u8], names: &[u8]) -> Result<Option<Function>, FlameError> {
    let section = number(symbol, 6, 2)?;
    if symbol[4] & 0xf != FUNCTION || section == 0 {
        return Ok(None);
    }
    let at = number(symbol, 0, 4)? as usize;
    let Some(text) = names.get(at..) else { return damaged("a name lies outside") };
    let name = String::from_utf8_lossy(text.split(|&byte| byte == 0).next().unwrap_or_default());
    let size = number(symbol, 16, 8)?.max(1);
    Ok(Some(Function { name: name.into_owned(), address: number(symbol, 8, 8)?, size }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file with the symbols `main` (at 0x401000, 32 bytes) and `table` (an object).
    fn file() -> Vec<u8> {
        let names = b"\0main\0table\0";
        let mut symbols = vec![0u8; SYMBOL];
        for (name, kind, address, size) in [(1u32, 2u8, 0x40_1000u64, 32u64), (6, 1, 0x40_2000, 8)]
        {
            symbols.extend(name.to_le_bytes());
            symbols.extend([kind, 0, 1, 0]);
            symbols.extend(address.to_le_bytes());
            symbols.extend(size.to_le_bytes());
        }
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        let names_at = file.len() as u64;
        file.extend(names);
        let symbols_at = file.len() as u64;
        file.extend(&symbols);
        let table = file.len() as u64;
        for (kind, offset, size, link) in [
            (0u32, 0u64, 0u64, 0u32),
            (2, symbols_at, symbols.len() as u64, 2),
            (3, names_at, names.len() as u64, 0),
        ] {
            let mut header = vec![0u8; SECTION_HEADER];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&offset.to_le_bytes());
            header[32..40].copy_from_slice(&size.to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            file.extend(header);
        }
        file[40..48].copy_from_slice(&table.to_le_bytes());
        file[60..62].copy_from_slice(&3u16.to_le_bytes());
        file
    }

    #[test]
    fn functions_are_found_and_data_is_not() {
        let expected = Function { name: "main".to_owned(), address: 0x40_1000, size: 32 };
        assert_eq!(functions(&file()).unwrap(), [expected]);
        assert!(functions(b"#!/bin/sh").is_err());
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_no_panic(at in 0usize..400, byte: u8, length in 0usize..400) {
            let mut file = file();
            let at = at % file.len();
            file[at] = byte;
            let _ = functions(&file);
            file.truncate(length);
            let _ = functions(&file);
        }
    }
}
