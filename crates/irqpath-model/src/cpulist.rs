// SPDX-License-Identifier: GPL-2.0-or-later
//! CPU lists as the kernel writes them: `1,3,5-7` (`lib/bitmap-str.c`, `bitmap_parselist`).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest CPU number accepted; the kernel's own limit is `CONFIG_NR_CPUS` <= 8192.
const MAX_CPU: u16 = 8191;

/// A set of CPUs. In JSON it is the text that the kernel writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct CpuList(BTreeSet<u16>);

/// Why a text is not a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// A part is not a number or range.
    #[error("'{0}' is not a CPU or a range of CPUs; write lists as 1,3,5-7")]
    Part(String),
    /// A range runs backwards.
    #[error("the range '{0}' runs backwards; write the lower CPU first")]
    Backwards(String),
    /// A number is beyond what a kernel can have.
    #[error("CPU {0} is beyond the kernel's limit of {MAX_CPU}")]
    TooLarge(u64),
}

impl CpuList {
    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied()
    }

    /// True if `cpu` is in the set.
    pub fn contains(&self, cpu: u16) -> bool {
        self.0.contains(&cpu)
    }

    /// True if it has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many CPUs the list has, not how many ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The CPUs that `other` does not have.
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }

    /// The CPUs that both have.
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The CPUs that either has.
    pub fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// True if `other` has all of these CPUs.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// True if no CPU is in both.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.is_disjoint(&other.0)
    }
}

impl FromIterator<u16> for CpuList {
    fn from_iter<I: IntoIterator<Item = u16>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

fn parse_cpu(text: &str, part: &str) -> Result<u16, CpuListError> {
    let n: u64 = text.trim().parse().map_err(|_| CpuListError::Part(part.to_owned()))?;
    match u16::try_from(n) {
        Ok(n) if n <= MAX_CPU => Ok(n),
        _ => Err(CpuListError::TooLarge(n)),
    }
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
            match part.split_once('-') {
                None => {
                    set.insert(parse_cpu(part, part)?);
                }
                Some((low, high)) => {
                    let (low, high) = (parse_cpu(low, part)?, parse_cpu(high, part)?);
                    if low > high {
                        return Err(CpuListError::Backwards(part.to_owned()));
                    }
                    set.extend(low..=high);
                }
            }
        }
        Ok(Self(set))
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, CpuListError> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(cpus: CpuList) -> Self {
        cpus.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut first = true;
        while let Some(low) = cpus.next() {
            let mut high = low;
            while cpus.peek() == Some(&(high + 1)) {
                high += 1;
                cpus.next();
            }
            if !first {
                f.write_str(",")?;
            }
            first = false;
            if low == high { write!(f, "{low}")? } else { write!(f, "{low}-{high}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes_what_the_kernel_writes() {
        for (text, want) in
            [("", ""), ("0", "0"), ("1,3,5-7", "1,3,5-7"), ("3,1,2", "1-3"), ("0-1\n", "0-1")]
        {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), want, "{text:?}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_mean() {
        assert_eq!("a".parse::<CpuList>(), Err(CpuListError::Part("a".into())));
        assert_eq!("7-5".parse::<CpuList>(), Err(CpuListError::Backwards("7-5".into())));
        assert_eq!("99999".parse::<CpuList>(), Err(CpuListError::TooLarge(99999)));
        assert!("1-".parse::<CpuList>().is_err());
        assert!("-1".parse::<CpuList>().is_err());
    }

    proptest! {
        #[test]
        fn round_trips(cpus in prop::collection::btree_set(0u16..512, 0..64)) {
            let list: CpuList = cpus.iter().copied().collect();
            prop_assert_eq!(list.to_string().parse::<CpuList>().unwrap(), list);
        }

        #[test]
        fn any_text_parses_or_fails_cleanly(text in ".{0,40}") {
            let _ = text.parse::<CpuList>();
        }
    }
}
