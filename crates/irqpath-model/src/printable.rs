// SPDX-License-Identifier: GPL-2.0-or-later
//! Text of strangers as text that can be shown: the one definition of what is printable.
//!
//! Any local user chooses task and cgroup names; devices, containers and the files of other people
//! bring names too. A character that steers a terminal, is invisible, or moves its neighbours is
//! shown as an escape, so that one line stays one line and columns stay where they are. An escape
//! says which character it was: names that differ stay different.
//!
//! Neighbours: [`crate::Comm`] and [`crate::Names`] are printable by construction, `irqpath-report`
//! writes JSON without unprintable characters, and the binary prints only what went through here.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// Letters and symbols by category that fonts draw as nothing.
const BLANK: [char; 5] = ['\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}'];

/// Blocks written from right to left. One such letter reverses the order of the columns to its
/// right on a terminal that knows the bidirectional algorithm.
const RIGHT_TO_LEFT: [(char, char); 5] = [
    ('\u{590}', '\u{8ff}'),
    ('\u{fb1d}', '\u{fdff}'),
    ('\u{fe70}', '\u{feff}'),
    ('\u{10800}', '\u{10fff}'),
    ('\u{1e800}', '\u{1efff}'),
];

/// Skin tones, which change the width of the character before them on some terminals.
const MODIFIERS: (char, char) = ('\u{1f3fb}', '\u{1f3ff}');

/// True for a visible character of a fixed width, and for the space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let is_within = |&(first, last): &(char, char)| first <= c && c <= last;
    // The standard library escapes controls, formats, separators, combining characters, private
    // use, and what Unicode has not assigned.
    let is_visible = c.escape_debug().len() == 1 && c.width().is_some_and(|columns| columns > 0);
    is_visible
        && !BLANK.contains(&c)
        && !RIGHT_TO_LEFT.iter().any(is_within)
        && !is_within(&MODIFIERS)
}

/// One line of `text`: what is not printable is written as `\n`, `\x1b` or `\u{202e}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|c| push(&mut out, c));
    Cow::Owned(out)
}

fn push(out: &mut String, c: char) {
    // Writing to a String cannot fail.
    let _ = match c {
        _ if is_printable(c) => {
            out.push(c);
            Ok(())
        }
        '\n' => out.write_str("\\n"),
        '\t' => out.write_str("\\t"),
        '\r' => out.write_str("\\r"),
        c if c.is_ascii() => write!(out, "\\x{:02x}", u32::from(c)),
        c => write!(out, "\\u{{{:x}}}", u32::from(c)),
    };
}

/// A name as the kernel has it, printable and exact: a byte that is not UTF-8 is written as
/// `\xff`, and a backslash is doubled, so that [`name_bytes`] can tell what the name was.
pub(crate) fn printable_name(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                out.push('\\');
            }
            push(&mut out, c);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// The bytes of a name that [`printable_name`] wrote. An escape that it does not write stands for
/// itself.
pub(crate) fn name_bytes(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let length = unescape_char(rest, &mut out).unwrap_or_else(|| {
            out.push(b'\\');
            1
        });
        rest = &rest[length..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// Decode the escape at the start of `text`; returns its length.
fn unescape_char(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    match *text.as_bytes().get(1)? {
        b'\\' => out.push(b'\\'),
        b'n' => out.push(b'\n'),
        b't' => out.push(b'\t'),
        b'r' => out.push(b'\r'),
        b'x' => {
            out.push(u8::from_str_radix(text.get(2..4)?, 16).ok()?);
            return Some(4);
        }
        b'u' => {
            let (digits, _) = text.get(2..)?.strip_prefix('{')?.split_once('}')?;
            let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(digits.len() + 4);
        }
        _ => return None,
    }
    Some(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_hides_or_moves_is_escaped() {
        for (text, want) in [
            ("irq/36-virtio1 q\\0", "irq/36-virtio1 q\\0"),
            ("\u{4e2d}\u{6587} \u{e9}\u{1f600}", "\u{4e2d}\u{6587} \u{e9}\u{1f600}"),
            ("a\x1b[31m\nb\r\t\x07\x7f\0", "a\\x1b[31m\\nb\\r\\t\\x07\\x7f\\x00"),
            ("\u{9b}2J\u{85}", "\\u{9b}2J\\u{85}"),
            ("\u{202e}\u{2066}\u{200f}", "\\u{202e}\\u{2066}\\u{200f}"),
            ("\u{200b}\u{200d}\u{feff}\u{ad}", "\\u{200b}\\u{200d}\\u{feff}\\u{ad}"),
            ("\u{2028}\u{2029}\u{a0}\u{3000}", "\\u{2028}\\u{2029}\\u{a0}\\u{3000}"),
            ("e\u{301}\u{fe0f}\u{1f3fd}", "e\\u{301}\\u{fe0f}\\u{1f3fd}"),
            ("\u{e0041}\u{e000}\u{fdd0}\u{10ffff}", "\\u{e0041}\\u{e000}\\u{fdd0}\\u{10ffff}"),
            ("\u{115f}\u{3164}\u{2800}\u{ffa0}", "\\u{115f}\\u{3164}\\u{2800}\\u{ffa0}"),
            ("\u{5d0}\u{627}\u{1e900}", "\\u{5d0}\\u{627}\\u{1e900}"),
        ] {
            assert_eq!(printable(text), want);
        }
    }

    #[test]
    fn names_say_which_bytes_they_had() {
        for (bytes, want) in [
            (&b"a\xffb"[..], "a\\xffb"),
            (b"a\\xffb", "a\\\\xffb"),
            (b"\x9b31m\xc2\x9b", "\\x9b31m\\u{9b}"),
            (b"cut\xe4\xb8", "cut\\xe4\\xb8"),
        ] {
            assert_eq!(printable_name(bytes), want);
            assert_eq!(name_bytes(want), bytes);
        }
    }

    #[test]
    fn an_escape_that_is_none_stands_for_itself() {
        for name in
            ["\\", "a\\", "\\q", "\\x", "\\xg0", "\\x\u{4e2d}", "\\u", "\\u{", "\\u{110000}"]
        {
            assert_eq!(name_bytes(name), name.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_printable_line(text in any::<String>()) {
            let shown = printable(&text);
            prop_assert!(shown.chars().all(is_printable), "{}", shown);
            let again = printable(&shown);
            prop_assert_eq!(&again, &shown);
        }

        #[test]
        fn any_name_can_be_told_from_any_other(bytes in any::<Vec<u8>>()) {
            let name = printable_name(&bytes);
            prop_assert!(name.chars().all(is_printable), "{}", name);
            prop_assert_eq!(name_bytes(&name), bytes);
        }
    }
}
