// SPDX-License-Identifier: GPL-2.0-or-later
//! The commit that a tree is at, for the record of a run.
//!
//! git runs programs that its configuration names: a file system monitor, hooks, filters, and
//! `core.sharedRepository` lets a whole group write there. So git is started only for a repository
//! that nobody but root and the caller can change, and it is told where that is: left to itself, it
//! searches upwards. Nothing of the environment or of the user's own configuration reaches it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use irqpath_files::input;
use irqpath_files::tree::{self, TreeError};

/// A line with a path.
const MAX_POINTER: u64 = 64 << 10;

/// The two places of a repository: a work tree that `git worktree` added has a directory of its own
/// inside the one with configuration and objects.
struct Repository {
    work_tree: PathBuf,
    directory: PathBuf,
    common: PathBuf,
}

/// Commit of a checkout, twelve digits, and `+` if files of it have been changed; none if this is
/// no checkout.
///
/// # Errors
/// If others can write to what git obeys.
pub fn read_commit(root: &Path) -> Result<Option<String>, TreeError> {
    // Links are resolved once, and what is checked afterwards has no others.
    let Some(repository) = Repository::find(root) else { return Ok(None) };
    tree::check_tree(&repository.work_tree, &[".git"])?;
    for directory in [&repository.directory, &repository.common] {
        tree::check_tree(directory, &["."])?;
    }
    // Before the check somebody could have exchanged what said where they are.
    let is_same = |again: Repository| {
        (again.directory, again.common) == (repository.directory.clone(), repository.common.clone())
    };
    if !Repository::find(root).is_some_and(is_same) {
        return Ok(None);
    }
    let Some(commit) = repository.ask_git(&["rev-parse", "--verify", "--short=12", "HEAD"]) else {
        return Ok(None);
    };
    let status = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
    let changed = repository.ask_git(&status).is_none_or(|changed| !changed.is_empty());
    Ok(Some(format!("{commit}{}", if changed { "+" } else { "" })))
}

impl Repository {
    fn find(root: &Path) -> Option<Self> {
        let work_tree = fs::canonicalize(root).ok()?;
        let dot_git = work_tree.join(".git");
        let kind = fs::symlink_metadata(&dot_git).ok()?.file_type();
        let directory = if kind.is_dir() {
            dot_git
        } else if kind.is_file() {
            let text = input::read_text(&dot_git, MAX_POINTER).ok()?;
            resolve_path(&work_tree, text.strip_prefix("gitdir:")?).ok()?
        } else {
            return None;
        };
        let common = match input::read_text(&directory.join("commondir"), MAX_POINTER) {
            Ok(text) => resolve_path(&directory, &text).ok()?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => directory.clone(),
            Err(_) => return None,
        };
        Some(Self { work_tree, directory, common })
    }

    fn ask_git(&self, arguments: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        for (name, _) in env::vars_os().filter(|(name, _)| is_for_git(name)) {
            git.env_remove(name);
        }
        git.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
        // Without this the index would be written.
        git.env("GIT_OPTIONAL_LOCKS", "0").current_dir(&self.work_tree);
        git.arg("--git-dir").arg(&self.directory).arg("--work-tree").arg(&self.work_tree);
        git.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        let answer = git.args(arguments).output().ok()?;
        let text = String::from_utf8(answer.stdout).ok()?;
        answer.status.success().then(|| text.trim().to_owned())
    }
}

fn is_for_git(variable: &std::ffi::OsStr) -> bool {
    variable.as_encoded_bytes().starts_with(b"GIT_")
}

