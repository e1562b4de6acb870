// SPDX-License-Identifier: GPL-2.0-or-later
//! Pages can be read once: no sentence over 35 words, no line over 100 columns (80 in the kernel's
//! documentation), none of the phrases that made readers stop. The texts of `experiments/*.toml`
//! are pages, too.
//!
//! Tables and code may be wider, and so may a line whose width is one word, such as a link. It is a
//! net: a page that passes is not yet a good one.

use crate::experiments::{self, Text};
use crate::finding::Finding;
use crate::links::pages;
use crate::markdown::{self, Passage};
use crate::rst;
use crate::tree::{File, Tree};

const WORDS: usize = 35;
const COLUMNS: usize = 100;
const KERNEL_COLUMNS: usize = 80;

/// Pages that `irqpath lab list --page` writes with texts of `experiments/`, where those are checked.
const GENERATED: &[&str] = &["docs/reproduction.md", "docs/reproduction/"];

/// Phrases in lower case, and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("laid to", "attributed to"),
    ("by tcp", "over TCP"),
    ("by udp", "over UDP"),
    ("of ours", "say whose: irqpath's, the series'"),
    ("our kernel", "the irqpath kernel"),
    ("the document", "name the paper: authors and year"),
    ("anew", "again"),
    ("but for", "except"),
    ("in vain", "without effect"),
    ("on account of", "because of"),
    ("to be had", "available"),
    ("is to be seen", "can be seen"),
    ("be rid of", "remove"),
    ("as ever", "as before"),
    ("what is left", "name it"),
    ("what it costs", "overhead"),
    ("what it gains", "name the result"),
    ("all the same", "anyway, or nothing"),
    ("goes the ordinary way", "takes the ordinary path"),
    ("comes by the clock", "is driven by the clock"),
    ("has nothing to say", "reports nothing"),
    ("came to none", "never managed"),
    ("one's own", "your own"),
    ("for several", "because several"),
    ("says so, and", "one idea a sentence"),
    ("whoever wants", "name who"),
    ("is told by", "name the actor"),
];

/// Finds long sentences, wide lines and phrases that must not come back.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_generated = |page: &&File| GENERATED.iter().any(|start| page.path.starts_with(start));
    let of_kernel = tree.written().filter(|file| file.kind() == "rst");
    let definitions = tree.written().filter(|file| experiments::is_definition(file));
    pages(tree)
        .filter(|page| !is_generated(page))
        .chain(of_kernel)
        .flat_map(page_findings)
        .chain(definitions.flat_map(definition_findings))
        .collect()
}

fn page_findings(page: &File) -> Vec<Finding> {
    let is_rst = page.kind() == "rst";
    let columns = if is_rst { KERNEL_COLUMNS } else { COLUMNS };
    let passages = if is_rst { rst::passages(&page.text) } else { markdown::passages(&page.text) };
    findings_at(&page.path, 1, &passages, wide_lines(&page.text, columns))
}

/// Each text is a page; one that has a single line may be wide.
fn definition_findings(definition: &File) -> Vec<Finding> {
    let judge = |Text { line, text }: &Text| {
        let wide = if text.contains('\n') { wide_lines(text, COLUMNS) } else { Vec::new() };
        findings_at(&definition.path, *line, &markdown::passages(text), wide)
    };
    experiments::texts(&definition.text).iter().flat_map(judge).collect()
}

/// What is wrong with a text that begins on line `first` of a file.
fn findings_at(
    path: &str,
    first: usize,
    passages: &[Passage],
    wide: Vec<(usize, String)>,
) -> Vec<Finding> {
    let of_passage = |passage: &Passage| {
        let line = passage.line;
        defects(passage).into_iter().map(move |what| (line, what))
    };
    wide.into_iter()
        .chain(passages.iter().flat_map(of_passage))
        .map(|(line, what)| Finding::fail(format!("{path}:{}", first + line - 1), what))
        .collect()
}

/// Lines of more than `columns`, except in code and tables.
fn wide_lines(page: &str, columns: usize) -> Vec<(usize, String)> {
    let mut in_code = false;
    let mut wide = Vec::new();
    for (line, nr) in page.lines().zip(1..) {
        let start = line.trim_start();
        in_code ^= start.starts_with("```");
        let width = line.chars().count();
        let longest = line.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
        if width > columns && !in_code && !start.starts_with(['|', '!']) && longest + 20 < columns {
            wide.push((nr, format!("{width} columns, at most {columns}")));
        }
    }
    wide
}

