// SPDX-License-Identifier: GPL-2.0-or-later
//! A Markdown page as the rules see it: links with their places, anchors of headings, and passages
//! of prose without code.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::ops::Range;

/// A link or image that leads to `target`.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    pub line: usize,
    /// The bytes of `target` in the page.
    pub place: Range<usize>,
    pub target: String,
}

/// A heading, paragraph, list item or table cell. A span of code is one word.
#[derive(Debug, PartialEq, Eq)]
pub struct Passage {
    pub line: usize,
    pub is_heading: bool,
    pub text: String,
}

fn parse(page: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(page, Options::ENABLE_TABLES).into_offset_iter()
}

/// Where lines end, so that a place in a large page becomes a line at once.
struct Lines(Vec<usize>);

impl Lines {
    fn of(page: &str) -> Self {
        Self(page.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line_at(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}

/// Inline links and images, in order.
pub fn links(page: &str) -> Vec<Link> {
    let mut all = Vec::new();
    let lines = Lines::of(page);
    for (event, span) in parse(page) {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else {
            continue;
        };
        // The target is the last thing in the span that reads like it: `[text](target "title")`.
        let Some(at) = page[span.clone()].rfind(&*dest_url) else { continue };
        let start = span.start + at;
        all.push(Link {
            line: lines.line_at(span.start),
            place: start..start + dest_url.len(),
            target: dest_url.to_string(),
        });
    }
    all
}

/// Names of the headings, as forges and mdBook make them.
pub fn anchors(page: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for heading in passages(page).into_iter().filter(|passage| passage.is_heading) {
        let name = anchor(&heading.text);
        let numbered = (1..).map(|nr| format!("{name}-{nr}"));
        if let Some(free) = std::iter::once(name.clone()).chain(numbered).find(|n| !all.contains(n))
        {
            all.insert(free);
        }
    }
    all
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    });
    kept.collect::<String>().to_lowercase()
}

/// Prose, block by block. Code blocks and HTML are none.
pub fn passages(page: &str) -> Vec<Passage> {
    let mut all: Vec<Passage> = Vec::new();
    let mut open: Option<Passage> = None;
    let mut in_code = false;
    let lines = Lines::of(page);
    for (event, span) in parse(page) {
        match event {
            Event::Start(Tag::CodeBlock(_)) | Event::End(TagEnd::CodeBlock) => {
                all.extend(open.take());
                in_code = !in_code;
            }
            Event::Text(text) if !in_code => push_text(&mut open, lines.line_at(span.start), &text),
            // Blanks in code would make several words of it; the anchor of a heading has them.
            Event::Code(text) => {
                let is_heading = open.as_ref().is_some_and(|passage| passage.is_heading);
                let word = if is_heading { text.to_string() } else { text.replace(' ', "_") };
                push_text(&mut open, lines.line_at(span.start), &word);
            }
            Event::SoftBreak | Event::HardBreak => {
                push_text(&mut open, lines.line_at(span.start), " ");
            }
            Event::Start(tag) if is_block(&tag) => {
                all.extend(open.take());
                let is_heading = matches!(tag, Tag::Heading { .. });
                let line = lines.line_at(span.start);
                open = Some(Passage { line, is_heading, text: String::new() });
            }
            Event::End(
                TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell,
            ) => all.extend(open.take()),
            _ => {}
        }
    }
    all.extend(open);
    all.retain(|passage| !passage.text.trim().is_empty());
    all
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Heading { .. } | Tag::Paragraph | Tag::Item | Tag::TableCell)
}

fn push_text(open: &mut Option<Passage>, line: usize, text: &str) {
    let fresh = || Passage { line, is_heading: false, text: String::new() };
    open.get_or_insert_with(fresh).text.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_found_with_the_place_of_its_target() {
        let page =
            "# A\n\nSee [`b.rs`](../b.rs) and ![p](img/p.png \"t\").\n\n```\n[no](c.md)\n```\n";
        let found = links(page);
        let seen: Vec<_> = found.iter().map(|l| (l.line, &page[l.place.clone()])).collect();
        assert_eq!(seen, [(3, "../b.rs"), (3, "img/p.png")]);
    }

    #[test]
    fn anchors_are_those_of_a_forge() {
        let page =
            "# Tail latency, under load\n## `/proc/shield`\n## --watch\n## Files\n## Files\n";
        let expected = ["--watch", "files", "files-1", "procshield", "tail-latency-under-load"];
        assert_eq!(anchors(page).iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn passages_are_blocks_without_code() {
        let page =
            "A `b c`\nd.\n\n- e\n  f\n- g\n\n| h | i |\n|---|---|\n| j | k |\n\n```\nl\n```\n";
        let found = passages(page);
        let texts: Vec<&str> = found.iter().map(|passage| passage.text.as_str()).collect();
        assert_eq!(texts, ["A b_c d.", "e f", "g", "h", "i", "j", "k"]);
        assert_eq!(found[3].line, 8);
    }
}
