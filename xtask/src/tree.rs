// SPDX-License-Identifier: GPL-2.0-or-later
//! The files of the project, as git sees them: tracked ones and new ones that are not ignored.
//!
//! Rules work on [`Tree`], so that their tests can hand them a few made-up files. Files that are
//! not UTF-8 (recordings, pictures) are left out: no rule is about them.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file; `path` is relative to the root of the tree, with `/`.
#[derive(Debug)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// All text files of the project.
#[derive(Debug)]
pub struct Tree {
    pub root: PathBuf,
    pub files: Vec<File>,
    /// All files, those that are not text too.
    pub paths: Vec<String>,
}

impl File {
    /// The name's ending without the dot, or the whole name (`Makefile`).
    pub fn kind(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit('.').next().unwrap_or(name)
    }
}

impl Tree {
    /// Reads the tree that this xtask was built from.
    pub fn load() -> Result<Self> {
        let root = root();
        let git = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&root)
            .output()
            .context("cannot run git; install it")?;
        ensure!(git.status.success(), "git ls-files failed in {}", root.display());
        let mut paths: Vec<String> = String::from_utf8_lossy(&git.stdout)
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| root.join(path).exists());
        let files = paths.iter().filter_map(|path| read(&root, path.clone())).collect();
        Ok(Self { root, files, paths })
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
        let paths = files.iter().map(|(path, _)| (*path).into()).collect();
        Self { root: PathBuf::from("/nowhere"), files: files.iter().map(file).collect(), paths }
    }

    /// Files that people of this project wrote. A file from elsewhere lies in a directory with a
    /// LICENSE of its own.
    pub fn written(&self) -> impl Iterator<Item = &File> {
        let foreign: Vec<&str> = self
            .files
            .iter()
            .filter_map(|file| file.path.strip_suffix("LICENSE"))
            .filter(|directory| !directory.is_empty())
            .collect();
        let is_foreign = move |file: &File| foreign.iter().any(|dir| file.path.starts_with(dir));
        self.files.iter().filter(move |file| !is_foreign(file))
    }

    /// Whether the project has a file or directory of that path; the root has the empty one.
    pub fn has(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        path.is_empty() || self.paths.iter().any(|it| it == path || it.starts_with(&directory))
    }

    /// The text of one file, if it is there.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

/// The root of the checkout: cargo says where xtask is, the root is one above.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map(Path::to_path_buf).unwrap_or(manifest)
}

/// `None` for what is deleted but still in the index, a directory link, or not text.
fn read(root: &Path, path: String) -> Option<File> {
    let text = std::fs::read_to_string(root.join(&path)).ok()?;
    Some(File { path, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_the_ending_or_the_name() {
        for (path, kind) in
            [("a/b.rs", "rs"), ("bpf/x.bpf.c", "c"), ("Makefile", "Makefile"), (".ci/run", "run")]
        {
            assert_eq!(File { path: path.into(), text: String::new() }.kind(), kind);
        }
    }

    #[test]
    fn a_licence_of_its_own_marks_foreign_files() {
        let tree = Tree::of(&[
            ("LICENSE", ""),
            ("a.js", ""),
            ("x/plot/LICENSE", ""),
            ("x/plot/plot.js", ""),
            ("x/plotter.js", ""),
        ]);
        let written: Vec<&str> = tree.written().map(|file| file.path.as_str()).collect();
        assert_eq!(written, ["LICENSE", "a.js", "x/plotter.js"]);
    }

    #[test]
    fn own_tree_has_this_file() {
        let tree = Tree::load().unwrap();
        assert!(tree.text("xtask/src/tree.rs").is_some_and(|text| text.contains("own_tree_has")));
    }
}
