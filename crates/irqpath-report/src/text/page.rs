// SPDX-License-Identifier: GPL-2.0-or-later
//! Text for people, a line at a time. Every way to add to a [`Page`] makes the line printable: the
//! name of a task can neither steer the terminal nor begin a line of its own, which a journal would
//! record as ours. The binary prints nothing else.
//!
//! [`Guard`](crate::Guard) does the same for exporters, which bring their own line breaks.

use std::fmt;

use irqpath_model::printable;

use super::table::Table;

/// Lines to print, each of them printable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page(String);

impl Page {
    /// A page of one line.
    pub fn from_line(line: impl fmt::Display) -> Self {
        let mut page = Self::default();
        page.add_line(line);
        page
    }

    /// Add a line. A line break within it is shown as `\n`.
    pub fn add_line(&mut self, line: impl fmt::Display) {
        self.0.push_str(&printable(&line.to_string()));
        self.0.push('\n');
    }

    /// Add an empty line.
    pub fn add_blank(&mut self) {
        self.0.push('\n');
    }

    /// Add a list below a heading, cut after `max` rows; nothing where there is no row.
    pub fn add_list<T>(
        &mut self,
        heading: &str,
        all: &[T],
        max: usize,
        row: impl Fn(&T) -> String,
    ) {
        if all.is_empty() {
            return;
        }
        self.add_line(format_args!("{heading}:"));
        for one in all.iter().take(max) {
            self.add_line(format_args!("  {}", row(one)));
        }
        if all.len() > max {
            self.add_line(format_args!("  and {} more (--json has all)", all.len() - max));
        }
    }

    /// Add a table, as wide as its content.
    pub(crate) fn add_table(&mut self, table: Table) {
        for line in table.into_lines(usize::MAX) {
            self.add_line(format_args!("  {line}"));
        }
    }

    /// Adds the lines of another page.
    pub fn append_page(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

impl std::ops::Deref for Page {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<&str> for Page {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_begin_a_line_of_its_own() {
        let mut page = Page::from_line(format_args!("set: {} -> f:81", "a\nset: b\x1b[2J"));
        page.add_blank();
        page.append_page(&Page::from_line("\u{9b}31mred\u{202e}"));
        assert_eq!(page, "set: a\\nset: b\\x1b[2J -> f:81\n\n\\u{9b}31mred\\u{202e}\n");
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let mut page = Page::default();
        page.add_list("numbers", &[1, 2, 3], 2, u32::to_string);
        page.add_list("nothing", &[], 2, u32::to_string);
        assert_eq!(page, "numbers:\n  1\n  2\n  and 1 more (--json has all)\n");
    }
}
