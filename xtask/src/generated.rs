// SPDX-License-Identifier: GPL-2.0-or-later
//! Generated files that are committed fit their inputs, and nobody edited them by hand.
//!
//! `bpf/vmlinux.h` depends on a kernel's BTF, which the checking machine may not have. So its
//! header holds two checksums, of what was asked for and of what was written; see `vmlinux`.

use crate::finding::Finding;
use crate::tree::Tree;
use crate::vmlinux::{HEADER_PATH, SPEC_PATH, is_current};

/// Compares `bpf/vmlinux.h` with `bpf/types.txt` and with itself.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let finding = match (tree.text(SPEC_PATH), tree.text(HEADER_PATH)) {
        (None, None) => return Vec::new(),
        (Some(spec), Some(header)) => match is_current(spec, header) {
            Ok(()) => return Vec::new(),
            Err(error) => Finding::fail(HEADER_PATH, format!("{error:#}")),
        },
        (None, Some(_)) => Finding::fail(SPEC_PATH, format!("missing, {HEADER_PATH} needs it")),
        (Some(_), None) => Finding::fail(HEADER_PATH, "missing, run `cargo xtask vmlinux`"),
    };
    vec![finding]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_without_the_other() {
        assert!(check(&Tree::of(&[])).is_empty());
        assert_eq!(check(&Tree::of(&[(SPEC_PATH, "")])).len(), 1);
        assert_eq!(check(&Tree::of(&[(HEADER_PATH, "")])).len(), 1);
        assert_eq!(check(&Tree::of(&[(SPEC_PATH, ""), (HEADER_PATH, "int x;\n")])).len(), 1);
    }
}