fn defects(passage: &Passage) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences(&passage.text) {
        let nr = sentence.split_whitespace().filter(|word| is_word(word)).count();
        if nr > WORDS {
            found.push(format!(
                "a sentence of {nr} words, at most {WORDS}: \"{}\"",
                begin(sentence)
            ));
        }
        if sentence.starts_with("What ") && !sentence.ends_with('?') {
            found.push(format!("begins with \"What\", is no question: \"{}\"", begin(sentence)));
        }
    }
    let lower = passage.text.to_lowercase();
    let banned = BANNED.iter().filter(|(phrase, _)| has_phrase(&lower, phrase));
    found.extend(banned.map(|(phrase, better)| format!("\"{phrase}\"; better: {better}")));
    found
}

fn is_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn begin(sentence: &str) -> String {
    let words: Vec<&str> = sentence.split_whitespace().take(8).collect();
    words.join(" ") + " ..."
}

/// Sentences end with a stop before a blank; `e.g.` and the like end none.
fn sentences(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    for (at, stop) in text.match_indices(['.', '?', '!']) {
        let after = &text[at + stop.len()..];
        let tail = after.trim_start_matches([')', '"', '*']);
        let ends = tail.is_empty() || tail.starts_with(char::is_whitespace);
        if ends && !is_abbreviation(&text[from..=at]) {
            all.push(text[from..=at].trim());
            from = at + stop.len();
        }
    }
    all.push(text[from..].trim());
    all.retain(|sentence| !sentence.is_empty());
    all
}

fn is_abbreviation(text: &str) -> bool {
    ["e.g.", "i.e.", "et al.", "vs.", "..."].iter().any(|short| text.ends_with(short))
}

/// Whether `phrase` stands in `text` as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !is_inside(before) && !is_inside(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> String {
        let findings = check(&Tree::of(&[("docs/a.md", page)]));
        findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_sentence_has_at_most_35_words() {
        let sentence = |nr: usize| format!("{}.\n", vec!["word"; nr].join("\n"));
        assert_eq!(found(&sentence(35)), "");
        assert!(found(&sentence(36)).contains("a sentence of 36 words"));
        assert_eq!(found(&format!("{}\n{}", sentence(30), sentence(30))), "");
    }

    #[test]
    fn a_span_of_code_is_one_word_and_a_block_is_none() {
        let words = vec!["word"; 34].join("\n");
        assert_eq!(found(&format!("{words} `a b c d`.\n\n```\n{words} {words}\n```\n")), "");
    }

    #[test]
    fn width_is_for_prose() {
        let wide = format!("{}\n", "word ".repeat(21));
        assert!(found(&wide).contains("105 columns"));
        assert_eq!(found(&format!("| {wide}")), "");
        assert_eq!(found(&format!("```\n{wide}```\n")), "");
        assert_eq!(found(&format!("see [x](https://example.org/{})\n", "y".repeat(90))), "");
    }

    #[test]
    fn what_begins_questions_only() {
        assert!(found("What is there is there.\n").contains("begins with \"What\""));
        assert!(found("# What it does\n").contains("begins with \"What\""));
        assert_eq!(found("What is there?\n"), "");
    }

    #[test]
    fn phrases_are_whole_words() {
        assert!(found("Packets by TCP arrive.\n").contains("better: over TCP"));
        assert_eq!(found("A few of oursel.\n"), "");
        assert_eq!(found("```\nby tcp\n```\n"), "");
    }

    #[test]
    fn stops_inside_words_end_no_sentence() {
        assert_eq!(
            sentences("On 6.12 it is 0.2 %. Next, e.g. here."),
            ["On 6.12 it is 0.2 %.", "Next, e.g. here."]
        );
    }

    #[test]
    fn the_kernels_pages_are_narrower() {
        let page = format!("{}\n", "word ".repeat(17));
        let findings = check(&Tree::of(&[("Documentation/a.rst", page.as_str())]));
        assert!(findings[0].text.contains("85 columns, at most 80"), "{findings:?}");
    }

    #[test]
    fn the_texts_of_an_experiment_are_pages() {
        let found = |definition: &str| {
            let findings = check(&Tree::of(&[("experiments/a.toml", definition)]));
            findings.iter().map(ToString::to_string).collect::<String>()
        };
        let long = vec!["word"; 36].join(" ");
        assert!(found(&format!("title = '{long}.'")).contains("a sentence of 36 words"));
        assert!(found("[[check]]\nclaim = 'What it takes'").contains("a.toml:2: begins with"));
        assert!(found("workload = '''\nOne.\n\nBy UDP.\n'''").contains("a.toml:4: \"by udp\""));
        assert!(found(&format!("note = '''\na\n{}'''", "word ".repeat(21))).contains("columns"));
        assert_eq!(found(&format!("title = '{}'\nappend = '{long}.'", "word ".repeat(30))), "");
    }

    #[test]
    fn generated_pages_are_left_out() {
        assert!(check(&Tree::of(&[(GENERATED[0], "What it is.\n")])).is_empty());
    }
}
