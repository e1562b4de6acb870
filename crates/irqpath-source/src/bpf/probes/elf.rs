// SPDX-License-Identifier: GPL-2.0-or-later
//! Where in a file a probe is: the notes that `sys/sdt.h` leaves, and the table of symbols.

use std::fs::File;

use object::read::elf::{FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, ReadCache, elf};

use super::Place;

/// A place in the file, bytes from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub at: usize,
    /// Of the counter that tells the program that somebody looks; 0 where it has none.
    pub semaphore: usize,
}

/// A probe may be inlined at many places; more are not for a trigger.
const MAX_PLACES: usize = 64;
/// Notes of one file.
const MAX_NOTES: u64 = 4 << 20;
const NT_STAPSDT: u32 = 3;
const OWNER: &[u8] = b"stapsdt\0";

type Elf<'a> = object::read::elf::ElfFile64<'a, Endianness, &'a ReadCache<&'a File>>;

/// All places of a probe; in words why there are none.
pub fn find_places(file: &File, place: &Place) -> Result<Vec<Found>, String> {
    let cache = ReadCache::new(file);
    let elf = Elf::parse(&cache).map_err(|error| format!("it is no 64-bit program: {error}"))?;
    let found = match place {
        Place::Usdt(provider, name) => find_notes(&elf, provider, name)?,
        Place::Function(name) => find_function(&elf, name)?,
    };
    match found.len() {
        0 => Err(format!("it has no {}", describe(place))),
        1..=MAX_PLACES => Ok(found),
        n => Err(format!("it has {n} places of {}, at most {MAX_PLACES}", describe(place))),
    }
}

fn describe(place: &Place) -> String {
    match place {
        Place::Usdt(provider, name) => format!("probe {provider}:{name}"),
        Place::Function(name) => format!("function {name}"),
    }
}

/// From an address in memory to one in the file.
fn file_offset(elf: &Elf<'_>, address: u64) -> Option<usize> {
    let endian = elf.endian();
    let header = elf.elf_header();
    let headers = header.program_headers(endian, elf.data()).ok()?;
    headers.iter().filter(|one| one.p_type(endian) == elf::PT_LOAD).find_map(|one| {
        let at = address.checked_sub(one.p_vaddr(endian))?;
        let offset = one.p_offset(endian).checked_add(at)?;
        (at < one.p_filesz(endian)).then(|| usize::try_from(offset).ok()).flatten()
    })
}

fn find_function(elf: &Elf<'_>, name: &str) -> Result<Vec<Found>, String> {
    let symbol = elf.symbols().chain(elf.dynamic_symbols()).find(|symbol| {
        let is_code = symbol.kind() == object::SymbolKind::Text && symbol.is_definition();
        is_code && symbol.name_bytes() == Ok(name.as_bytes())
    });
    let Some(symbol) = symbol else { return Ok(Vec::new()) };
    let outside = || format!("its function {name} lies outside of the file");
    let at = file_offset(elf, symbol.address()).ok_or_else(outside)?;
    Ok(vec![Found { at, semaphore: 0 }])
}

fn find_notes(elf: &Elf<'_>, provider: &str, name: &str) -> Result<Vec<Found>, String> {
    let Some(section) = elf.section_by_name(".note.stapsdt") else {
        return Err("it has no static probes (section .note.stapsdt)".to_owned());
    };
    if section.size() > MAX_NOTES {
        return Err("its list of static probes is too long".to_owned());
    }
    let data = section.data().map_err(|error| format!("its static probes: {error}"))?;
    // Programs that are linked for another address than they were compiled for.
    let base = elf.section_by_name(".stapsdt.base").map(|section| section.address());
    let little = matches!(elf.endian(), Endianness::Little);
    let mut found = Vec::new();
    let mut rest = data;
    while let Some((note, after)) = split_note(rest, little) {
        rest = after;
        let Some(note) = note else { continue };
        if note.provider != provider.as_bytes() || note.name != name.as_bytes() {
            continue;
        }
        let moved = base.filter(|_| note.base != 0).map_or(0, |base| base.wrapping_sub(note.base));
        let outside = || format!("its probe {provider}:{name} lies outside of the file");
        let at = file_offset(elf, note.location.wrapping_add(moved)).ok_or_else(outside)?;
        let semaphore = match note.semaphore {
            0 => 0,
            address => file_offset(elf, address.wrapping_add(moved)).ok_or_else(outside)?,
        };
        found.push(Found { at, semaphore });
    }
    Ok(found)
}

