// SPDX-License-Identifier: GPL-2.0-or-later
//! Finds calls in the product that go around the one place where a thing is done. `outputs` and
//! `files` say which; tests and developer tools call what they like.

use crate::finding::Finding;
use crate::imports;
use crate::tree::{File, Tree};
use std::path::Path;

/// What is not called, and where it may be.
pub struct Ban {
    pub calls: &'static [&'static str],
    /// Crates in which it is banned, as a beginning of paths.
    pub within: &'static str,
    /// Files that may call it, and why.
    pub except: &'static [(&'static str, &'static str)],
    /// What the call goes around.
    pub around: &'static str,
    /// What to do instead.
    pub instead: &'static str,
}

/// Finds the calls, and exceptions that nothing needs any more.
pub fn check(tree: &Tree, bans: &[Ban]) -> Vec<Finding> {
    let product = || tree.files.iter().filter(|file| is_product(&file.path));
    let mut findings: Vec<Finding> = product().flat_map(|file| in_file(file, bans)).collect();
    for (path, _) in bans.iter().flat_map(|ban| ban.except) {
        let is_needed = |ban: &Ban, file: &File| {
            ban.except.iter().any(|(except, _)| except == path) && !calls(file, ban).is_empty()
        };
        let file = tree.files.iter().find(|file| file.path == *path);
        if file.is_some_and(|file| !bans.iter().any(|ban| is_needed(ban, file))) {
            findings.push(Finding::fail(*path, "is an exception and calls nothing banned"));
        }
    }
    findings
}

fn is_product(path: &str) -> bool {
    let is_test = path.starts_with("crates/irqpath-testing/")
        || path.contains("/tests/")
        || path.ends_with("tests.rs");
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    path.starts_with("crates/") && path.contains("/src/") && is_rust && !is_test
}

fn in_file(file: &File, bans: &[Ban]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ban in bans {
        if ban.except.iter().any(|(path, _)| *path == file.path) {
            continue;
        }
        for (nr, call) in calls(file, ban) {
            let text = format!("`{call}` goes around {}; {}", ban.around, ban.instead);
            findings.push(Finding::fail(format!("{}:{nr}", file.path), text));
        }
    }
    findings
}

/// Lines, from 1, and what they call.
fn calls(file: &File, ban: &Ban) -> Vec<(usize, &'static str)> {
    if !file.path.starts_with(ban.within) {
        return Vec::new();
    }
    // Tests are the end of their file.
    let is_tests = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].starts_with("mod ") && !pair[1].ends_with(';')
    };
    let lines: Vec<&str> = file.text.lines().collect();
    let end = lines.windows(2).position(is_tests).unwrap_or(lines.len());
    let called = |line: &str| ban.calls.iter().find(|call| has_call(line, call)).copied();
    let numbered = lines[..end].iter().zip(1..);
    let mut found: Vec<(usize, &'static str)> =
        numbered.filter_map(|(line, nr)| Some((nr, called(line)?))).collect();
    for import in imports::find(&lines[..end]) {
        let imported = ban.calls.iter().find(|call| is_import(&import, call)).copied();
        found.extend(imported.map(|call| (import.nr, call)));
    }
    found.sort_unstable();
    found.dedup_by_key(|(nr, _)| *nr);
    found
}

/// Whether the name could be called without being seen: a function of a module `fs` by its name
/// alone, all of them, or something by another name.
fn is_import(import: &imports::Import, call: &str) -> bool {
    let Some((_, name)) = import.path.rsplit_once("::") else { return false };
    let is_renamed = import.alias.as_ref().is_some_and(|alias| alias != "_");
    if name == "fs" {
        return is_renamed && call.starts_with("fs::");
    }
    if !import.path.contains("fs::") {
        return false;
    }
    let (module, wanted) = call.split_once("::").unwrap_or(("fs", call));
    match wanted.strip_suffix('(') {
        _ if name == "*" => true,
        _ if module != "fs" => is_renamed && name == module,
        Some(wanted) => name == wanted,
        None => name.starts_with(wanted),
    }
}

/// Whether the line calls it: not in a comment, and not as the end of another name.
fn has_call(line: &str, call: &str) -> bool {
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    code.match_indices(call).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"' || c == '`')
    })
}
