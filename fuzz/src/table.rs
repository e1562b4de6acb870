// SPDX-License-Identifier: GPL-2.0-or-later
//! Parquet tables of results, as `merge` and `compare` read them: every row is checked, collected as
//! a length, and copied into another table.
//!
//! The library panics on some damaged files, and the reader counts that as damage. The fuzzer's own
//! hook would end the process there.

use std::sync::Once;

use bytes::Bytes;
use irqpath_model::RunIdentity;
use irqpath_report::parquet::{LengthLabels, TableReader, TableWriter, is_guarded};

const LABELS: LengthLabels<'_> = LengthLabels { experiment: "fuzz", variant: "table" };
/// As `merge` writes them.
const ROW_GROUP_ROWS: usize = 1000;

/// Read it and copy it.
pub fn run(data: &[u8]) -> bool {
    static HOOK: Once = Once::new();
    HOOK.call_once(let_guarded_panics_pass);
    let Ok(reader) = TableReader::open(Bytes::copy_from_slice(data)) else { return false };
    let checked = reader.check_rows();
    let lengths = reader.collect_lengths();
    if let Ok(lengths) = &lengths {
        let is_clean = |name: &String| name.chars().all(irqpath_model::is_printable);
        assert!(lengths.keys().all(is_clean), "a series has a control character");
    }
    let out = TableWriter::for_runs(Vec::new(), reader.table(), ROW_GROUP_ROWS);
    let mut out = out.expect("memory takes a table");
    let copied = reader.copy_rows(&RunIdentity::default(), LABELS, &mut out);
    let (Ok(nr_checked), Ok(nr_copied)) = (checked, copied) else { return false };
    assert_eq!(nr_checked, nr_copied, "rows were lost");
    let copy = out.finish().expect("memory takes a table");
    let copy = TableReader::open(Bytes::from(copy)).expect("what was written is read");
    assert_eq!(copy.check_rows().ok(), Some(nr_copied), "rows of the copy were lost");
    lengths.is_ok()
}

fn let_guarded_panics_pass() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_guarded() {
            hook(info);
        }
    }));
}
