// SPDX-License-Identifier: GPL-2.0-or-later
//! Lays the pages out for mdBook: `cargo xtask book`, which `make docs` runs.
//!
//! The pages link to each other, and to code, by relative paths, so that they read well on a forge.
//! The site has the pages and pictures only. A link to anything else leads to the source: below
//! `IRQPATH_SOURCE_URL`, or to this checkout. A README becomes its directory's `index.md`, which is
//! what mdBook makes of it without mending the links to it.

use crate::links::{SUMMARY, is_elsewhere, resolve};
use crate::markdown::links;
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Below the root of the checkout: `book.toml`, `site.css`, `src` and, made by mdBook,
/// `site`.
const OUT: &str = "target/book";

/// Writes `target/book` for mdBook.
pub fn run() -> Result<()> {
    let tree = Tree::load()?;
    let source = std::env::var("IRQPATH_SOURCE_URL")
        .unwrap_or_else(|_| format!("file://{}", tree.root.display()));
    let out = tree.root.join(OUT);
    let src = out.join("src");
    if src.exists() {
        fs::remove_dir_all(&src)?;
    }
    let summary = tree.text(SUMMARY).with_context(|| format!("{SUMMARY} is missing"))?;
    let site = Site { pages: listed(summary), source };
    for name in ["book.toml", "site.css"] {
        let text = tree.text(&format!("docs/{name}"));
        let text = text.with_context(|| format!("docs/{name} is missing"))?;
        write(&out.join(name), text.as_bytes())?;
    }
    write(&src.join("SUMMARY.md"), site.rewrite(SUMMARY, summary, "").as_bytes())?;
    for page in &site.pages {
        let text = tree.text(page).with_context(|| format!("{page} is missing"))?;
        let text = site.rewrite(page, text, &up(page));
        write(&src.join(place(page)), text.as_bytes())?;
    }
    for picture in tree.paths.iter().filter(|path| is_picture(path)) {
        write(&src.join(picture), &fs::read(tree.root.join(picture))?)?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn listed(summary: &str) -> BTreeSet<String> {
    links(summary).iter().filter_map(|link| resolve(SUMMARY, &link.target)).collect()
}

fn is_picture(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    path.starts_with("docs/") && matches!(ending, Some("png" | "svg"))
}

/// Where a page lies in the site.
fn place(page: &str) -> String {
    page.strip_suffix("README.md").map_or_else(|| page.to_owned(), |dir| format!("{dir}index.md"))
}

/// The way from a page to the root of the site.
fn up(page: &str) -> String {
    "../".repeat(page.matches('/').count())
}

struct Site {
    pages: BTreeSet<String>,
    source: String,
}

impl Site {
    /// The text of `page` with its links as the site wants them; `up` leads to the root.
    fn rewrite(&self, page: &str, text: &str, up: &str) -> String {
        let mut rewritten = text.to_owned();
        for link in links(text).into_iter().rev() {
            if let Some(target) = self.target(page, &link.target, up) {
                rewritten.replace_range(link.place, &target);
            }
        }
        rewritten
    }

    /// `None` for a link that stays as it is.
    fn target(&self, page: &str, target: &str, up: &str) -> Option<String> {
        if is_elsewhere(target) || target.starts_with('#') {
            return None;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let path = resolve(page, path)?;
        let anchor = if anchor.is_empty() { String::new() } else { format!("#{anchor}") };
        Some(if self.pages.contains(&path) {
            format!("{up}{}{anchor}", place(&path))
        } else if is_picture(&path) {
            format!("{up}{path}")
        } else {
            format!("{}/{path}{anchor}", self.source)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_pictures_and_the_source() {
        let summary = "- [Start](../README.md)\n- [B](p/b.md)\n";
        let site = Site { pages: listed(summary), source: "https://example.org".into() };
        let page = "[r](../../README.md#x) ![i](../img/i.png) [c](../../src/c.rs) [h](#here)\n";
        assert_eq!(
            site.rewrite("docs/p/b.md", page, &up("docs/p/b.md")),
            "[r](../../index.md#x) ![i](../../docs/img/i.png) [c](https://example.org/src/c.rs) \
             [h](#here)\n"
        );
        assert_eq!(site.rewrite(SUMMARY, summary, ""), "- [Start](index.md)\n- [B](docs/p/b.md)\n");
    }
}
