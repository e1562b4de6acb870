// SPDX-License-Identifier: GPL-2.0-or-later
//! Lengths of files and functions. It is the maximum that ruins a code base, not the average.
//!
//! A function is found by its shape, not by parsing: rustfmt and the kernel's brace style put
//! the closing brace at the indentation of the line that opened it, so this is exact enough.

use crate::finding::Finding;
use crate::tree::{File, Tree};

/// Lines from which a Rust file is worth a look.
const RUST_FILE_NOTE: usize = 500;
/// Lines from which a Rust file is broken up.
const RUST_FILE_FAIL: usize = 800;
/// Lines from which a BPF file is worth a look.
const BPF_FILE_NOTE: usize = 250;
/// Lines that no function exceeds, in Rust and C.
const FUNCTION_FAIL: usize = 100;

/// A function's name, first line (from 1) and number of lines.
#[derive(Debug, PartialEq, Eq)]
struct Function<'a> {
    name: &'a str,
    line: usize,
    nr_lines: usize,
}

/// Measures every Rust and C file that a person wrote.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.written().flat_map(file_findings).collect()
}

fn file_findings(file: &File) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let functions = match file.kind() {
        "rs" => rust_functions(&lines),
        "c" | "h" => c_functions(&lines),
        _ => return Vec::new(),
    };
    let too_long = functions.iter().filter(|function| function.nr_lines > FUNCTION_FAIL);
    too_long
        .map(|Function { name, line, nr_lines }| {
            let text = format!("{name} has {nr_lines} lines, at most {FUNCTION_FAIL}");
            Finding::fail(format!("{}:{line}", file.path), text)
        })
        .chain(length_finding(file, lines.len()))
        .collect()
}

fn length_finding(file: &File, nr_lines: usize) -> Option<Finding> {
    match file.kind() {
        "rs" if nr_lines > RUST_FILE_FAIL => {
            Some(Finding::fail(&file.path, format!("{nr_lines} lines, at most {RUST_FILE_FAIL}")))
        }
        "rs" if nr_lines > RUST_FILE_NOTE => {
            Some(Finding::note(&file.path, format!("{nr_lines} lines, is it two files?")))
        }
        "c" | "h" if file.path.starts_with("bpf/") && nr_lines > BPF_FILE_NOTE => {
            Some(Finding::note(&file.path, format!("{nr_lines} lines, is it two stages?")))
        }
        _ => None,
    }
}

fn rust_functions<'a>(lines: &[&'a str]) -> Vec<Function<'a>> {
    let starts = lines.iter().enumerate();
    starts
        .filter_map(|(at, line)| {
            let name = rust_function_name(line)?;
            let nr_lines = rust_function_length(&lines[at..])?;
            Some(Function { name, line: at + 1, nr_lines })
        })
        .collect()
}

/// The name in a line such as `    pub(crate) async fn name<T>(`.
fn rust_function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    while let Some((word, tail)) = rest.split_once(' ') {
        if word == "fn" {
            return tail.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        }
        let qualifier = word.starts_with("pub")
            || matches!(word, "const" | "async" | "unsafe" | "extern" | "\"C\"");
        if !qualifier {
            return None;
        }
        rest = tail;
    }
    None
}

/// Lines of the function that starts at the first line; `None` for a declaration without body.
fn rust_function_length(lines: &[&str]) -> Option<usize> {
    let indent = indentation(lines.first()?);
    let header = lines.iter().position(|line| line.ends_with(['{', '}', ';']))?;
    match lines[header].chars().next_back() {
        Some('{') => {
            let closes = |line: &&str| indentation(line) == indent && line.trim_start() == "}";
            lines.iter().position(closes).map(|at| at + 1)
        }
        Some('}') => Some(header + 1),
        _ => None,
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Functions open by `{` in the first column, or at the end of a line with a parameter list.
fn c_functions<'a>(lines: &[&'a str]) -> Vec<Function<'a>> {
    let mut functions = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    for (at, &line) in lines.iter().enumerate() {
        match open {
            Some((from, name)) if line.starts_with('}') => {
                functions.push(Function { name, line: from + 1, nr_lines: at + 1 - from });
                open = None;
            }
            None => open = c_function_start(lines, at),
            Some(_) => {}
        }
    }
    functions
}

/// Where the header of the function whose body opens in line `at` begins, and its name.
fn c_function_start<'a>(lines: &[&'a str], at: usize) -> Option<(usize, &'a str)> {
    let line = lines[at];
    let opens = line == "{" || (line.ends_with(") {") && !line.starts_with([' ', '\t', '#']));
    if !opens {
        return None;
    }
    let last = if line == "{" { at.checked_sub(1)? } else { at };
    let from = (0..=last).rev().find(|&i| !lines[i].starts_with([' ', '\t']))?;
    let before = lines[from].split('(').next().unwrap_or_default();
    Some((from, macro_argument(lines[from]).unwrap_or_else(|| last_word(before))))
}

/// `int BPF_PROG(name, ...)` is called `name`.
fn macro_argument(line: &str) -> Option<&str> {
    let (_, arguments) = line.split_once("BPF_PROG(")?;
    arguments.split([',', ')']).next()
}

fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, functions: fn(&[&'static str]) -> Vec<Function<'static>>) -> String {
        let lines: Vec<&'static str> = text.to_owned().leak().lines().collect();
        let show = |f: &Function| format!("{}@{}:{}", f.name, f.line, f.nr_lines);
        functions(&lines).iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rust_shapes() {
        for (text, expected) in [
            ("fn a() {}\n", "a@1:1"),
            ("fn a() -> u8 { 1 }\n", "a@1:1"),
            ("trait T {\n    fn a(&self);\n}\n", ""),
            ("impl T {\n    pub(crate) const fn a() {\n        {\n        }\n    }\n}\n", "a@2:4"),
            ("fn a(\n    b: u8,\n) {\n    c();\n}\nfn d() {\n}\n", "a@1:5 d@6:2"),
            ("fn a<T>()\nwhere\n    T: B,\n{\n}\n", "a@1:5"),
            ("// fn a() {\nlet fnord = 1;\n", ""),
            ("type F = fn(u8);\n", ""),
        ] {
            assert_eq!(found(text, rust_functions), expected, "{text}");
        }
    }

    #[test]
    fn c_shapes() {
        for (text, expected) in [
            ("static int a(int b)\n{\n\treturn b;\n}\n", "a@1:4"),
            ("int BPF_PROG(hardirq, int irq,\n\t     void *x)\n{\n}\n", "hardirq@1:4"),
            ("struct a {\n\tint b;\n};\n", ""),
            ("static void a(void) {\n\tif (x) {\n\t}\n}\n", "a@1:4"),
        ] {
            assert_eq!(found(text, c_functions), expected, "{text}");
        }
    }

    #[test]
    fn limits() {
        let body = |n: usize| format!("fn a() {{\n{}}}\n", "    b();\n".repeat(n));
        let blank = |n: usize| "\n".repeat(n);
        for (path, text, expected) in [
            ("a.rs", body(98), ""),
            ("a.rs", body(99), "FAIL"),
            ("a.rs", blank(500), ""),
            ("a.rs", blank(501), "note"),
            ("a.rs", blank(801), "FAIL"),
            ("bpf/a.bpf.c", blank(251), "note"),
            ("notes.md", blank(2000), ""),
        ] {
            let findings = check(&Tree::of(&[(path, &text)]));
            let levels: Vec<String> =
                findings.iter().map(|f| f.to_string()[..4].to_owned()).collect();
            assert_eq!(levels.join(" "), expected, "{path} {}", text.len());
        }
    }
}
