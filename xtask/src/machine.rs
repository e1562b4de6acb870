// SPDX-License-Identifier: GPL-2.0-or-later
//! Nothing in the project belongs to one machine: no home directory, no path of this checkout or
//! of its build directory, no crate from another registry than crates.io.
//!
//! The paths of the machine at hand are asked for at run time, so the rule works on any machine.

use crate::finding::Finding;
use crate::tree::{File, Tree};
use std::path::Path;

/// Split so that this file does not break its own rule.
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/")];
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Finds paths and registries that only exist here.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let places = places_of_this_machine(&tree.root);
    tree.files.iter().flat_map(|file| file_findings(file, &places)).collect()
}

fn places_of_this_machine(root: &Path) -> Vec<String> {
    let variables = ["HOME", "CARGO_HOME", "CARGO_TARGET_DIR"];
    let named = variables.iter().filter_map(|name| std::env::var(name).ok());
    named
        .chain([root.display().to_string()])
        // One component (`/src`) is a word that honest text uses too.
        .filter(|place| place.starts_with('/') && place.matches('/').count() > 1)
        .chain(HOMES.iter().map(|&home| home.to_owned()))
        .collect()
}

fn file_findings(file: &File, places: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, nr) in file.text.lines().zip(1..) {
        let at = format!("{}:{nr}", file.path);
        if let Some(place) = places.iter().find(|place| has_path(line, place)) {
            findings.push(Finding::fail(&at, format!("names `{place}`, a path of one machine")));
        }
        if file.path == "Cargo.lock" && is_foreign_source(line) {
            findings.push(Finding::fail(&at, "takes a crate from elsewhere than crates.io"));
        }
    }
    findings
}

/// Whether `path` stands in `line` as a path from the root, not as the tail of another one.
fn has_path(line: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | ')');
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + path.len()..].chars().next();
        let ends = path.ends_with('/') || !after.is_some_and(is_name);
        ends && !before.is_some_and(is_name)
    })
}

fn is_foreign_source(line: &str) -> bool {
    line.trim().strip_prefix("source = \"").is_some_and(|rest| !rest.starts_with(CRATES_IO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_the_root_only() {
        let path = "/some/checkout";
        for (line, found) in [
            ("cd /some/checkout", true),
            ("`/some/checkout/target`", true),
            ("{dir}/some/checkout", false),
            ("fake/some/checkout", false),
            ("/some/checkouts", false),
        ] {
            assert_eq!(has_path(line, path), found, "{line}");
        }
    }

    #[test]
    fn homes_and_registries() {
        let home = format!("x = \"{}me/project\"\n", HOMES[0]);
        let lock = "source = \"registry+https://mirror.example/index\"\n";
        let good = format!("source = \"{CRATES_IO}\"\n");
        for (path, text, nr) in [
            ("a.sh", home.as_str(), 1),
            ("Cargo.lock", lock, 1),
            ("Cargo.lock", good.as_str(), 0),
            ("notes.md", lock, 0),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), nr, "{path}: {text}");
        }
    }
}