/// A path in a file of git, which counts from the file's directory.
fn resolve_path(from: &Path, text: &str) -> io::Result<PathBuf> {
    fs::canonicalize(from.join(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, chown};

    /// A group that no user of any machine has.
    const STRANGERS: u32 = 65_533;

    struct Checkout {
        directory: tempfile::TempDir,
        root: PathBuf,
    }

    impl Checkout {
        /// One commit, and a monitor that leaves a mark whenever git starts it.
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(directory.path()).unwrap().join("tree");
            fs::create_dir(&root).unwrap();
            fs::write(root.join("file"), "1").unwrap();
            let checkout = Self { directory, root };
            checkout.run_git(&["init", "--quiet"]);
            checkout.run_git(&["add", "file"]);
            let author = ["-c", "user.name=n", "-c", "user.email=e"];
            checkout.run_git(&[&author[..], &["commit", "--quiet", "-m", "m"]].concat());
            let monitor = format!("touch {}; false", checkout.mark_path().display());
            checkout.run_git(&["config", "core.fsmonitor", &monitor]);
            checkout
        }

        fn run_git(&self, arguments: &[&str]) -> String {
            let mut git = Command::new("git");
            let output = git.arg("-C").arg(&self.root).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        fn mark_path(&self) -> PathBuf {
            self.directory.path().join("mark")
        }

        fn has_run_the_monitor(&self) -> bool {
            self.mark_path().exists()
        }

        fn set_mode(&self, name: &str, mode: u32) {
            fs::set_permissions(self.root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    #[test]
    fn the_commit_of_a_checkout_is_known_and_its_monitor_not_started() {
        let checkout = Checkout::new();
        let head = checkout.run_git(&["rev-parse", "HEAD"])[..12].to_owned();
        let _ = fs::remove_file(checkout.mark_path());
        let index = fs::read(checkout.root.join(".git/index")).unwrap();
        assert_eq!(read_commit(&checkout.root).unwrap(), Some(head.clone()));
        // Another time and the same text is no change.
        fs::write(checkout.root.join("file"), "1").unwrap();
        fs::write(checkout.root.join("untracked"), "").unwrap();
        assert_eq!(read_commit(&checkout.root).unwrap(), Some(head.clone()));
        fs::write(checkout.root.join("file"), "2").unwrap();
        assert_eq!(read_commit(&checkout.root).unwrap(), Some(head + "+"));
        assert!(fs::read(checkout.root.join(".git/index")).unwrap() == index, "it was written");
        assert!(!checkout.has_run_the_monitor());
    }

    #[test]
    fn git_is_not_started_where_a_group_can_write_its_configuration() {
        let checkout = Checkout::new();
        let _ = fs::remove_file(checkout.mark_path());
        let is_root = chown(checkout.root.join(".git"), None, Some(STRANGERS)).is_ok();
        // As `core.sharedRepository` leaves it; who cannot give files away opens them to everybody.
        checkout.set_mode(".git", if is_root { 0o2775 } else { 0o777 });
        let refused = read_commit(&checkout.root).unwrap_err().to_string();
        assert!(refused.contains(".git of ") && refused.contains("written by others"), "{refused}");
        checkout.set_mode(".git", 0o755);
        // One file of it is enough, and so is the directory that it lies in.
        for name in [".git/config", ".git/info", ".git/hooks", ""] {
            let before = checkout.root.join(name).metadata().unwrap().permissions().mode();
            checkout.set_mode(name, 0o777);
            assert!(read_commit(&checkout.root).is_err(), "{name}");
            checkout.set_mode(name, before);
        }
        assert!(read_commit(&checkout.root).unwrap().is_some());
        assert!(!checkout.has_run_the_monitor());
    }

    #[test]
    fn an_added_work_tree_is_judged_by_the_repository_it_belongs_to() {
        let checkout = Checkout::new();
        let added = checkout.directory.path().join("added");
        checkout.run_git(&["worktree", "add", "--quiet", added.to_str().unwrap()]);
        let _ = fs::remove_file(checkout.mark_path());
        let head = checkout.run_git(&["rev-parse", "HEAD"])[..12].to_owned();
        let _ = fs::remove_file(checkout.mark_path());
        assert_eq!(read_commit(&added).unwrap(), Some(head));
        for name in [".git/config", ".git/worktrees/added/HEAD", ".git/objects"] {
            let before = checkout.root.join(name).metadata().unwrap().permissions().mode();
            checkout.set_mode(name, 0o777);
            assert!(read_commit(&added).is_err(), "{name}");
            checkout.set_mode(name, before);
        }
        assert!(!checkout.has_run_the_monitor());
    }

    #[test]
    fn a_directory_below_a_checkout_and_a_linked_repository_have_no_commit() {
        let checkout = Checkout::new();
        let inner = checkout.root.join("inner");
        fs::create_dir(&inner).unwrap();
        assert_eq!(read_commit(&inner).unwrap(), None);
        std::os::unix::fs::symlink("../.git", inner.join(".git")).unwrap();
        assert_eq!(read_commit(&inner).unwrap(), None);
        fs::remove_file(inner.join(".git")).unwrap();
        fs::write(inner.join(".git"), "gitdir: nowhere\n").unwrap();
        assert_eq!(read_commit(&inner).unwrap(), None);
    }
}
