// SPDX-License-Identifier: GPL-2.0-or-later
//! A table whose columns are as wide as their content: texts to the left, numbers to the right.
//! For lists of a few rows; results have the tables of `irqpath-report`, which fit a terminal.

use std::ops::RangeInclusive;

use irqpath_model::printable;
use unicode_width::UnicodeWidthStr as _;

use super::page::Page;

/// Rows below titles; the columns of `numbers` are aligned to the right.
pub fn table<const N: usize>(
    titles: [&str; N],
    numbers: RangeInclusive<usize>,
    rows: impl Iterator<Item = [String; N]>,
) -> Page {
    let rows = rows.map(|row| row.map(|cell| printable(&cell).into_owned()));
    let rows: Vec<_> = std::iter::once(titles.map(str::to_owned)).chain(rows).collect();
    let width = |i: usize| rows.iter().map(|row| row[i].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut page = Page::default();
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            let (before, after) = if numbers.contains(&i) { (&*space, "") } else { ("", &*space) };
            line.extend(["  ", before, cell, after]);
        }
        page.line(line.trim_end());
    }
    page
}
