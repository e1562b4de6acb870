// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether two images are the same kernel.
//!
//! The linker gives what it links an identity, the hash of all of it, debugging information
//! included: a comment in a header, and what only another configuration compiles, make another
//! image of the same kernel. So what is compared is what gets into memory, without that note, and
//! without the key in the name of the sources' directory, which KASAN's descriptions of globals have.

use object::LittleEndian;
use object::elf::{FileHeader64, SHF_ALLOC};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use sha2::{Digest as _, Sha256};

use super::source::PATCHED;
use crate::cache::KEY_DIGITS;

const LE: LittleEndian = LittleEndian;
/// The section with the identity.
const NOTES: &[u8] = b".notes";

/// SHA-256 of what an ELF kernel has in memory; `None` if it is none.
pub fn hash_loaded(vmlinux: &[u8]) -> Option<[u8; 32]> {
    let header = FileHeader64::<LittleEndian>::parse(vmlinux).ok()?;
    let sections = header.sections(LE, vmlinux).ok()?;
    let mut hash = Sha256::new();
    for section in sections.iter() {
        let name = sections.section_name(LE, section).ok()?;
        if section.sh_flags(LE) & u64::from(SHF_ALLOC) == 0 || name == NOTES {
            continue;
        }
        for number in [section.sh_addr(LE), section.sh_size(LE)] {
            hash.update(number.to_le_bytes());
        }
        hash.update(without_keys(section.data(LE, vmlinux).ok()?));
    }
    Some(hash.finalize().into())
}

fn without_keys(data: &[u8]) -> Vec<u8> {
    let directory = format!("/{PATCHED}-");
    let directory = directory.as_bytes();
    let mut data = data.to_vec();
    let mut at = 0;
    while let Some(slash) = data[at..].iter().position(|byte| *byte == b'/') {
        at += slash;
        if data[at..].starts_with(directory) {
            let key = at + directory.len();
            let end = data.len().min(key + KEY_DIGITS);
            data[key..end].fill(b'-');
        }
        at += 1;
    }
    data
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    /// Of an assembler's text, with this identity.
    fn link_assembly(text: &str, identity: &str) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a.s"), text).unwrap();
        let run = |command: &mut Command| assert!(command.status().unwrap().success());
        run(Command::new("as").arg("-o").arg(path("a.o")).arg(path("a.s")));
        // As in the kernel's linker script.
        fs::write(path("a.lds"), "SECTIONS { .text : { *(.text) } .notes : { *(.note*) } }")
            .unwrap();
        let mut ld = Command::new("ld");
        ld.arg(format!("--build-id={identity}")).arg("-T").arg(path("a.lds"));
        run(ld.arg("-o").arg(path("a")).arg(path("a.o")));
        fs::read(path("a")).unwrap()
    }

    #[test]
    fn the_same_code_with_another_identity_is_the_same_kernel() {
        let one = link_assembly(".text\n.long 1\n", "0x01");
        let other = link_assembly(".text\n.long 1\n", "0x02");
        assert_ne!(one, other);
        assert_eq!(hash_loaded(&one).unwrap(), hash_loaded(&other).unwrap());
        assert_ne!(hash_loaded(&one), hash_loaded(&link_assembly(".text\n.long 2\n", "0x01")));
        assert_eq!(hash_loaded(b"no kernel"), None);
    }

    #[test]
    fn where_the_sources_were_makes_no_difference() {
        let from = |key: &str, file: &str| {
            link_assembly(&format!(".text\n.ascii \"/s/linux-irqpath-{key}/{file}\"\n"), "0x01")
        };
        let one = from("0123456789abcdef", "a.c");
        assert_eq!(hash_loaded(&one), hash_loaded(&from("fedcba9876543210", "a.c")));
        assert_ne!(hash_loaded(&one), hash_loaded(&from("0123456789abcdef", "b.c")));
        assert_eq!(without_keys(b"/linux-irqpath-0"), b"/linux-irqpath--");
    }
}
