// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether programs and settings of a tree may be used that nobody has named.
//!
//! A program that looks for its files upwards from where it was started finds what others have
//! put there: `/tmp` is above every scratch directory. So everything that is used must belong to
//! root or the caller ([`owner`]) and be writable by nobody else, and nobody else may be able to
//! exchange the tree afterwards by renaming a directory above it. The owners must be real as well
//! (`mounts`).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, getxattr, openat};

use crate::walk::{Found, Walk, look_at};
use crate::{mounts, owner};

/// No tree of ours is deeper.
const MAX_DEPTH: usize = 24;

/// Why a tree is not used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum TreeError {
    /// It belongs to somebody who is neither root nor the caller.
    #[error("{path} belongs to {owner}", path = .path.display(), owner = owner::describe_user(*.owner))]
    Foreign {
        /// The file or directory.
        path: PathBuf,
        owner: u32,
    },
    /// Others can change it.
    #[error("{path} of {owner} can be written by others (mode {mode:o})",
        path = .path.display(), owner = owner::describe_user(*.owner))]
    Writable {
        /// The file or directory.
        path: PathBuf,
        owner: u32,
        mode: u32,
    },
    /// Whose it is cannot be known.
    #[error("{path} has no certain owner, as {mount} is mounted nosuid and /etc/fstab does not list it",
        path = .path.display(), mount = .mount.display())]
    Uncertain {
        /// The file or directory.
        path: PathBuf,
        /// The mount it lies on.
        mount: PathBuf,
    },
    /// It cannot be looked at.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        source: io::Error,
    },
}

/// Check a directory, the directories above it, and everything in `parts` of it.
///
/// # Errors
/// [`TreeError`], for the first thing found that others could have written or can exchange.
pub fn check_tree(root: &Path, parts: &[&str]) -> Result<(), TreeError> {
    let io = |source: io::Error| TreeError::Io { path: root.to_owned(), source };
    let mut walk = Walk::from_here().map_err(io)?;
    walk.enter_path(root, false).map_err(|e| io(e.into()))?;
    let found = Found { stat: fstat(&walk.at).map_err(|e| io(e.into()))?, fd: walk.at };
    judge_found(&found, root)?;
    for above in root.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
        let mut walk = Walk::from_here().map_err(io)?;
        walk.enter_path(above, false).map_err(|e| io(e.into()))?;
        let found = Found { stat: fstat(&walk.at).map_err(|e| io(e.into()))?, fd: walk.at };
        // In a sticky directory only the owner of a name can change it.
        let is_sticky = found.stat.st_mode & 0o1000 != 0 && owner::is_trusted(found.stat.st_uid);
        if !is_sticky {
            judge_found(&found, above)?;
        }
    }
    parts
        .iter()
        .try_for_each(|part| check_below(&found.fd, part.as_ref(), &root.join(part), MAX_DEPTH))
}

/// Check a name in an open directory, and all below it.
fn check_below(
    directory: &OwnedFd,
    name: &std::ffi::OsStr,
    path: &Path,
    depth: usize,
) -> Result<(), TreeError> {
    let io = |source: io::Error| TreeError::Io { path: path.to_owned(), source };
    let found = match look_at(directory, name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(io)?,
    };
    match found.kind() {
        // Its mode says nothing; whoever made it decides where it leads.
        FileType::Symlink => return judge_owner(&found, path),
        _ => judge_found(&found, path)?,
    }
    if found.kind() != FileType::Directory {
        return Ok(());
    }
    let depth = depth.checked_sub(1).ok_or_else(|| io(io::ErrorKind::QuotaExceeded.into()))?;
    for name in list_names(&found.fd).map_err(io)? {
        check_below(&found.fd, &name, &path.join(&name), depth)?;
    }
    Ok(())
}

fn judge_found(found: &Found, path: &Path) -> Result<(), TreeError> {
    judge_owner(found, path)?;
    if owner::is_writable_by_others(&found.stat) || has_writers(found) {
        let (owner, mode) = (found.stat.st_uid, found.stat.st_mode & 0o7777);
        return Err(TreeError::Writable { path: path.to_owned(), owner, mode });
    }
    Ok(())
}

