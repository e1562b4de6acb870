// SPDX-License-Identifier: GPL-2.0-or-later
//! Text for people, a line at a time. A [`Page`] is all that `console::print` takes, and every way to
//! add to one makes the line printable: the name of a task can neither steer the terminal nor begin
//! a line of its own, which a journal would record as ours.
//!
//! `irqpath_report::Guard` does the same for exporters, which bring their own line breaks.

use std::fmt;

use irqpath_model::printable;

/// Lines to print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page(String);

impl Page {
    /// One line.
    pub fn of(line: impl fmt::Display) -> Self {
        let mut page = Self::default();
        page.line(line);
        page
    }

    /// Add a line. A line break within it is shown as `\n`.
    pub fn line(&mut self, line: impl fmt::Display) {
        self.0.push_str(&printable(&line.to_string()));
        self.0.push('\n');
    }

    /// Add an empty line.
    pub fn blank(&mut self) {
        self.0.push('\n');
    }

    /// Add another page.
    pub fn append(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

/// What is printed.
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
        let mut page = Page::of(format_args!("set: {} -> f:81", "a\nset: b\x1b[2J"));
        page.blank();
        page.append(&Page::of("\u{9b}31mred\u{202e}"));
        assert_eq!(page, "set: a\\nset: b\\x1b[2J -> f:81\n\n\\u{9b}31mred\\u{202e}\n");
    }
}
