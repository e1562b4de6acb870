// SPDX-License-Identifier: GPL-2.0-or-later
//! What a Rust file imports, one path for each name. A function that is imported by its name alone
//! is called without the module that a ban looks for.

/// One name, as `std::fs::read`.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// Line of the `use`, from 1.
    pub nr: usize,
    pub path: String,
    /// What it is called here, if something else.
    pub alias: Option<String>,
    /// Passed on to others.
    pub is_public: bool,
}

impl Import {
    /// What it is called here.
    pub fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or_else(|| self.path.rsplit("::").next().unwrap_or_default())
    }
}

/// Everything that these lines import.
pub fn find(lines: &[&str]) -> Vec<Import> {
    let mut imports = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(first) = after_use(line) else { continue };
        let rest = lines[at + 1..].iter().copied();
        let is_public = line.trim_start().starts_with("pub");
        let mut statement = String::new();
        for line in std::iter::once(first).chain(rest) {
            let code = line.split_once("//").map_or(line, |(code, _)| code);
            statement.push_str(code);
            if code.contains(';') {
                break;
            }
        }
        let tree = statement.split(';').next().unwrap_or_default();
        expand("", tree, &mut |path, alias| {
            imports.push(Import { nr: at + 1, path, alias, is_public });
        });
    }
    imports
}

/// What follows `use`, also after `pub` or `pub(crate)`.
fn after_use(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(").and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest.trim_start(),
        None => line.strip_prefix("pub ").unwrap_or(line).trim_start(),
    };
    line.strip_prefix("use ")
}

fn expand(before: &str, tree: &str, found: &mut impl FnMut(String, Option<String>)) {
    let tree = tree.trim();
    if let Some((module, inside)) = tree.split_once('{') {
        let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
        for part in parts(inside) {
            expand(&format!("{before}{}", module.trim()), part, found);
        }
        return;
    }
    let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
    let path = format!("{before}{}", path.trim());
    let path = path.strip_suffix("::self").unwrap_or(&path);
    if !path.is_empty() && !path.ends_with("::") {
        found(path.to_owned(), (!alias.is_empty()).then(|| alias.trim().to_owned()));
    }
}

/// Splits at the commas that no brace encloses.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    list.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_and_names_kept() {
        let text = "use a::b;\n    pub(crate) use std::{\n  fs::{self as files, read, Permissions},\n  io, // no\n};\nlet use_ = 1;\n";
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<(usize, String, Option<String>)> =
            find(&lines).into_iter().map(|i| (i.nr, i.path, i.alias)).collect();
        let expected = [
            (1, "a::b", None),
            (2, "std::fs", Some("files")),
            (2, "std::fs::read", None),
            (2, "std::fs::Permissions", None),
            (2, "std::io", None),
        ];
        let expected =
            expected.map(|(nr, path, alias)| (nr, path.to_owned(), alias.map(str::to_owned)));
        assert_eq!(found, expected);
    }
}
