// SPDX-License-Identifier: GPL-2.0-or-later
//! Every source file names its licence near its top, by an SPDX line.
//!
//! Manifests carry the licence in a field of their own, prose and recordings have none;
//! files from elsewhere keep the licence beside them.

use crate::finding::Finding;
use crate::tree::{File, Tree};

const TAG: &str = "SPDX-License-Identifier: ";
/// A shebang, a doctype and an opening comment may come first.
const NR_LINES: usize = 6;
const KINDS: &[&str] = &["rs", "c", "h", "S", "sh", "py", "js", "css", "html", "bt", "Makefile"];

/// Finds source files without the line.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.written()
        .filter(|file| is_source(file) && !is_licensed(&file.text))
        .map(|file| {
            Finding::fail(&file.path, format!("has no `{TAG}GPL-2.0-or-later` in its first lines"))
        })
        .collect()
}

fn is_source(file: &File) -> bool {
    KINDS.contains(&file.kind()) || file.text.starts_with("#!")
}

fn is_licensed(text: &str) -> bool {
    text.lines().take(NR_LINES).any(|line| line.contains(TAG))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_files_need_the_line() {
        let line = format!("// {TAG}GPL-2.0-or-later\n");
        let late = format!("{}{line}", "\n".repeat(NR_LINES));
        for (path, text, ok) in [
            ("a.rs", line.as_str(), true),
            ("a.rs", "fn main() {}\n", false),
            ("a.rs", late.as_str(), false),
            ("bpf/a.bpf.c", "int x;\n", false),
            ("run", "#!/bin/sh\n", false),
            ("notes.md", "# prose\n", true),
            ("Makefile", "all:\n", false),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).is_empty(), ok, "{path}: {text:?}");
        }
    }
}
