// SPDX-License-Identifier: GPL-2.0-or-later
//! Numbers, names and colours of the terminal output.

use irqpath_model::printable;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
}

impl Style {
    pub const fn new(colour: bool) -> Self {
        Self { colour }
    }

    fn paint_code(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint_code("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint_code("2", text)
    }

    /// What took the time.
    pub fn bad(self, text: &str) -> String {
        self.paint_code("31", text)
    }

    /// What cannot be vouched for.
    pub fn warn(self, text: &str) -> String {
        self.paint_code("33", text)
    }

    pub fn bar(self, text: &str) -> String {
        self.paint_code("36", text)
    }
}

/// Columns that `text` takes.
pub(super) fn text_width(text: &str) -> usize {
    text.width()
}

pub(super) fn escape_line(text: &str) -> String {
    printable(text).into_owned()
}

/// How a path ends whose target runs on another CPU than the one that woke it.
const REMOTE: &str = " @cpu";

/// At most `max` columns, the cut marked. The number behind a task's name is kept: it is what
/// tells tasks with one name apart. So is the `@cpu` of a path.
pub fn cut_to(text: &str, max: usize) -> String {
    if text_width(text) <= max {
        return text.to_owned();
    }
    let kept = text.strip_suffix(REMOTE).map(str::len).or_else(|| tid_in(text));
    match kept {
        Some(at) if text_width(&text[at..]) + FEW_LETTERS <= max => {
            let (name, tid) = text.split_at(at);
            cut_end(name, max - text_width(tid)) + tid
        }
        _ => cut_end(text, max),
    }
}

/// Letters of a name that are left where its tid is kept.
const FEW_LETTERS: usize = 4;

/// Where `:4711` begins, alone or with the scheduling behind it: `fio:4711`, `fio:4711 f:80`.
fn tid_in(text: &str) -> Option<usize> {
    text.rmatch_indices(':').map(|(at, _)| at).find(|&at| {
        let rest = &text[at + 1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_end = rest.len() == digits || rest.as_bytes()[digits] == b' ';
        let is_sched = text[..at].ends_with([' ', 'f', 'r', 'o', 'b']) && text[..at].contains(' ');
        digits > 0 && is_end && rest.len() <= digits + 6 && !is_sched
    })
}

fn cut_end(text: &str, max: usize) -> String {
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

/// Broken at spaces into lines of at most `columns`, where words allow it.
pub fn wrap_text(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in unbroken_words(text) {
        if used > 0 && used + 1 + text_width(word) > columns {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += text_width(word);
    }
    out
}

/// What is not broken: words, and numbers with their groups of digits.
fn unbroken_words(text: &str) -> Vec<&str> {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(' ') {
        let (before, after) = (&text[start..at], &text[at + 1..]);
        let group = after.chars().take_while(char::is_ascii_digit).count() == 3;
        if !(group && is_digit(before.chars().next_back())) {
            words.push(before);
            start = at + 1;
        }
    }
    words.push(&text[start..]);
    words
}

pub(super) fn align_left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text_width(text))))
}

pub(super) fn align_right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(text_width(text))))
}

/// From here on a fraction of a us says nothing, ns.
const WHOLE_US: u64 = 99_950;

/// A time in us: one decimal below 100 us, whole ones in thin groups from there on.
pub fn format_us(ns: u64) -> String {
    if ns >= WHOLE_US {
        return group_digits(ns.saturating_add(500) / 1_000);
    }
    format!("{:.1}", ns as f64 / 1e3)
}

/// As [`format_us`] with two decimals below 10 us, where handlers and stages are shown.
pub(crate) fn format_us2(ns: u64) -> String {
    if ns < 9_995 { format!("{:.2}", ns as f64 / 1e3) } else { format_us(ns) }
}

/// Numbers of one column with their decimal points one below the other.
pub(super) fn align_points(cells: &mut [String]) {
    let decimals = |cell: &str| cell.find('.').map_or(0, |at| cell.len() - at);
    let most = cells.iter().map(|c| decimals(c)).max().unwrap_or(0);
    for cell in cells.iter_mut().filter(|c| !c.is_empty()) {
        let missing = most - decimals(cell);
        cell.push_str(&" ".repeat(missing));
    }
}

/// `part` of `whole` in percent.
pub(super) fn to_percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A bar of at most `columns`, in eighths; something that is not zero shows.
pub(super) fn draw_bar(part: u64, whole: u64, columns: usize) -> String {
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

/// A count in groups: `1 234 567`.
pub fn group_digits(n: u64) -> String {
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
        let escaped = r"a\x1b[31m\nb\u{202e}c";
        assert_eq!(escape_line("a\x1b[31m\nb\u{202e}c\u{fffd}"), format!("{escaped}\u{fffd}"));
    }

    #[test]
    fn cuts_by_columns_and_marks_it() {
        for (text, max, want) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab\u{2026}"),
            ("\u{4e2d}\u{6587}x", 4, "\u{4e2d}\u{2026}"),
            ("ab", 0, ""),
            ("load-disk:4711", 10, "load\u{2026}:4711"),
            ("load-disk:4711", 8, "load-di\u{2026}"),
            ("load-disk:4711 f:80", 14, "loa\u{2026}:4711 f:80"),
            ("36:virtio1-req.0", 9, "36:virti\u{2026}"),
            ("rcu+ksoftirqd @cpu", 9, "rcu\u{2026} @cpu"),
            ("rcu+ksoftirqd @cpu", 8, "rcu+kso\u{2026}"),
        ] {
            let got = cut_to(text, max);
            assert_eq!(got, want);
            assert!(text_width(&got) <= max);
        }
    }

    #[test]
    fn bars_end_at_their_width_and_show_the_smallest_share() {
        assert_eq!(draw_bar(1, 1, 4), "\u{2588}".repeat(4));
        assert_eq!(draw_bar(1, 1_000_000, 4), "\u{258f}");
        assert_eq!(draw_bar(0, 10, 4), "");
        assert_eq!(draw_bar(0, 0, 4), "");
    }

    #[test]
    fn times_are_short_and_their_points_align() {
        let mut cells = [4_040, 99_949, 99_950, 1_011_276_000].map(format_us);
        assert_eq!(cells, ["4.0", "99.9", "100", "1 011 276"]);
        align_points(&mut cells);
        assert_eq!(cells, ["4.0", "99.9", "100  ", "1 011 276  "]);
        assert_eq!([9_994, 9_995, 123_456].map(format_us2), ["9.99", "10.0", "123"]);
    }

    #[test]
    fn breaks_lines_at_spaces() {
        for (columns, want) in [(7, "aa bb\ncccc"), (2, "aa\nbb\ncccc"), (20, "aa bb cccc")] {
            assert_eq!(wrap_text("aa bb cccc", columns), want);
        }
        assert_eq!(wrap_text("took 50 000 us", 8), "took\n50 000\nus");
    }

    #[test]
    fn groups_digits() {
        for (n, want) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(group_digits(n), want);
        }
    }
}
