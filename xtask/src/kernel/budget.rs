// SPDX-License-Identifier: GPL-2.0-or-later
//! How much of existing files the hooks may change: the smaller, the longer they apply.

use std::path::PathBuf;

/// Patches of a series at most.
pub const PATCHES: usize = 19;
/// Lines that a series adds to existing files at most.
pub const ADDED: usize = 200;

/// What a patch does, by its text alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extent {
    pub added: usize,
    pub removed: usize,
    pub files: Vec<PathBuf>,
    /// Files that it makes or deletes: these belong into the overlay.
    pub not_changed: Vec<PathBuf>,
}

/// Measures a patch in git's format.
pub fn measure(patch: &str) -> Extent {
    let mut extent = Extent::default();
    // Lines of the hunk at hand that are still to come, before and after.
    let (mut old, mut new) = (0_usize, 0_usize);
    for line in patch.lines() {
        if old > 0 || new > 0 {
            match line.as_bytes().first() {
                Some(b'+') => {
                    extent.added += 1;
                    new = new.saturating_sub(1);
                }
                Some(b'-') => {
                    extent.removed += 1;
                    old = old.saturating_sub(1);
                }
                Some(b'\\') => {}
                _ => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            }
        } else if let Some(ranges) = line.strip_prefix("@@ -") {
            let mut ranges = ranges.split(' ').map(length);
            (old, new) = (ranges.next().unwrap_or(0), ranges.next().unwrap_or(0));
        } else if let Some(file) = line.strip_prefix("diff --git a/") {
            extent.files.extend(file.split(" b/").next().map(PathBuf::from));
        } else if line.starts_with("new file mode") || line.starts_with("deleted file mode") {
            extent.not_changed.extend(extent.files.last().cloned());
        }
    }
    extent
}

/// The second number of `12,34` or `+12,34`; 1 if there is none.
fn length(range: &str) -> usize {
    range.split_once(',').map_or(1, |(_, length)| length.parse().unwrap_or(0))
}
