// SPDX-License-Identifier: GPL-2.0-or-later
//! The passages of prose in a reStructuredText page of the kernel's documentation.
//!
//! Blocks are found by their shape: blank lines separate them, lines of `=` are headings or tables,
//! `..` begins a directive, and an indented block after `::` is code.

use crate::markdown::Passage;

/// Paragraphs and list items. A span of code is one word.
pub fn passages(page: &str) -> Vec<Passage> {
    let mut all = Vec::new();
    let mut in_code = false;
    for (line, block) in blocks(page) {
        let is_indented = block.iter().all(|text| text.starts_with([' ', '\t']));
        in_code &= is_indented;
        let is_prose = !in_code && !block[0].starts_with("..") && !block.iter().any(|l| is_rule(l));
        if is_prose {
            all.extend(items(line, &block));
        }
        in_code |= block.last().is_some_and(|text| text.ends_with("::"));
    }
    all
}

/// Lines without blank ones between them, with the number of the first.
fn blocks(page: &str) -> Vec<(usize, Vec<&str>)> {
    let mut all: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut goes_on = false;
    for (text, nr) in page.lines().zip(1..) {
        let is_blank = text.trim().is_empty();
        match all.last_mut() {
            Some((_, block)) if goes_on && !is_blank => block.push(text),
            _ if !is_blank => all.push((nr, vec![text])),
            _ => {}
        }
        goes_on = !is_blank;
    }
    all
}

/// An underline, or the edge of a table.
fn is_rule(line: &str) -> bool {
    line.len() > 2 && line.chars().all(|c| matches!(c, '=' | '-' | '~' | ' '))
}

fn items(line: usize, block: &[&str]) -> Vec<Passage> {
    let mut all: Vec<Passage> = Vec::new();
    for (text, nr) in block.iter().zip(line..) {
        let text = text.trim();
        match all.last_mut() {
            Some(passage) if !begins_item(text) => {
                passage.text.push(' ');
                passage.text.push_str(text);
            }
            _ => all.push(Passage { line: nr, is_heading: false, text: text.to_owned() }),
        }
    }
    for passage in &mut all {
        passage.text = join_code(&passage.text);
    }
    all
}

fn begins_item(text: &str) -> bool {
    let number = text.split_once(". ").map(|(number, _)| number);
    text.starts_with("- ") || number.is_some_and(|nr| nr.parse::<u8>().is_ok())
}

fn join_code(text: &str) -> String {
    let parts = text.split("``").enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { part.replace(' ', "_") } else { part.into() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_are_paragraphs_and_items() {
        let page = ".. SPDX\n\n====\nHead\n====\n\nA ``b c``\nd. Then::\n\n  code code\n\n  more\n\n\
                    1. e\n   f\n2. g\n\n=== ===\na   b\n=== ===\n\nEnd.\n";
        let texts: Vec<(usize, String)> =
            passages(page).into_iter().map(|passage| (passage.line, passage.text)).collect();
        let expected = [(7, "A b_c d. Then::"), (14, "1. e f"), (16, "2. g"), (22, "End.")];
        assert_eq!(texts, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
