// SPDX-License-Identifier: GPL-2.0-or-later
//! What a compiler and sparse said, and what of it was not said before.

use std::collections::BTreeMap;
use std::path::Path;

/// Lines that complain, each without the place of the tree.
pub fn complaints(said: &str, tree: &Path) -> Vec<String> {
    let tree = format!("{}/", tree.display());
    let complains = |line: &&str| line.contains("warning: ") || line.contains("error: ");
    said.lines().filter(complains).map(|line| line.replace(&tree, "")).collect()
}

/// Complaints that `after` has more often than `before`, wherever in their file.
pub fn new_ones<'a>(before: &[String], after: &'a [String]) -> Vec<&'a String> {
    let mut old = BTreeMap::<String, usize>::new();
    for line in before {
        *old.entry(without_place(line)).or_default() += 1;
    }
    let is_new = |line: &&String| match old.get_mut(&without_place(line)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    after.iter().filter(is_new).collect()
}

/// `file:12:3: text` as `file: text`.
fn without_place(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    let number = |part: Option<&str>| part.is_some_and(|text| text.parse::<u32>().is_ok());
    match (parts.next(), number(parts.next()), number(parts.next()), parts.next()) {
        (Some(file), true, true, Some(text)) => format!("{file}:{text}"),
        _ => line.to_owned(),
    }
}

/// The section in which two dumps of `objdump -s -r` differ first.
pub fn first_difference(before: &str, after: &str) -> Option<String> {
    let mut section = "headers".to_owned();
    let (mut before, mut after) = (before.lines(), after.lines());
    loop {
        match (before.next(), after.next()) {
            (None, None) => return None,
            (Some(one), Some(other)) if one == other => {
                if let Some(name) = one.strip_prefix("Contents of section ") {
                    name.trim_end_matches(':').clone_into(&mut section);
                } else if let Some(name) = one.strip_prefix("RELOCATION RECORDS FOR ") {
                    section = format!("relocations of {}", name.trim_end_matches(':'));
                }
            }
            _ => return Some(section),
        }
    }
}
