// SPDX-License-Identifier: GPL-2.0-or-later
//! What a program or a kernel module says about what it needs. Pure, over the file's bytes;
//! `programs` looks the answers up on the disk.

use object::LittleEndian;
use object::elf::{
    DT_NEEDED, DT_RPATH, DT_RUNPATH, EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, FileHeader64,
};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _, SectionHeader as _};

use crate::kernel::Arch;

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// A program or shared library, as far as starting it is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The machine it runs on; `None` for another one than ours.
    pub arch: Option<Arch>,
    /// The loader that starts it; `None` for static programs and for libraries.
    pub interpreter: Option<String>,
    /// Names of the shared libraries, in order.
    pub needed: Vec<String>,
    /// Directories to look for them first, `$ORIGIN` not yet replaced.
    pub search: Vec<String>,
}

/// Whether a file is of the kind that has a [`Program`] or modinfo in it.
pub fn is_elf(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
}

/// Reads the headers of a program or library; `None` if they make no sense.
pub fn parse_program(data: &[u8]) -> Option<Program> {
    let header = Header::parse(data).ok()?;
    if !matches!(header.e_type(LE), ET_EXEC | ET_DYN) {
        return None;
    }
    let mut program = Program {
        arch: parse_machine(header),
        interpreter: None,
        needed: Vec::new(),
        search: Vec::new(),
    };
    for segment in header.program_headers(LE, data).ok()? {
        if let Some(path) = segment.interpreter(LE, data).ok()? {
            program.interpreter = Some(decode_text(path));
        }
        if let Some(entries) = segment.dynamic(LE, data).ok()? {
            read_dynamic(&mut program, header, data, entries)?;
        }
    }
    Some(program)
}

fn parse_machine(header: &Header) -> Option<Arch> {
    match header.e_machine(LE) {
        EM_X86_64 => Some(Arch::X86_64),
        EM_AARCH64 => Some(Arch::Arm64),
        _ => None,
    }
}

fn read_dynamic(
    program: &mut Program,
    header: &Header,
    data: &[u8],
    entries: &[object::elf::Dyn64<LittleEndian>],
) -> Option<()> {
    let sections = header.sections(LE, data).ok()?;
    let (_, index) = sections.dynamic(LE, data).ok()??;
    let strings = sections.strings(LE, data, index).ok()?;
    for entry in entries {
        let value = || Some(decode_text(strings.get(entry.val32(LE)?).ok()?));
        match entry.tag(LE) {
            DT_NEEDED => program.needed.push(value()?),
            DT_RPATH | DT_RUNPATH => {
                program.search.extend(value()?.split(':').map(str::to_owned));
            }
            _ => {}
        }
    }
    Some(())
}

/// The modules that a kernel module needs to be loaded before it, from its `.modinfo`.
/// `None` if this is not a kernel module.
pub fn module_depends(data: &[u8]) -> Option<Vec<String>> {
    let header = Header::parse(data).ok()?;
    let sections = header.sections(LE, data).ok()?;
    let (_, modinfo) = sections.section_by_name(LE, b".modinfo")?;
    let fields = modinfo.data(LE, data).ok()?.split(|&byte| byte == 0);
    let depends = fields.filter_map(|field| field.strip_prefix(b"depends="));
    let names = depends.flat_map(|list| list.split(|&byte| byte == b','));
    Some(names.filter(|name| !name.is_empty()).map(decode_text).collect())
}

fn decode_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// This test program itself is a dynamic program of this machine.
    fn read_own_program() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn reads_a_dynamic_program() {
        let program = parse_program(&read_own_program()).unwrap();
        assert_eq!(program.arch, Arch::host());
        assert!(program.interpreter.unwrap().contains("ld-linux"));
        assert!(program.needed.iter().any(|name| name.starts_with("libc.so")));
        assert_eq!(module_depends(&read_own_program()), None);
    }

    #[test]
    fn a_script_is_none() {
        assert!(!is_elf(b"#!/bin/sh\n"));
        assert_eq!(parse_program(b"#!/bin/sh\n"), None);
    }

    proptest! {
        /// Damaged files are refused or misread, but nothing worse.
        #[test]
        fn damage_does_no_harm(at: proptest::sample::Index, byte: u8, keep: proptest::sample::Index) {
            let Ok(mut data) = std::fs::read("/bin/true") else { return Ok(()) };
            let at = at.index(data.len());
            data[at] = byte;
            let _ = (parse_program(&data), module_depends(&data));
            data.truncate(keep.index(data.len()));
            let _ = (parse_program(&data), module_depends(&data));
        }
    }
}
