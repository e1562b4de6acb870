// SPDX-License-Identifier: GPL-2.0-or-later
//! Cargo builds exactly the versions in `Cargo.lock`: every call in the Makefile, in scripts and in
//! the aliases has `--locked`, or its commands take no versions.

use crate::finding::Finding;
use crate::tree::{File, Tree};

/// What builds nothing, and the alias that is looked at where it is defined.
const FREE: &[&str] = &["fmt", "clean", "xtask", "vendor"];
const ALIASES: &str = ".cargo/config.toml";

/// Finds the calls.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.written().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    let is_loose: fn(&str) -> bool = if file.path == ALIASES {
        is_loose_alias
    } else if is_shell(file) {
        is_loose_line
    } else if file.kind() == "rs" && !file.path.ends_with("src/locked.rs") {
        is_loose_rust
    } else {
        return Vec::new();
    };
    let found = statements(file).into_iter().filter(|(_, text)| is_loose(text));
    found
        .map(|(nr, _)| Finding::fail(format!("{}:{nr}", file.path), "calls cargo without --locked"))
        .collect()
}

fn is_shell(file: &File) -> bool {
    file.path == ".ci/run" || matches!(file.kind(), "Makefile" | "mk" | "sh")
}

/// Lines from 1, each with those that it goes on in; in Rust, what ends with a semicolon.
fn statements(file: &File) -> Vec<(usize, String)> {
    let is_rust = file.kind() == "rs";
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (line, nr) in file.text.lines().zip(1..) {
        let comment = if is_rust { "//" } else { "#" };
        let code = if line.trim_start().starts_with(comment) { "" } else { line };
        match all.last_mut() {
            Some((_, text)) if goes_on => {
                text.push(' ');
                text.push_str(code.trim_end_matches('\\'));
            }
            _ => all.push((nr, code.trim_end_matches('\\').to_owned())),
        }
        goes_on = if is_rust {
            !code.trim_end().ends_with([';', '{', '}']) && !code.is_empty()
        } else {
            code.ends_with('\\')
        };
    }
    all
}

fn is_loose_line(line: &str) -> bool {
    let line =
        line.replace("$(CARGO)", "cargo").replace("${CARGO}", "cargo").replace("$CARGO", "cargo");
    line.match_indices("cargo ").any(|(at, word)| {
        let before = line[..at].chars().next_back();
        // A name of something, as `'cargo test'`, or the end of another word.
        if before.is_some_and(|c| c.is_alphanumeric() || "'\"`-_/.".contains(c)) {
            return false;
        }
        let call = &line[at + word.len()..];
        let call = call.split([';', '|', '&', ')']).next().unwrap_or(call);
        let mut words = call.split_whitespace();
        let command = words.next().unwrap_or_default();
        let is_command = command.starts_with(|c: char| c.is_ascii_lowercase());
        let is_told = words.any(|word| matches!(word, "--locked" | "--version"));
        is_command && !FREE.contains(&command) && !is_told && !call.contains("$(LOCKED")
    })
}

/// A process of cargo, as a build script would start it.
fn is_loose_rust(statement: &str) -> bool {
    let is_cargo =
        ["Command::new(\"cargo\")", "Command::new(cargo)", "Command::new(env!(\"CARGO\"))"]
            .iter()
            .any(|call| statement.contains(call));
    is_cargo && !statement.contains("\"--locked\"")
}

fn is_loose_alias(line: &str) -> bool {
    let Some((_, call)) = line.split_once(" = ") else { return false };
    ["\"run ", "\"build ", "\"test "].iter().any(|start| call.starts_with(start))
        && !call.contains("--locked")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nr(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn calls_without_locked_are_found() {
        for (path, text) in [
            ("Makefile", "build:\n\t@$(CARGO) build --release -p irqpath\n"),
            ("scripts/a.sh", "cargo test --workspace\n"),
            ("scripts/a.sh", "X=1 cargo build \\\n  --release || exit 2\n"),
            ("scripts/a.sh", "step 'cargo test' cargo test -q\n"),
            ("scripts/a.sh", "cargo build --locked && cargo test\n"),
            ("bench/a.sh", "found=$(cargo metadata --no-deps)\n"),
            (".ci/run", "cargo build\n"),
            (".cargo/config.toml", "xtask = \"run --package xtask --\"\n"),
            (
                "crates/a/build.rs",
                "let a = Command::new(\"cargo\")\n    .arg(\"build\")\n    .output();\n",
            ),
        ] {
            assert_eq!(nr(path, text), 1, "{path}: {text}");
        }
    }

    #[test]
    fn what_has_it_or_needs_it_not_is_no_finding() {
        for (path, text) in [
            (
                "Makefile",
                "LOCKED := --locked\n\t@$(CARGO) build $(LOCKED) -p irqpath\n\t@$(CARGO) clean\n",
            ),
            ("scripts/a.sh", "cargo test --locked -q\nX=1 cargo build \\\n  --locked\n"),
            ("scripts/a.sh", "step 'cargo fmt' cargo fmt --all --check\nstep 'cargo test' tests\n"),
            (
                "scripts/a.sh",
                "# What `cargo fuzz` passes: cargo build\nhas cargo || die 'no cargo'\n",
            ),
            ("scripts/a.sh", "if cargo clippy --version >/dev/null; then cargo xtask check; fi\n"),
            ("scripts/a.sh", "mkdir -p \"${CARGO_HOME:-x}\"\n"),
            (".cargo/config.toml", "[alias]\nxtask = \"run --locked --package xtask --\"\n"),
            (
                "crates/a/build.rs",
                "let a = Command::new(\"cargo\").args([\"build\", \"--locked\"]);\n",
            ),
            ("docs/a.md", "cargo test -p irqpath-analysis\n"),
        ] {
            assert_eq!(nr(path, text), 0, "{path}: {text}");
        }
    }
}
