// SPDX-License-Identifier: GPL-2.0-or-later
//! The texts of an experiment's file that are for people, as passages for the rule `prose`.
//!
//! `irqpath lab list --page` copies these texts into pages, which that rule leaves out because they
//! are generated. None of the keys enters the digest of an experiment's results.

use crate::tree::File;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys whose values are for people, in any table. `words` stands for a value of the matrix in a
/// claim.
const TEXTS: &[&str] = &["title", "workload", "claim", "differs", "note", "words"];

/// One value, and the line of the file on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct Text {
    pub line: usize,
    pub text: String,
}

/// Whether `file` defines an experiment.
pub fn is_definition(file: &File) -> bool {
    file.path.starts_with("experiments/") && file.kind() == "toml"
}

/// Every text, in no order. A file that is not TOML is for the lab to refuse.
pub fn texts(definition: &str) -> Vec<Text> {
    let mut places = Vec::new();
    if let Ok(table) = DeTable::parse(definition) {
        collect_table(table.get_ref(), &mut places);
    }
    let text = |(text, start): (String, usize)| {
        let line = definition[..start].matches('\n').count() + 1;
        // The text of """ begins on the next line.
        let is_block = ["\"\"\"\n", "'''\n"].iter().any(|o| definition[start..].starts_with(o));
        Text { line: line + usize::from(is_block), text }
    };
    places.into_iter().map(text).collect()
}

fn collect_table(table: &DeTable<'_>, texts: &mut Vec<(String, usize)>) {
    for (key, value) in table {
        match value.get_ref() {
            DeValue::String(text) if TEXTS.contains(&key.get_ref().as_ref()) => {
                texts.push((text.to_string(), value.span().start));
            }
            _ => collect_value(value, texts),
        }
    }
}

fn collect_value(value: &Spanned<DeValue<'_>>, texts: &mut Vec<(String, usize)>) {
    match value.get_ref() {
        DeValue::Table(table) => collect_table(table, texts),
        DeValue::Array(values) => values.iter().for_each(|value| collect_value(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(definition: &str) -> Vec<(usize, String)> {
        let mut all: Vec<_> = texts(definition).into_iter().map(|t| (t.line, t.text)).collect();
        all.sort();
        all
    }

    #[test]
    fn a_text_is_found_in_every_table() {
        let definition = "title = 'a'\n[[check]]\nclaim = 'b'\n[[check.where]]\nset.note = 'c'\n\
                          [matrix]\nlow = [{ name = 'x', words = 'd' }]\n";
        let expected = [(1, "a"), (3, "b"), (5, "c"), (7, "d")].map(|(nr, t)| (nr, t.to_owned()));
        assert_eq!(found(definition), expected);
    }

    #[test]
    fn other_keys_are_not_prose() {
        assert_eq!(found("append = 'a'\n[defaults]\nX = 'b'"), []);
        assert_eq!(found("title = 'not closed"), []);
    }

    #[test]
    fn a_block_begins_on_the_next_line() {
        assert_eq!(found("id = 'a'\nworkload = \"\"\"\nb\n\"\"\""), [(3, "b\n".to_owned())]);
    }
}
