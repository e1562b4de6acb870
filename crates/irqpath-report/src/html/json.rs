// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON that can stand inside a `<script>` element.
//!
//! An HTML parser looks for `</script` and `<!--` in there and knows nothing of JSON strings, so
//! `<`, `>` and `&` are written as escapes. So are the two line separators that JSON allows in
//! strings and older JavaScript does not.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, found) = rest.split_at(at);
            let mut chars = found.chars();
            let c = chars.next().map_or(0, u32::from);
            write!(writer, "{before}\\u{c:04x}")?;
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// Write `value` as JSON without any character that HTML or JavaScript could take for its own.
pub fn write<W: Write + ?Sized, T: Serialize>(w: &mut W, value: &T) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(w, InScript)).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn embedded(text: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, &text).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn leaves_nothing_for_the_html_parser() {
        assert_eq!(embedded("</script>"), r#""\u003c/script\u003e""#);
        assert_eq!(embedded("<!-- & \u{2028}\u{2029}"), r#""\u003c!-- \u0026 \u2028\u2029""#);
        assert_eq!(embedded("a\"\\\n"), r#""a\"\\\n""#);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_unchanged(text in any::<String>()) {
            let json = embedded(&text);
            let is_clean = !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(is_clean, "{}", json);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
