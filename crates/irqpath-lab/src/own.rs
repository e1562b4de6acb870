// SPDX-License-Identifier: GPL-2.0-or-later
//! Files of the lab's own: in the cache, in a scratch directory, and in a tree that
//! [`Project`](crate::Project) found fit for use. Nobody else writes there.
//!
//! Reading is as careful as everywhere. Writing is under the final name at once, as the directory
//! itself gets its name when it is complete; no link is followed. What a user names as an output
//! goes through `irqpath_files::output` instead.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, fchown, symlink};
use std::path::Path;

use irqpath_files::input;
use rustix::fs::OFlags;

/// A debug kernel has half of it, bytes.
const MAX_FILE: u64 = 1 << 30;

pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    input::read(path.as_ref(), MAX_FILE)
}

pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<File> {
    input::open(path.as_ref())
}

pub(crate) fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    input::read_text(path.as_ref(), MAX_FILE)
}

/// A new or emptied file.
pub(crate) fn create(path: impl AsRef<Path>) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().write(true).create(true).truncate(true).custom_flags(no_link).open(path)
}

pub(crate) fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(bytes.as_ref())
}

/// Copies content and mode.
pub(crate) fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let mut source = open(from)?;
    let mut target = create(to)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(source.metadata()?.permissions())
}

/// Makes a directory and those above it, unless they are there.
pub(crate) fn make_directory(path: impl AsRef<Path>) -> io::Result<()> {
    fs::create_dir_all(path)
}

pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    fs::rename(from, to)
}

/// Let a link lead to `target` instead.
pub(crate) fn replace_link(link: &Path, target: impl AsRef<Path>) -> io::Result<()> {
    fs::remove_file(link)?;
    symlink(target, link)
}

/// The mode of a file or directory, whatever the umask was when it was made.
pub(crate) fn set_mode(path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
    open_as_it_is(path.as_ref())?.set_permissions(Permissions::from_mode(mode))
}

/// Gives a file or directory to a user.
pub(crate) fn give_to(path: impl AsRef<Path>, user: u32) -> io::Result<()> {
    fchown(open_as_it_is(path.as_ref())?, Some(user), None)
}

/// Without following a link, which would change what it leads to.
fn open_as_it_is(path: &Path) -> io::Result<File> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(no_link).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_and_an_owner_do_not_go_through_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        write(&file, "x").unwrap();
        set_mode(&file, 0o640).unwrap();
        symlink(&file, &link).unwrap();
        assert!(set_mode(&link, 0o666).is_err());
        assert!(give_to(&link, 65534).is_err());
        let metadata = fs::metadata(&file).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    }
}
