// SPDX-License-Identifier: GPL-2.0-or-later
//! `bpf/types.txt`: which kernel types the BPF programs need. One request per line:
//!
//! ```text
//! # a remark
//! struct task_struct: pid tgid comm     only these fields; `*` means all; no colon: none
//! union name: field                     the same for a union
//! enum bpf_map_type                     all constants; after a colon: only those
//! typedef atomic_t: counter             fields if it names an anonymous struct
//! const BPF_ANY BPF_NOEXIST             constants of whichever enum has them
//! ```
//! Lines about the same type add up, so that each BPF stage may ask for what it needs.

use anyhow::{Result, bail, ensure};
use std::fmt::Write as _;

/// The C keyword of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    Struct,
    Union,
    Enum,
    Typedef,
    Const,
}

/// One wanted type with the fields or constants wanted of it.
#[derive(Debug)]
pub struct Request {
    pub tag: Tag,
    /// Empty for [`Tag::Const`].
    pub name: String,
    pub fields: Vec<String>,
    /// First line that asks for it, for error messages.
    pub line: usize,
}

/// All requests, in the order of the file.
#[derive(Debug, Default)]
pub struct Spec {
    pub requests: Vec<Request>,
}

impl Tag {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Typedef => "typedef",
            Self::Const => "const",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Struct, Self::Union, Self::Enum, Self::Typedef, Self::Const]
            .into_iter()
            .find(|tag| tag.word() == word)
    }
}

impl Spec {
    /// Reads the file's text; errors name the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut spec = Self::default();
        for (line, nr) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                spec.add(line, nr)?;
            }
        }
        Ok(spec)
    }

    fn add(&mut self, line: &str, nr: usize) -> Result<()> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(tag) = Tag::parse(word) else {
            bail!("types.txt:{nr}: `{word}` is none of struct, union, enum, typedef, const");
        };
        let (name, fields) = match tag {
            Tag::Const => ("", rest),
            _ => rest.split_once(':').unwrap_or((rest, "")),
        };
        let name = name.trim();
        ensure!(
            is_name(name) != (tag == Tag::Const),
            "types.txt:{nr}: `{name}` is not a name; write `{word} NAME: FIELD FIELD`"
        );
        let request = self.request(tag, name, nr);
        for field in fields.split_whitespace() {
            ensure!(field == "*" || is_name(field), "types.txt:{nr}: `{field}` is not a name");
            if !request.fields.iter().any(|known| known == field) {
                request.fields.push(field.to_owned());
            }
        }
        Ok(())
    }

    /// The request for this type, made if there is none.
    fn request(&mut self, tag: Tag, name: &str, line: usize) -> &mut Request {
        let same = |request: &Request| request.tag == tag && request.name == name;
        let at = self.requests.iter().position(same).unwrap_or_else(|| {
            self.requests.push(Request { tag, name: name.to_owned(), fields: Vec::new(), line });
            self.requests.len() - 1
        });
        &mut self.requests[at]
    }

    /// The request for a type, if it is wanted.
    pub fn find(&self, tag: Tag, name: &str) -> Option<usize> {
        self.requests.iter().position(|request| request.tag == tag && request.name == name)
    }

    /// The content without remarks and spacing, for the checksum.
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        for Request { tag, name, fields, .. } in &self.requests {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {name}: {}", tag.word(), fields.join(" "));
        }
        text
    }
}

fn is_name(text: &str) -> bool {
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(head) && text.chars().all(|c| head(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_line() {
        let text = "# all\nstruct a: x y # why\n\nenum e\nconst A B\nstruct a: y z\ntypedef t: c\n";
        let spec = Spec::parse(text).unwrap();
        let expected = "struct a: x y z\nenum e: \nconst : A B\ntypedef t: c\n";
        assert_eq!(spec.canonical(), expected);
        assert_eq!(spec.requests[spec.find(Tag::Enum, "e").unwrap()].line, 4);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("\nstuct a: b", "types.txt:2: `stuct`"),
            ("struct : b", "types.txt:1: `` is not a name"),
            ("struct a b: c", "types.txt:1: `a b` is not a name"),
            ("struct a: b,", "types.txt:1: `b,` is not a name"),
        ] {
            let error = Spec::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
