// SPDX-License-Identifier: GPL-2.0-or-later
//! What a result is a result of, by content: the same identity means the same bytes, wherever an
//! exact guest runs. Nothing here depends on a place, a time or a host's name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cache::Inputs;

/// The part that decides no measurement, but stands in every row of a result's tables.
pub(super) const COMMIT: &str = "commit";
/// Raise it when the same parts give another result.
const RECIPE: u32 = 1;

/// Everything that decides the bytes of a result, by name: digests and short values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(BTreeMap<String, String>);

impl Identity {
    pub fn new<'a>(parts: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self(parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// SHA-256 over all parts, hexadecimal.
    pub fn key(&self) -> String {
        let add = |inputs: Inputs, (name, value): (&String, &String)| inputs.value(name, value);
        self.0.iter().fold(Inputs::new("unit", RECIPE), add).key()
    }

    /// The commit that results are labelled with; empty if unknown.
    pub fn commit(&self) -> &str {
        self.0.get(COMMIT).map_or("", String::as_str)
    }

    /// Names of the parts that differ in the other one.
    pub fn list_differences<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let mut names: Vec<&str> =
            self.0.keys().chain(other.0.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.0.get(*name) != other.0.get(*name));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_changes_the_key_and_is_named() {
        let one = Identity::new([("kernel", "a".to_owned()), ("draw", "0".to_owned())]);
        assert_eq!(
            one.key(),
            Identity::new([("draw", "0".to_owned()), ("kernel", "a".to_owned())]).key()
        );
        for (parts, differences) in [
            (vec![("kernel", "b"), ("draw", "0")], vec!["kernel"]),
            (vec![("kernel", "b"), ("draw", "1")], vec!["draw", "kernel"]),
            (vec![("kernel", "a")], vec!["draw"]),
            (vec![("kernel", "a"), ("draw", "0"), ("qemu", "7.2")], vec!["qemu"]),
        ] {
            let other =
                Identity::new(parts.into_iter().map(|(name, value)| (name, value.to_owned())));
            assert_ne!(one.key(), other.key());
            assert_eq!(one.list_differences(&other), differences);
        }
    }
}
