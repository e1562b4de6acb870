// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers, names and colours of the terminal output.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
}

impl Style {
    pub const fn new(colour: bool) -> Self {
        Self { colour }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// What took the time.
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// What cannot be vouched for.
    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub fn bar(self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// Columns that `text` takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// One line without anything that moves the cursor or has no width.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.width().unwrap_or(0) == 0 { '?' } else { c }).collect()
}

/// At most `max` columns, the cut marked.
pub(super) fn cut(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > max {
            break;
        }
        out.push(c);
    }
    if max > 0 {
        out.push('\u{2026}');
    }
    out
}

/// Left-aligned in `columns`.
pub(super) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Right-aligned in `columns`.
pub(super) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// A time in us with one decimal, as tables of paths show it.
pub(super) fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

/// A time in us with two decimals, where handlers are shown.
pub(super) fn us2(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e3)
}

/// `part` of `whole` in percent.
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A bar of at most `columns`, in eighths; something that is not zero shows.
pub(super) fn bar(part: u64, whole: u64, columns: usize) -> String {
    const EIGHTHS: [char; 8] =
        [' ', '\u{258f}', '\u{258e}', '\u{258d}', '\u{258c}', '\u{258b}', '\u{258a}', '\u{2589}'];
    if part == 0 || whole == 0 {
        return String::new();
    }
    let share = part as f64 / whole as f64;
    let eighths = ((share * columns as f64 * 8.0).round() as usize).clamp(1, columns * 8);
    let mut out = "\u{2588}".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(EIGHTHS[eighths % 8]);
    }
    out
}

/// A count with thin groups: `1 234 567`.
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(clean("a\x1b[31m\nb\u{202e}c\u{fffd}"), "a?[31m?b?c\u{fffd}");
    }

    #[test]
    fn cuts_by_columns_and_marks_it() {
        for (text, max, want) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab\u{2026}"),
            ("\u{4e2d}\u{6587}x", 4, "\u{4e2d}\u{2026}"),
            ("ab", 0, ""),
        ] {
            let got = cut(text, max);
            assert_eq!(got, want);
            assert!(width(&got) <= max);
        }
    }

    #[test]
    fn bars_end_at_their_width_and_show_the_smallest_share() {
        assert_eq!(bar(1, 1, 4), "\u{2588}".repeat(4));
        assert_eq!(bar(1, 1_000_000, 4), "\u{258f}");
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(0, 0, 4), "");
    }

    #[test]
    fn groups_digits() {
        for (n, want) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(n), want);
        }
    }
}
