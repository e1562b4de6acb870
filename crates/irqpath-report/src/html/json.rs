// SPDX-License-Identifier: GPL-2.0-or-later
//! JSON that can stand inside a `<script>` element.
//!
//! An HTML parser looks for `</script` and `<!--` in there and knows nothing of JSON strings, so
//! `<`, `>` and `&` are written as escapes of JSON. What is not printable reaches the page as the
//! text of its escape, as a browser obeys controls of direction, too.

use std::io::{self, Write};

use irqpath_model::{is_printable, printable};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Between groups of digits in the sentences of a page.
const THIN_SPACE: char = '\u{202f}';

struct InScript;

fn is_shown(c: char) -> bool {
    is_printable(c) || c == THIN_SPACE
}

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| matches!(c, '<' | '>' | '&') || !is_shown(c)) {
            let (before, found) = rest.split_at(at);
            let c = found.chars().next().unwrap_or_default();
            let (found, after) = found.split_at(c.len_utf8());
            if is_shown(c) {
                write!(writer, "{before}\\u{:04x}", u32::from(c))?;
            } else {
                write!(writer, "{before}\\{}", printable(found))?;
            }
            rest = after;
        }
        writer.write_all(rest.as_bytes())
    }
}

/// `value` as JSON without any character that HTML or JavaScript could take for its own.
pub fn script_text(value: &impl Serialize) -> io::Result<String> {
    let mut json = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut json, InScript))?;
    String::from_utf8(json).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn leaves_nothing_for_the_html_parser() {
        assert_eq!(script_text(&"</script>").unwrap(), r#""\u003c/script\u003e""#);
        assert_eq!(
            script_text(&"<!-- & \u{2028}\u{2029}").unwrap(),
            r#""\u003c!-- \u0026 \\u{2028}\\u{2029}""#
        );
        assert_eq!(script_text(&"a\"\\\n").unwrap(), r#""a\"\\\n""#);
    }

    proptest! {
        #[test]
        fn any_printable_text_comes_back_unchanged(text in any::<String>()) {
            let json = script_text(&text).unwrap();
            let is_clean = !json.contains(|c| matches!(c, '<' | '>' | '&') || !is_shown(c));
            prop_assert!(is_clean, "{}", json);
            let back = serde_json::from_str::<String>(&json).unwrap();
            if text.chars().all(is_shown) {
                prop_assert_eq!(back, text);
            } else {
                prop_assert_eq!(printable(&back), printable(&text));
            }
        }
    }
}
