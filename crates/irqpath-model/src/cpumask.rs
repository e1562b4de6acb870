// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU masks as the kernel writes them in hexadecimal: groups of 32 bits, `ff,ffffffff`
//! (`lib/bitmap-str.c`, `bitmap_parse`).

use crate::CpuList;

impl CpuList {
    /// The CPUs of a mask; `None` if the text is not one.
    pub fn from_mask(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text
            .trim()
            .bytes()
            .filter(|&b| b != b',')
            .map(|b| (b as char).to_digit(16).map(|d| d as u8))
            .collect::<Option<_>>()?;
        if digits.is_empty() {
            return None;
        }
        let bits = digits.iter().rev().enumerate().flat_map(|(place, &digit)| {
            (0..4).filter(move |bit| digit >> bit & 1 == 1).map(move |bit| place * 4 + bit)
        });
        bits.map(|cpu| u16::try_from(cpu).ok()).collect()
    }

    /// The mask of some CPUs, as the kernel writes and reads it.
    pub fn to_mask(&self) -> String {
        let nr_groups = self.iter().max().map_or(1, |cpu| cpu as usize / 32 + 1);
        let mut groups = vec![0_u32; nr_groups];
        for cpu in self.iter() {
            groups[cpu as usize / 32] |= 1 << (cpu % 32);
        }
        let text: Vec<String> = groups.iter().rev().map(|g| format!("{g:08x}")).collect();
        let text = text.join(",");
        let short = text.trim_start_matches(['0', ',']);
        if short.is_empty() { "0".to_owned() } else { short.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_in_words() {
        for (mask, list) in [
            ("3", "0-1"),
            ("ff,ffffffff", "0-39"),
            ("80000000", "31"),
            ("1,00000000\n", "32"),
            ("0", ""),
        ] {
            assert_eq!(CpuList::from_mask(mask).unwrap().to_string(), list, "{mask}");
        }
        assert_eq!(CpuList::from_mask("0-3"), None);
        assert_eq!(CpuList::from_mask(""), None);
    }

    proptest! {
        #[test]
        fn round_trips(cpus in prop::collection::btree_set(0u16..300, 0..64)) {
            let list: CpuList = cpus.into_iter().collect();
            prop_assert_eq!(CpuList::from_mask(&list.to_mask()), Some(list));
        }
    }
}
