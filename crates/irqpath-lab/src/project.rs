// SPDX-License-Identifier: GPL-2.0-or-later
//! Where the lab's own files are: `lab/`, `experiments/` and `kernel/`, in a checkout or as
//! `make install` put them below `share/irqpath`.
//!
//! The mark of such a directory is `lab/kernels.toml`. Nothing is ever written there.
//!
//! The lab compiles and runs what lies there. A directory that the user names is trusted; one that
//! is found above the current directory only if nobody but root and the caller could have made it.
//! Under `sudo` the user who called it counts, as `SUDO_UID` says, as git does for
//! `safe.directory`.

use std::env;
use std::path::{Path, PathBuf};

use irqpath_files::tree::{self, TreeError};

use crate::checkout;

/// The file by which a project directory is known.
const MARK: &str = "lab/kernels.toml";
/// What is used of it.
const PARTS: [&str; 3] = ["lab", "experiments", "kernel"];

/// The directory with the lab's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

/// The lab's files were not found.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A directory was named, but it is another one.
    #[error("{path} is not irqpath's project directory (it has no {MARK}); correct {origin}", path = .path.display())]
    NotHere {
        path: PathBuf,
        /// What named it: `--project` or `IRQPATH_PROJECT`.
        origin: &'static str,
    },
    /// One was found that others can write to.
    #[error("{root} has the lab's files, but {source}; give --project {root} if you trust all of it", root = .root.display())]
    Untrusted {
        root: PathBuf,
        /// What others can write to.
        source: TreeError,
    },
    /// Nothing was named and nothing was found.
    #[error(
        "the lab's files ({MARK}) are neither here nor above nor installed; run it in a checkout of irqpath, or give --project DIR"
    )]
    NotFound,
}

impl Project {
    /// Find it: the one that was asked for, else `$IRQPATH_PROJECT`, else the nearest directory
    /// upwards that has the mark, else `share/irqpath` of the prefix this program is installed in.
    pub fn locate(asked_for: Option<&Path>) -> Result<Self, ProjectError> {
        let variable = env::var_os("IRQPATH_PROJECT").filter(|v| !v.is_empty());
        let named = match (asked_for, &variable) {
            (Some(path), _) => Some((path, "--project")),
            (None, Some(path)) => Some((Path::new(path), "IRQPATH_PROJECT")),
            (None, None) => None,
        };
        if let Some((path, origin)) = named {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            return Self::at(&path).ok_or(ProjectError::NotHere { path, origin });
        }
        search_project(env::current_dir().ok().as_deref(), env::current_exe().ok().as_deref())
            .unwrap_or(Err(ProjectError::NotFound))
    }

    /// The project in this directory, if it is one.
    pub fn at(root: &Path) -> Option<Self> {
        root.join(MARK).is_file().then(|| Self { root: root.to_owned() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The kernels the lab uses, by exact version.
    pub fn kernels_toml(&self) -> PathBuf {
        self.root.join(MARK)
    }

    /// Guest init, plugin, budgets.
    pub fn lab(&self) -> PathBuf {
        self.root.join("lab")
    }

    /// One file per experiment.
    pub fn experiments(&self) -> PathBuf {
        self.root.join("experiments")
    }

    /// Configuration fragments, hooks and overlay.
    pub fn kernel(&self) -> PathBuf {
        self.root.join("kernel")
    }

    /// Commit of the checkout, twelve digits, and `+` if files of it have been changed; none if
    /// this is no checkout.
    ///
    /// # Errors
    /// If others can write to the repository: git would run what they write there. That a directory
    /// was named says nothing about its repository.
    pub fn read_commit(&self) -> Result<Option<String>, TreeError> {
        checkout::read_commit(&self.root)
    }

    /// Source of a module of ours.
    pub fn module_source(&self, name: &str) -> PathBuf {
        self.kernel().join("module").join(name)
    }
}

fn search_project(
    here: Option<&Path>,
    program: Option<&Path>,
) -> Option<Result<Project, ProjectError>> {
    if let Some(above) = here.into_iter().flat_map(Path::ancestors).find_map(Project::at) {
        let untrusted = |source| ProjectError::Untrusted { root: above.root.clone(), source };
        return Some(tree::check_tree(&above.root, &PARTS).map_err(untrusted).map(|()| above));
    }
    // Whoever can write there can replace this program.
    let prefix = program?.parent()?.parent()?;
    Project::at(&prefix.join("share/irqpath")).map(Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn make_project(root: &Path) {
        fs::create_dir_all(root.join("lab")).unwrap();
        fs::write(root.join(MARK), "").unwrap();
    }

    #[test]
    fn the_nearest_directory_upwards_wins_over_the_installed_one() {
        let dir = tempfile::tempdir().unwrap();
        let checkout = dir.path().join("checkout");
        let deep = checkout.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let program = dir.path().join("usr/bin/irqpath");
        let installed = dir.path().join("usr/share/irqpath");
        make_project(&installed);
        let found = |here: &Path| search_project(Some(here), Some(&program)).unwrap().unwrap();
        assert_eq!(found(&deep).root(), installed);
        make_project(&checkout);
        assert_eq!(found(&deep).root(), checkout);
        assert!(search_project(Some(dir.path()), None).is_none());
    }

    #[test]
    fn a_tree_that_others_can_write_to_must_be_named() {
        let dir = tempfile::tempdir().unwrap();
        make_project(dir.path());
        fs::create_dir(dir.path().join("experiments")).unwrap();
        search_project(Some(dir.path()), None).unwrap().unwrap();
        for part in ["experiments", "lab", "lab/kernels.toml", ""] {
            let path = dir.path().join(part);
            let before = path.metadata().unwrap().permissions();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            let refused = search_project(Some(dir.path()), None).unwrap().unwrap_err().to_string();
            assert!(refused.contains("can be written by others"), "{part}: {refused}");
            assert!(refused.contains("--project") && !refused.contains('\n'), "{refused}");
            Project::locate(Some(dir.path())).unwrap();
            fs::set_permissions(&path, before).unwrap();
        }
    }

    #[test]
    fn a_wrong_directory_is_refused_with_what_named_it() {
        let dir = tempfile::tempdir().unwrap();
        let error = Project::locate(Some(dir.path())).unwrap_err().to_string();
        assert!(error.contains("--project") && error.contains("lab/kernels.toml"), "{error}");
        make_project(dir.path());
        assert_eq!(Project::locate(Some(dir.path())).unwrap().root(), dir.path());
    }
}
