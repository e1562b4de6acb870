// SPDX-License-Identifier: GPL-2.0-or-later
//! The licences of the crates in the binary, for packages: `cargo xtask notices [CARGO_ARGUMENT...]`.
//! The arguments choose the features of the build.
//!
//! `cargo tree` says which crates are linked, `cargo metadata` where their sources are. A text that
//! several crates have is printed once.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beginnings of names of files with a licence, in lower case.
const NAMES: &[&str] = &["license", "licence", "copying", "notice", "copyright", "unlicense"];
/// Licences whose code may not be given to others in one binary with GPL code.
const INCOMPATIBLE: &[&str] = &["CDDL"];
const HEADER: &str = "\
irqpath is GPL-2.0-or-later. The binary contains these crates of other authors, each under the
licence beside it. The texts follow.
";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

/// Prints the licences.
pub fn run(features: &[String]) -> Result<()> {
    let metadata = run_cargo(&["metadata", "--format-version=1"], &[])?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("cargo metadata")?;
    let tree = ["tree", "-p=irqpath", "-e=normal,no-proc-macro", "--prefix=none"];
    let linked = run_cargo(&[&tree[..], &["--format={p}"]].concat(), features)?;
    let mut lines: Vec<&str> = linked.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    let find_package = |line| {
        let (name, version) = split_line(line)?;
        metadata.packages.iter().find(|p| p.name == name && p.version == version)
    };
    let mut packages: Vec<&Package> = lines.into_iter().filter_map(find_package).collect();
    packages.retain(|package| package.source.is_some());
    packages.dedup_by_key(|package| &package.manifest_path);
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut out = HEADER.to_owned();
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        let license = package.license.as_deref().unwrap_or("see its text");
        let is_incompatible = INCOMPATIBLE.iter().any(|word| license.contains(word));
        ensure!(!is_incompatible, "{name} is under {license}, which does not go with the GPL");
        let _ = write!(out, "\n{name}: {license}");
        let directory = package.manifest_path.parent().context("a manifest without directory")?;
        for text in read_texts(directory, 1)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    out.push('\n');
    for (text, mut names) in texts {
        names.dedup();
        let line = "-".repeat(80);
        let _ = write!(out, "\n{line}\n{}\n\n{}\n", names.join(", "), text.trim_end());
    }
    std::io::stdout().write_all(out.as_bytes()).context("standard output")
}

fn run_cargo(args: &[&str], features: &[String]) -> Result<String> {
    let output = Command::new("cargo").args(args).args(features).arg("--locked").output();
    let output = output.context("cannot run cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Of a line such as `clap v4.6.7 (*)`.
fn split_line(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

/// The crate's own, and those of C libraries in directories below it.
fn read_texts(directory: &Path, depth: usize) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    let mut entries = fs::read_dir(directory)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if path.is_dir() && depth > 0 {
            texts.extend(read_texts(&path, depth - 1)?);
        } else if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            texts.push(String::from_utf8_lossy(&fs::read(&path)?).into_owned());
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_names_a_crate() {
        for (line, found) in [
            ("clap v4.6.7", Some(("clap", "4.6.7"))),
            ("libbpf-sys v1.7.0+v1.7.0 (*)", Some(("libbpf-sys", "1.7.0+v1.7.0"))),
            ("", None),
        ] {
            assert_eq!(split_line(line), found, "{line}");
        }
    }

    #[test]
    fn the_texts_of_libraries_in_a_crate_are_found() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("zstd")).unwrap();
        for (name, text) in
            [("LICENSE-MIT", "one"), ("README.md", "two"), ("zstd/COPYING", "three")]
        {
            fs::write(dir.path().join(name), text).unwrap();
        }
        assert_eq!(read_texts(dir.path(), 1).unwrap(), ["one", "three"]);
    }
}
