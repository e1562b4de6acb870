// SPDX-License-Identifier: GPL-2.0-or-later
//! Result directories, as `report` and `compare` read them: `meta.json` and `summary.json` as
//! sections of one input, or one document of both. `table` has their tables.

use irqpath_report::json;

use crate::{output, sections};

/// Read both files and show them.
pub fn run(data: &[u8]) -> bool {
    let read = match sections(data)[..] {
        [meta, summary, ..] => json::read_meta(meta).ok().zip(json::read_summary(summary).ok()),
        _ => json::read_document(data).ok().map(|document| (document.meta, document.summary)),
    };
    let Some((meta, summary)) = read else { return false };
    output::show(&meta, &summary);
    true
}
