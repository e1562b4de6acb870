// SPDX-License-Identifier: GPL-2.0-or-later
//! Links between pages lead somewhere: to a file or directory of the project, and to a heading of
//! it. Every page of `docs/` is in `docs/SUMMARY.md`, from which the site is made.
//!
//! Links to other hosts are not followed.

use crate::finding::Finding;
use crate::markdown::{anchors, links};
use crate::tree::{File, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The headings' names of each page.
type Anchors<'a> = BTreeMap<&'a str, BTreeSet<String>>;

/// The list of the site's pages.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Finds links that lead nowhere, and pages that no list has.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let named: Anchors =
        pages(tree).map(|page| (page.path.as_str(), anchors(&page.text))).collect();
    let broken = pages(tree).flat_map(|page| broken_links(tree, &named, page));
    broken.chain(unlisted(tree)).collect()
}

/// Markdown files that people read; golden files of tests are output.
pub fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.written().filter(|file| file.kind() == "md" && !file.path.contains("/tests/golden/"))
}

fn broken_links(tree: &Tree, named: &Anchors, page: &File) -> Vec<Finding> {
    let finding = |(line, why)| Finding::fail(format!("{}:{line}", page.path), why);
    let all = links(&page.text).into_iter();
    all.filter_map(|link| Some((link.line, defect(tree, named, page, &link.target)?)))
        .map(finding)
        .collect()
}

/// Why `target` leads nowhere from `page`.
fn defect(tree: &Tree, named: &Anchors, page: &File, target: &str) -> Option<String> {
    if is_elsewhere(target) {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(&page.path, path) else {
        return Some(format!("`{target}` leads out of the project"));
    };
    if !tree.has(&path) {
        return Some(format!("`{target}` leads to {path}, which is not there"));
    }
    let is_named = named.get(path.as_str()).is_some_and(|names| names.contains(anchor));
    (!anchor.is_empty() && !is_named)
        .then(|| format!("`{target}`: {path} has no heading #{anchor}"))
}

/// A link with a scheme, such as `https:` or `mailto:`.
pub fn is_elsewhere(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(char::is_alphanumeric))
}

/// The path from the root that `target` means on the page at `from`; `None` where it leads above.
pub fn resolve(from: &str, target: &str) -> Option<String> {
    if target.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn unlisted(tree: &Tree) -> Vec<Finding> {
    let Some(summary) = tree.text(SUMMARY) else { return Vec::new() };
    let listed: BTreeSet<String> =
        links(summary).iter().filter_map(|link| resolve(SUMMARY, &link.target)).collect();
    let of_docs = pages(tree).filter(|page| page.path.starts_with("docs/"));
    of_docs
        .filter(|page| page.path != SUMMARY && !listed.contains(&page.path))
        .map(|page| Finding::fail(&page.path, format!("is not in {SUMMARY}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> usize {
        let other = "# One\n\n## Two words\n";
        check(&Tree::of(&[("docs/a.md", page), ("docs/p/b.md", other), ("src/c.rs", "")])).len()
    }

    #[test]
    fn a_link_leads_to_a_file_a_directory_or_a_heading() {
        for (target, nr) in [
            ("p/b.md", 0),
            ("p/b.md#two-words", 0),
            ("p/b.md#three", 1),
            ("#here", 0),
            ("#there", 1),
            ("../src/c.rs", 0),
            ("../src", 0),
            ("../src/d.rs", 1),
            ("../../src/c.rs", 1),
            ("https://example.org/x.md", 0),
        ] {
            assert_eq!(found(&format!("# Here\n\n[x]({target})\n")), nr, "{target}");
        }
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(found("```\n[x](y.md)\n```\n\n`[x](y.md)`\n"), 0);
    }

    #[test]
    fn a_page_that_the_list_lacks_is_found() {
        let tree = Tree::of(&[(SUMMARY, "- [A](a.md)\n"), ("docs/a.md", ""), ("docs/b.md", "")]);
        let places: Vec<String> = check(&tree).into_iter().map(|f| f.place).collect();
        assert_eq!(places, ["docs/b.md"]);
    }
}
