// SPDX-License-Identifier: GPL-2.0-or-later
//! A table whose columns are as wide as their content: texts to the left, numbers to the right.
//! For lists of a few rows; results have the tables of `irqpath-report`, which fit a terminal.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Rows below titles; the columns of `numbers` are aligned to the right.
pub fn table<const N: usize>(
    titles: [&str; N],
    numbers: RangeInclusive<usize>,
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let rows: Vec<_> = std::iter::once(titles.map(str::to_owned)).chain(rows).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a String cannot fail.
            let _ = if numbers.contains(&i) {
                write!(line, "  {cell:>width$}")
            } else {
                write!(line, "  {cell:<width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}