/// A note of `sys/sdt.h`.
#[derive(Debug, PartialEq, Eq)]
struct Note<'a> {
    location: u64,
    base: u64,
    semaphore: u64,
    provider: &'a [u8],
    name: &'a [u8],
}

/// The first note, if it is one of ours, and what follows it.
fn split_note(data: &[u8], little: bool) -> Option<(Option<Note<'_>>, &[u8])> {
    let word = |at: usize| {
        let bytes = data.get(at..at + 4)?.try_into().ok()?;
        Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    };
    let (name_len, len, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
    let name = data.get(12..12usize.checked_add(name_len)?)?;
    let start = 12usize.checked_add(name_len.checked_next_multiple_of(4)?)?;
    let end = start.checked_add(len)?;
    let content = data.get(start..end)?;
    let next = start.checked_add(len.checked_next_multiple_of(4)?)?;
    let after = data.get(next..).unwrap_or_default();
    let ours = kind == NT_STAPSDT && name == OWNER;
    Some((ours.then(|| parse_content(content, little)).flatten(), after))
}

fn parse_content(content: &[u8], little: bool) -> Option<Note<'_>> {
    let number = |at: usize| {
        let bytes = content.get(at..at + 8)?.try_into().ok()?;
        Some(if little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    };
    let mut texts = content.get(24..)?.split(|&byte| byte == 0);
    Some(Note {
        location: number(0)?,
        base: number(8)?,
        semaphore: number(16)?,
        provider: texts.next()?,
        name: texts.next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn note(provider: &str, name: &str) -> Vec<u8> {
        let mut content: Vec<u8> = [0x401_000u64, 0, 0x404_010].map(u64::to_le_bytes).concat();
        content.extend(format!("{provider}\0{name}\0-4@%eax\0").bytes());
        let mut note = [8, content.len() as u32, NT_STAPSDT].map(u32::to_le_bytes).concat();
        note.extend(OWNER);
        note.extend(&content);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    #[test]
    fn notes_are_read_one_after_the_other() {
        let data = [note("app", "missed"), note("libc", "setjmp")].concat();
        let (first, rest) = split_note(&data, true).unwrap();
        let first = first.unwrap();
        assert_eq!((first.location, first.semaphore), (0x401_000, 0x404_010));
        assert_eq!((first.provider, first.name), (&b"app"[..], &b"missed"[..]));
        let (second, rest) = split_note(rest, true).unwrap();
        assert_eq!(second.unwrap().name, b"setjmp");
        assert_eq!(split_note(rest, true), None);
    }

    #[test]
    fn a_file_that_is_no_program_is_told() {
        let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
        let error = find_places(&file, &Place::Function("main".to_owned())).unwrap_err();
        assert!(error.starts_with("it is no 64-bit program"), "{error}");
        let own = File::open(std::env::current_exe().unwrap()).unwrap();
        let error = find_places(&own, &Place::Function("no such".to_owned())).unwrap_err();
        assert_eq!(error, "it has no function no such");
        assert_eq!(find_places(&own, &Place::Function("main".to_owned())).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn any_bytes_are_notes_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while let Some((_, after)) = split_note(rest, true) {
                prop_assert!(after.len() < rest.len());
                rest = after;
            }
        }
    }
}
