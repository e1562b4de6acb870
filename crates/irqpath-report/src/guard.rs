// SPDX-License-Identifier: GPL-2.0-or-later
//! The last stop of text on its way out: whatever an exporter forgot to make printable becomes so
//! here. Exporters bring line breaks of their own, so a foreign line break must have gone before.

use std::io::{self, Write};

use irqpath_model::{is_printable, printable};

/// Colours that [`crate::text`] uses.
const COLOURS: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[36m"];

/// Passes on line breaks, tabs and, where they are allowed, the colours of [`crate::text`], and
/// makes the rest printable. Holds a line back until it is complete, as a character may be cut in
/// the middle; [`Guard::finish`] writes the last one.
#[derive(Debug)]
pub struct Guard<W: Write> {
    inner: W,
    colour: bool,
    held: Vec<u8>,
}

impl<W: Write> Guard<W> {
    /// With colours or without.
    pub const fn new(inner: W, colour: bool) -> Self {
        Self { inner, colour, held: Vec::new() }
    }

    /// Write what is held back, and flush.
    pub fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.held);
        self.inner
            .write_all(escape_control(&String::from_utf8_lossy(&rest), self.colour).as_bytes())?;
        self.inner.flush()
    }
}

/// Text with everything shown as its escape but line breaks, tabs and, if wanted, colours.
pub(crate) fn escape_control(text: &str, colour: bool) -> String {
    let is_kept = |c: char| c == '\n' || c == '\t' || is_printable(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| !is_kept(c)) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_here = |known: &&&str| colour && rest.starts_with(**known);
        let known = COLOURS.iter().find(is_here);
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let (found, after) = rest.split_at(known.map_or(first, |known| known.len()));
        match known {
            Some(known) => out.push_str(known),
            None => out.push_str(&printable(found)),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

impl<W: Write> Write for Guard<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if let Some(end) = self.held.iter().rposition(|&b| b == b'\n') {
            let rest = self.held.split_off(end + 1);
            let lines = std::mem::replace(&mut self.held, rest);
            self.inner.write_all(
                escape_control(&String::from_utf8_lossy(&lines), self.colour).as_bytes(),
            )?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &str, colour: bool) -> String {
        let mut out = Vec::new();
        let mut guard = Guard::new(&mut out, colour);
        // Every character is cut in the middle.
        text.as_bytes().iter().for_each(|byte| guard.write_all(&[*byte]).unwrap());
        guard.write_all(b"\xff\x1b").unwrap();
        guard.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_and_colours_pass_and_nothing_else() {
        let red = "\x1b[31mred\x1b[0m\t\u{4e2d}\n";
        let bad = "\x1b[2J\x1b]0;title\x07\x1b[38;5;1m\u{9b}A\u{202e}\r";
        let shown = r"\x1b[2J\x1b]0;title\x07\x1b[38;5;1m\u{9b}A\u{202e}\r";
        let end = "\u{fffd}\\x1b";
        assert_eq!(through(&format!("{red}{bad}"), true), format!("{red}{shown}{end}"));
        let plain = "\\x1b[31mred\\x1b[0m\t\u{4e2d}\n";
        assert_eq!(through(red, false), format!("{plain}{end}"));
    }
}
