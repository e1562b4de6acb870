// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of functions by address: the kernel's from `/proc/kallsyms` of the guest (Debian's
//! `System.map` has none), modules' from the same file, a user program's from its ELF file.

use std::sync::Arc;

use object::LittleEndian;
use object::elf::{FileHeader64, STT_FUNC};
use object::read::elf::{FileHeader as _, Sym as _};

use super::FlameError;

/// Farther from its symbol than this an address belongs to something without a symbol, bytes.
const REACH: u64 = 1 << 20;
/// Addresses of the kernel have the top bit set on x86-64 and arm64.
pub(super) const KERNEL: u64 = 1 << 63;

/// The last function of a module ends with its page at the latest: what lies behind belongs to
/// something else, and kallsyms has no sizes. Bytes.
const PAGE: u64 = 4096;

/// A name that begins at an address, or a place where names end.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Symbol {
    address: u64,
    /// First address behind it; 0: reaches to the next symbol.
    end: u64,
    /// `None` for data: code does not reach beyond it.
    name: Option<Arc<str>>,
}

/// Names of functions, found by an address in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    /// Sorted by address, one for each.
    sorted: Vec<Symbol>,
}

impl Symbols {
    /// The symbols of a guest's `/proc/kallsyms`, read by root with `kptr_restrict` 0.
    /// A module's functions are called `name [module]`.
    ///
    /// # Errors
    /// [`FlameError::Symbols`], [`FlameError::HiddenSymbols`].
    pub fn from_kallsyms(text: &str) -> Result<Self, FlameError> {
        let mut found = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let symbol = kallsyms_line(line).ok_or_else(|| FlameError::Symbols {
                line: at + 1,
                text: line.chars().take(60).collect(),
            })?;
            found.push(symbol);
        }
        if found.iter().all(|(symbol, _)| symbol.address == 0) {
            return Err(FlameError::HiddenSymbols);
        }
        let mut sorted = choose_symbols(found);
        end_modules(&mut sorted);
        Ok(Self { sorted })
    }

    /// Add the functions of a static user program that runs where it was linked to.
    ///
    /// # Errors
    /// [`FlameError::Elf`].
    pub fn add_program(&mut self, file: &[u8]) -> Result<(), FlameError> {
        self.sorted
            .extend(choose_symbols(read_functions(file)?.into_iter().map(|f| (f, 0)).collect()));
        self.sorted.sort_by_key(|symbol| symbol.address);
        self.sorted.dedup_by_key(|symbol| symbol.address);
        Ok(())
    }

    /// How many functions have a name.
    pub fn len(&self) -> usize {
        self.sorted.iter().filter(|symbol| symbol.name.is_some()).count()
    }

    /// True if no function has one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The function that this address lies in.
    pub fn lookup(&self, address: u64) -> Option<&Arc<str>> {
        let at = self.sorted.partition_point(|symbol| symbol.address <= address).checked_sub(1)?;
        let symbol = &self.sorted[at];
        let end = if symbol.end == 0 { symbol.address.saturating_add(REACH) } else { symbol.end };
        symbol.name.as_ref().filter(|_| address < end)
    }
}

/// The functions in the symbol table of a program; one that is stripped has none.
fn read_functions(file: &[u8]) -> Result<Vec<Symbol>, FlameError> {
    const LE: LittleEndian = LittleEndian;
    let header = FileHeader64::<LittleEndian>::parse(file)?;
    let table = header.sections(LE, file)?.symbols(LE, file, object::elf::SHT_SYMTAB)?;
    let mut found = Vec::new();
    for symbol in table.iter().filter(|symbol| symbol.st_type() == STT_FUNC) {
        let name = String::from_utf8_lossy(symbol.name(LE, table.strings())?).into_owned();
        let address = symbol.st_value(LE);
        let end = address.saturating_add(symbol.st_size(LE).max(1));
        if !symbol.is_undefined(LE) {
            found.push(Symbol { address, end, name: Some(Arc::from(name)) });
        }
    }
    Ok(found)
}

/// `ffffffff81000000 T _stext` or `ffffffffc0000000 t name [module]`, and how much the name is
/// worth: of several names for one address the least is taken.
fn kallsyms_line(line: &str) -> Option<(Symbol, u8)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next().filter(|kind| kind.len() == 1)?;
    let name = words.next()?;
    let module = words.next();
    let is_code = matches!(kind, "t" | "T" | "w" | "W");
    let worth = match (is_code, name.starts_with("__pfx_"), kind) {
        (false, ..) => 3,
        (true, true, _) => 2,
        (true, false, "t") => 1,
        (true, false, _) => 0,
    };
    let name = is_code.then(|| match module {
        Some(module) => Arc::from(format!("{name} {module}")),
        None => Arc::from(name),
    });
    Some((Symbol { address, end: 0, name }, worth))
}