fn judge_owner(found: &Found, path: &Path) -> Result<(), TreeError> {
    let (path, owner) = (path.to_owned(), found.stat.st_uid);
    if !owner::is_trusted(owner) {
        return Err(TreeError::Foreign { path, owner });
    }
    match mounts::find_doubtful(&found.fd) {
        Ok(None) => Ok(()),
        Ok(Some(mount)) => Err(TreeError::Uncertain { path, mount }),
        Err(source) => Err(TreeError::Io { path, source }),
    }
}

/// True if a list names users who may write: the group's bits are then the most that they may.
fn has_writers(found: &Found) -> bool {
    let path = format!("/proc/self/fd/{}", found.fd.as_raw_fd());
    found.stat.st_mode & 0o020 != 0
        && getxattr(path, "system.posix_acl_access", &mut [0_u8; 0][..]).is_ok()
}

fn list_names(directory: impl AsFd) -> io::Result<Vec<std::ffi::OsString>> {
    use std::os::unix::ffi::OsStrExt as _;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut names = Vec::new();
    for entry in Dir::read_from(openat(directory, ".", flags, Mode::empty())?)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            names.push(std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};

    const STRANGER: u32 = 65_533;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn refusal(root: &Path) -> String {
        check_tree(root, &["lab", "absent"]).unwrap_err().to_string()
    }

    #[test]
    fn everything_that_is_used_is_ones_own_and_written_by_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        let file = root.join("lab/plugin/flame.c");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        mode(dir.path(), 0o1777);
        for path in [&root, &root.join("lab"), &root.join("lab/plugin")] {
            mode(path, 0o755);
        }
        mode(&file, 0o644);
        symlink("/nowhere", root.join("lab/link")).unwrap();
        check_tree(&root, &["lab", "absent"]).unwrap();
        for path in [root.clone(), root.join("lab"), root.join("lab/plugin"), file.clone()] {
            let before = path.metadata().unwrap().permissions();
            mode(&path, 0o777);
            let refused = refusal(&root);
            assert!(refused.contains("can be written by others (mode 777)"), "{refused}");
            fs::set_permissions(&path, before).unwrap();
        }
        // What is not used may be anybody's.
        fs::write(root.join("notes"), "").unwrap();
        mode(&root.join("notes"), 0o666);
        check_tree(&root, &["lab", "absent"]).unwrap();
        // Others could put another tree in its place.
        mode(dir.path(), 0o777);
        assert!(refusal(&root).contains("can be written by others"));
    }

    #[test]
    fn a_strangers_file_anywhere_in_it_is_enough() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree");
        fs::create_dir_all(root.join("lab")).unwrap();
        fs::write(root.join("lab/file"), "").unwrap();
        symlink("file", root.join("lab/link")).unwrap();
        for path in [root.join("lab/link"), root.join("lab/file"), root.join("lab"), root.clone()] {
            if lchown(&path, Some(STRANGER), None).is_err() {
                eprintln!("skipped: a_strangers_file gives files away, which only root can");
                return;
            }
            let refused = refusal(&root);
            assert!(refused.contains(&format!("{} belongs to uid 65533", path.display())));
            lchown(&path, Some(0), None).unwrap();
        }
        // Above it.
        chown(dir.path(), Some(STRANGER), None).unwrap();
        assert!(refusal(&root).contains("belongs to uid 65533"));
        chown(dir.path(), Some(0), None).unwrap();
        // By a group that is not root's own.
        chown(root.join("lab"), None, Some(STRANGER)).unwrap();
        check_tree(&root, &["lab"]).unwrap();
        mode(&root.join("lab"), 0o775);
        assert!(refusal(&root).contains("mode 775"));
        chown(root.join("lab"), None, Some(0)).unwrap();
        check_tree(&root, &["lab"]).unwrap();
    }
}
