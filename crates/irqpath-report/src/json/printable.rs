// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON whose strings are printable: as escapes of JSON in what is written, so that a reader gets
//! the same strings; for good in what is read, so that no output has to think of them.

use std::borrow::Cow;
use std::io::{self, Write};

use irqpath_model::{is_printable, printable};
use serde_json::ser::Formatter;

/// Another formatter's layout, with every unprintable character escaped. The controls of ASCII
/// are escaped in any JSON.
pub(super) struct Printable<F>(pub F);

impl<F: Formatter> Formatter for Printable<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| !is_printable(c)) {
            let (before, found) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = found.chars();
            let mut units = [0; 2];
            for unit in chars.next().map_or(&[][..], |c| c.encode_utf16(&mut units)) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// A document with printable strings only. What is not valid JSON is passed on for the parser to
/// refuse.
pub(super) fn escape_strings(document: &[u8]) -> Cow<'_, [u8]> {
    let Ok(text) = std::str::from_utf8(document) else { return Cow::Borrowed(document) };
    // Outside strings an unprintable character other than these is an error of its own.
    let is_suspect = |c| c == '\\' || !(is_printable(c) || matches!(c, '\n' | '\r' | '\t'));
    if !text.contains(is_suspect) {
        return Cow::Borrowed(document);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        out.push_str(&rest[..=start]);
        rest = &rest[start + 1..];
        let end = end_of_string(rest);
        out.push_str(&escape_string(&rest[..end]));
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix('"') {
            out.push('"');
            rest = after;
        }
    }
    out.push_str(rest);
    Cow::Owned(out.into_bytes())
}

/// Where the string that `text` begins with ends.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    let is_end = |&(_, byte): &(usize, u8)| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    };
    text.bytes().enumerate().find(is_end).map_or(text.len(), |(at, _)| at)
}

/// The content of a string, printable.
fn escape_string(raw: &str) -> Cow<'_, str> {
    if raw.chars().all(|c| c != '\\' && is_printable(c)) {
        return Cow::Borrowed(raw);
    }
    let quoted = format!("\"{raw}\"");
    let Ok(value) = serde_json::from_str::<String>(&quoted) else { return Cow::Borrowed(raw) };
    match printable(&value) {
        Cow::Borrowed(_) => Cow::Borrowed(raw),
        Cow::Owned(value) => {
            let quoted = serde_json::to_string(&value).unwrap_or_default();
            let content = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Cow::Owned(content.unwrap_or_default().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{write_line, write_pretty};
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn nothing_that_a_terminal_obeys_is_written_and_the_strings_are_the_same() {
        let value = json!({"a\u{9b}": ["\x1b[2J\n\u{7f}", "\u{202e}\u{e0041}", {}, []], "b": 1.5});
        let (mut line, mut pretty) = (Vec::new(), Vec::new());
        write_line(&mut line, &value).unwrap();
        write_pretty(&mut pretty, &value).unwrap();
        let [line, pretty] = [line, pretty].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(
            line,
            "{\"a\\u009b\":[\"\\u001b[2J\\n\\u007f\",\"\\u202e\\udb40\\udc41\",{},[]],\"b\":1.5}\n"
        );
        assert!(pretty.lines().all(|l| l.chars().all(is_printable)), "{pretty}");
        for text in [line, pretty] {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }

    #[test]
    fn every_string_that_is_read_is_printable() {
        for (document, want) in [
            (r#"{"a": "b\u001b[2J\n", "c": 1}"#, r#"{"a": "b\\x1b[2J\\n", "c": 1}"#),
            ("[\"\u{9b}\u{202e}\"]", "[\"\\\\u{9b}\\\\u{202e}\"]"),
            (r#"["\udb40\udc41"]"#, r#"["\\u{e0041}"]"#),
            (r#"["\"\\\u0009", "\""]"#, r#"["\"\\\\t", "\""]"#),
            (r#"["\\x1b"]"#, r#"["\\x1b"]"#),
            (r#"["\u0041 \/"]"#, r#"["\u0041 \/"]"#),
            (r#"["\ud800 \n"]"#, r#"["\ud800 \n"]"#),
            (r#"["open \n"#, r#"["open \\n"#),
        ] {
            let got = escape_strings(document.as_bytes());
            assert_eq!(std::str::from_utf8(&got).unwrap(), want, "{document}");
        }
    }

    fn is_clean(value: &Value) -> bool {
        match value {
            Value::String(text) => text.chars().all(is_printable),
            Value::Array(all) => all.iter().all(is_clean),
            Value::Object(all) => {
                all.iter().all(|(key, value)| key.chars().all(is_printable) && is_clean(value))
            }
            _ => true,
        }
    }

    proptest! {
        #[test]
        fn any_document_becomes_printable_and_stays_one(
            texts in prop::collection::vec(any::<String>(), 0..8),
        ) {
            for document in [serde_json::to_vec(&texts), serde_json::to_vec(&json!({"k": &texts}))] {
                let read: Value = serde_json::from_slice(&escape_strings(&document.unwrap())).unwrap();
                prop_assert!(is_clean(&read), "{}", read);
            }
        }

        #[test]
        fn bytes_that_are_no_document_are_left_to_the_parser(bytes in any::<Vec<u8>>()) {
            let _ = escape_strings(&bytes);
        }
    }
}
