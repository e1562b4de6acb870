// SPDX-License-Identifier: GPL-2.0-or-later
//! Symbols of kernel functions, from `/proc/kallsyms`.
//!
//! With `kptr_restrict` every address reads as zero; then nothing is found, which is not an
//! error: addresses are shown instead. Only exact starts of functions count: a neighbour's
//! name would be a lie.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};

use crate::{Host, SystemError};

impl Host {
    /// The symbols at `addresses`; those that are not found are left out.
    pub fn read_symbols(
        &self,
        addresses: impl IntoIterator<Item = u64>,
    ) -> Result<BTreeMap<u64, String>, SystemError> {
        let wanted: BTreeSet<u64> = addresses.into_iter().filter(|&a| a != 0).collect();
        let mut found = BTreeMap::new();
        let path = self.path("proc/kallsyms");
        if wanted.is_empty() {
            return Ok(found);
        }
        let file = match self.open("proc/kallsyms") {
            Ok(file) => file,
            // A kernel without CONFIG_KALLSYMS.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(found),
            Err(source) => return Err(SystemError::Read { path, source }),
        };
        // Ten megabytes and more: read by lines, and only as far as needed.
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let mut line = Vec::new();
        while found.len() < wanted.len() {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Err(source) => return Err(SystemError::Read { path, source }),
                Ok(0) => break,
                Ok(_) => {}
            }
            if let Some((address, name)) = parse_symbol(&line)
                && wanted.contains(&address)
            {
                found.entry(address).or_insert(name);
            }
        }
        Ok(found)
    }
}

/// No function is longer; what lies further behind a symbol is in none that has a name.
const MAX_FUNCTION: u64 = 1 << 20;

impl Host {
    /// The functions in which `addresses` lie. Unlike a callback, an address in a stack is seldom the
    /// start of one.
    pub fn read_functions(
        &self,
        addresses: impl IntoIterator<Item = u64>,
    ) -> Result<BTreeMap<u64, String>, SystemError> {
        let wanted: Vec<u64> = addresses
            .into_iter()
            .filter(|&a| a != 0)
            .collect::<BTreeSet<u64>>()
            .into_iter()
            .collect();
        // For each the nearest symbol that lies between it and the one wanted before.
        let mut nearest: Vec<Option<(u64, String)>> = vec![None; wanted.len()];
        self.scan_symbols(|address, name| {
            let at = wanted.partition_point(|&wanted| wanted < address);
            if let Some(best) = nearest.get_mut(at)
                && address != 0
                && best.as_ref().is_none_or(|(known, _)| *known < address)
            {
                *best = Some((address, name.to_owned()));
            }
        })?;
        let mut last: Option<(u64, String)> = None;
        let mut found = BTreeMap::new();
        for (wanted, best) in wanted.into_iter().zip(nearest) {
            last = best.or(last);
            if let Some((_, name)) = last.as_ref().filter(|(at, _)| wanted - at < MAX_FUNCTION) {
                found.insert(wanted, name.clone());
            }
        }
        Ok(found)
    }

    fn scan_symbols(&self, mut see: impl FnMut(u64, &str)) -> Result<(), SystemError> {
        let path = self.path("proc/kallsyms");
        let file = match self.open("proc/kallsyms") {
            Ok(file) => file,
            // A kernel without CONFIG_KALLSYMS.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(SystemError::Read { path, source }),
        };
        let mut reader = BufReader::with_capacity(64 << 10, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            match reader.read_until(b'\n', &mut line) {
                Err(source) => return Err(SystemError::Read { path, source }),
                Ok(0) => return Ok(()),
                Ok(_) => {}
            }
            if let Some((address, name)) = parse_symbol(&line) {
                see(address, &name);
            }
        }
    }
}

/// `ffffffff81000000 T name\t[module]`; only text symbols.
fn parse_symbol(line: &[u8]) -> Option<(u64, String)> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    matches!(words.next()?, "t" | "T" | "w" | "W")
        .then_some(words.next()?)
        .map(|name| (address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use crate::testing::Fake;

    const KALLSYMS: &str = "ffffffff81000000 T _stext\nffffffff81000010 D a_datum\n\
        ffffffff81000010 t hrtimer_wakeup\nffffffff81000010 t an_alias\nnonsense\n\
        ffffffffc0000100 t ahci_timer\t[libahci]\n";

    #[test]
    fn exact_addresses_of_functions() {
        let fake = Fake::new().with_file("proc/kallsyms", KALLSYMS);
        let wanted = [0xffff_ffff_8100_0010, 0xffff_ffff_c000_0100, 0xffff_ffff_8100_0011, 0];
        let found = fake.host().read_symbols(wanted).unwrap();
        let want = [
            (0xffff_ffff_8100_0010, "hrtimer_wakeup".to_owned()),
            (0xffff_ffff_c000_0100, "ahci_timer".to_owned()),
        ];
        assert_eq!(found, want.into());
    }

    #[test]
    fn an_address_lies_in_the_function_before_it() {
        let fake = Fake::new().with_file("proc/kallsyms", KALLSYMS);
        let wanted = [0xffff_ffff_8100_0008, 0xffff_ffff_8100_0010, 0xffff_ffff_8100_0099, 5];
        let found = fake.host().read_functions(wanted).unwrap();
        let names: Vec<&str> = found.values().map(String::as_str).collect();
        assert_eq!(names, ["_stext", "hrtimer_wakeup", "hrtimer_wakeup"]);
        let far = fake.host().read_functions([0xffff_ffff_8200_0010]).unwrap();
        assert!(far.is_empty(), "{far:?}");
    }

    #[test]
    fn hidden_absent_and_strange_tables_find_nothing() {
        let hidden = Fake::new().with_file("proc/kallsyms", "0000000000000000 T _stext\n");
        assert!(hidden.host().read_symbols([0, 1, u64::MAX]).unwrap().is_empty());
        assert!(Fake::new().host().read_symbols([1]).unwrap().is_empty());
        let mut strange = vec![b'f'; 1 << 20];
        strange.extend_from_slice(b"\n\xff\xfe T x\n\n0 \n1 T one\n");
        let strange = Fake::new().with_bytes("proc/kallsyms", &strange);
        assert_eq!(strange.host().read_symbols([1]).unwrap()[&1], "one");
    }
}
