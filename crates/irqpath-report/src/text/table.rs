// SPDX-License-Identifier: GPL-2.0-or-later
//! A table without boxes whose columns fit a given width.
//!
//! Columns start as wide as their content. If the line is too long, text columns shrink, the
//! widest first, as far as they still read well; then columns that may be left out go, the highest
//! `drop` first, and what they free is given back to the texts. Only then texts shrink to their
//! minimum. Numbers are never cut, and stand with their decimal points one below the other.

use std::io::{self, Write};

use super::style::{Style, align_left, align_points, align_right, cut_to, escape_line, text_width};

pub(super) const GAP: usize = 2;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    is_text: bool,
    /// A text is not cut below this while another column could be left out.
    want: usize,
    /// A text is not cut below this.
    min: usize,
    /// Left out before columns with a lower number; 0 stays.
    drop: u8,
}

impl Column {
    /// Left-aligned text that may be cut down to `min`.
    pub const fn text(title: &'static str, min: usize) -> Self {
        Self { title, is_text: true, want: min, min, drop: 0 }
    }

    /// Rather leave out numbers than cut this text below `want`.
    pub const fn rather_than_cut(self, want: usize) -> Self {
        Self { want, ..self }
    }

    /// A number: aligned to the right, and never cut.
    pub const fn number(title: &'static str) -> Self {
        Self { title, is_text: false, want: usize::MAX, min: usize::MAX, drop: 0 }
    }

    /// May be left out where there is no room.
    pub const fn or_drop(self, drop: u8) -> Self {
        Self { drop, ..self }
    }
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        let titles = columns.iter().map(|column| column.title.to_owned()).collect();
        Self { columns: columns.to_vec(), titles, rows: Vec::new() }
    }

    /// Adds a column of numbers on the right whose title is known only now, before any row.
    pub fn add_number(&mut self, title: &str) {
        debug_assert!(self.rows.is_empty());
        self.columns.push(Column::number(""));
        self.titles.push(escape_line(title));
    }

    /// Add a row; one cell per column. Cells become printable.
    pub fn add_row(&mut self, mut cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        for cell in &mut cells {
            *cell = escape_line(cell);
        }
        self.rows.push(cells);
    }

    /// Print within `max` columns.
    pub(super) fn write(self, out: &mut impl Write, style: Style, max: usize) -> io::Result<()> {
        let mut lines = self.into_lines(max).into_iter();
        lines.next().map_or(Ok(()), |titles| writeln!(out, "{}", style.dim(&titles)))?;
        lines.try_for_each(|line| writeln!(out, "{line}"))
    }

    /// The titles and the rows as lines of at most `max` columns.
    pub fn into_lines(mut self, max: usize) -> Vec<String> {
        for (i, _) in self.columns.iter().enumerate().filter(|(_, c)| !c.is_text) {
            let mut cells: Vec<String> =
                self.rows.iter_mut().map(|row| std::mem::take(&mut row[i])).collect();
            align_points(&mut cells);
            self.rows.iter_mut().zip(cells).for_each(|(row, cell)| row[i] = cell);
        }
        let layout = self.fit_layout(max);
        std::iter::once(&self.titles)
            .chain(&self.rows)
            .map(|row| self.format_line(row, &layout))
            .collect()
    }

    fn format_line(&self, cells: &[String], layout: &[(usize, usize)]) -> String {
        let cells: Vec<String> = layout
            .iter()
            .map(|&(i, columns)| {
                let cell = cut_to(&cells[i], columns);
                if self.columns[i].is_text {
                    align_left(&cell, columns)
                } else {
                    align_right(&cell, columns)
                }
            })
            .collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_owned()
    }

    fn natural_width(&self, i: usize) -> usize {
        let cells = self.rows.iter().map(|row| text_width(&row[i])).max().unwrap_or(0);
        cells.max(text_width(&self.titles[i]))
    }

    /// Index and width of each column that is shown.
    fn fit_layout(&self, max: usize) -> Vec<(usize, usize)> {
        let mut levels: Vec<u8> = self.columns.iter().map(|c| c.drop).filter(|&d| d > 0).collect();
        levels.sort_unstable_by(|a, b| b.cmp(a));
        levels.dedup();
        // Everything, then all but the highest level, and so on down to what always stays.
        let steps = || std::iter::once(u8::MAX).chain(levels.iter().map(|level| level - 1));
        let well = steps().find_map(|level| self.fit_level(level, max, |c| c.want));
        // A name that does not read well costs more than a column that may be left out.
        let tight = || self.fit_level(0, max, |c| c.min);
        well.or_else(tight).unwrap_or_else(|| {
            let mut least = self.natural_widths(0);
            self.shrink_texts(&mut least, usize::MAX, |c| c.min);
            least
        })
    }

    fn natural_widths(&self, level: u8) -> Vec<(usize, usize)> {
        let kept = |i: &usize| self.columns[*i].drop <= level;
        (0..self.columns.len()).filter(kept).map(|i| (i, self.natural_width(i))).collect()
    }

    /// The columns up to a level of `drop` in `max`, if texts can shrink that far.
    fn fit_level(
        &self,
        level: u8,
        max: usize,
        least: impl Fn(&Column) -> usize,
    ) -> Option<Vec<(usize, usize)>> {
        let mut shown = self.natural_widths(level);
        let total = shown.iter().map(|(_, w)| w + GAP).sum::<usize>().saturating_sub(GAP);
        self.shrink_texts(&mut shown, total.saturating_sub(max), least).then_some(shown)
    }

    /// Take `excess` columns from the texts; false if they cannot give that much.
    fn shrink_texts(
        &self,
        shown: &mut [(usize, usize)],
        mut excess: usize,
        least: impl Fn(&Column) -> usize,
    ) -> bool {
        while excess > 0 {
            let widest = shown
                .iter_mut()
                .filter(|(i, w)| self.columns[*i].is_text && *w > least(&self.columns[*i]))
                .max_by_key(|(_, w)| *w);
            let Some((_, w)) = widest else { return false };
            *w -= 1;
            excess -= 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(max: usize) -> Vec<String> {
        let mut table = Table::new(&[
            Column::text("name", 5).rather_than_cut(8),
            Column::number("n"),
            Column::number("q05").or_drop(1),
        ]);
        table.add_row(vec!["a long name here".into(), "12345".into(), "1.5".into()]);
        let mut out = Vec::new();
        table.write(&mut out, Style::new(false), max).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn shrinks_texts_then_leaves_out_then_gives_up_but_never_cuts_numbers() {
        for (max, want) in [
            (80, "a long name here  12345  1.5"),
            (20, "a long \u{2026}  12345  1.5"),
            (19, "a long name\u{2026}  12345"),
            (14, "a long\u{2026}  12345"),
            (13, "a lon\u{2026}  12345"),
            (5, "a lo\u{2026}  12345"),
        ] {
            assert_eq!(lines(max)[1], want, "{max}");
        }
    }
}