/// Let the last function of each module end.
fn end_modules(sorted: &mut [Symbol]) {
    let module = |symbol: &Symbol| {
        symbol
            .name
            .as_ref()
            .and_then(|name| name.split_once(' '))
            .map(|(_, module)| module.to_owned())
    };
    for at in 0..sorted.len() {
        let own = module(&sorted[at]);
        let next = sorted.get(at + 1);
        let goes_on = next.is_some_and(|next| next.name.is_none() || module(next) == own);
        if own.is_some() && !goes_on {
            sorted[at].end = (sorted[at].address | (PAGE - 1)).saturating_add(1);
        }
    }
}

/// Sorted, with the best name of each address; of equals the first, as the kernel lists them.
fn choose_symbols(mut found: Vec<(Symbol, u8)>) -> Vec<Symbol> {
    found.sort_by_key(|(symbol, worth)| (symbol.address, *worth));
    found.dedup_by_key(|(symbol, _)| symbol.address);
    found.into_iter().map(|(symbol, _)| symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 t local_alias
ffffffff81000010 t __pfx_schedule
ffffffff81000020 T schedule
ffffffff81000100 r some_table
ffffffff82000000 T last
ffffffffc0001000 t intsight_raise\t[intsight]
";

    fn name_at(symbols: &Symbols, address: u64) -> Option<&str> {
        symbols.lookup(address).map(|name| &**name)
    }

    #[test]
    fn the_nearest_function_below_is_the_one() {
        let symbols = Symbols::from_kallsyms(TEXT).unwrap();
        assert_eq!(symbols.len(), 5);
        for (address, expected) in [
            (0xffff_ffff_8100_0000, Some("_stext")),
            (0xffff_ffff_8100_0018, Some("__pfx_schedule")),
            (0xffff_ffff_8100_0020, Some("schedule")),
            (0xffff_ffff_8100_00ff, Some("schedule")),
            (0xffff_ffff_8100_0100, None),
            (0xffff_ffff_8200_0000 + REACH - 1, Some("last")),
            (0xffff_ffff_8200_0000 + REACH, None),
            (0xffff_ffff_c000_1fff, Some("intsight_raise [intsight]")),
            (0xffff_ffff_c000_2000, None),
            (0x40_1000, None),
        ] {
            assert_eq!(name_at(&symbols, address), expected, "{address:#x}");
        }
    }

    #[test]
    fn what_is_no_symbol_table_is_refused() {
        let error = Symbols::from_kallsyms("ffffffff81000000 T a\nnonsense\n").unwrap_err();
        assert!(error.to_string().starts_with("line 2 of the symbol table"), "{error}");
        let hidden = Symbols::from_kallsyms("0000000000000000 T _stext\n").unwrap_err();
        assert!(matches!(hidden, FlameError::HiddenSymbols));
    }

    /// The functions of this very test.
    fn read_own_program() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn functions_of_a_program_have_names_and_ends() {
        let mut symbols = Symbols::from_kallsyms(TEXT).unwrap();
        symbols.add_program(&read_own_program()).unwrap();
        assert!(symbols.len() > 1000);
        let own = symbols.sorted.iter().find(|s| s.name.as_deref() == Some("main")).unwrap();
        assert!(own.end > own.address);
        assert_eq!(name_at(&symbols, own.end - 1), Some("main"));
        assert_eq!(name_at(&symbols, 0xffff_ffff_8100_0020), Some("schedule"));
        assert!(symbols.add_program(b"#!/bin/sh").is_err());
    }

    #[test]
    fn a_damaged_program_is_no_panic() {
        let file = read_own_program();
        let header = file[..64].to_vec();
        for at in 0..64 {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = header.clone();
                damaged[at] = byte;
                damaged.extend_from_slice(&file[64..4096]);
                let _ = read_functions(&damaged);
            }
        }
    }

    proptest! {
        #[test]
        fn lookup_agrees_with_a_search(
            starts in proptest::collection::btree_set(0u64..4000, 1..40),
            address in 0u64..5000,
        ) {
            let lines: Vec<String> =
                starts.iter().map(|at| format!("{:016x} t f{at}", at + 1)).collect();
            let text = lines.join("\n");
            let symbols = Symbols::from_kallsyms(&text).unwrap();
            let nearest = starts.iter().map(|at| at + 1).filter(|at| *at <= address).max();
            let expected = nearest.map(|at| format!("f{}", at - 1));
            prop_assert_eq!(name_at(&symbols, address), expected.as_deref());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = Symbols::from_kallsyms(&text);
        }
    }
}
