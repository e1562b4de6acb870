// SPDX-License-Identifier: GPL-2.0-or-later
//! A disk that lasts from one boot of a guest to the next.
//!
//! It is a copy of an image in a file without a name, which is gone with the last process that has
//! it open. A guest that is reset loses what it had not yet written there, as on real hardware.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use super::VmError;
use crate::own;

/// The directory that has room for a disk.
const PLACE: &str = "/var/tmp";

/// A disk for [`super::Machine::disk`]. Clones are the same disk; two guests must not use it at a
/// time.
#[derive(Debug, Clone)]
pub struct Disk(Arc<File>);

impl Disk {
    /// A disk with the content of an image, which stays as it is.
    ///
    /// # Errors
    /// If the image cannot be read, or there is no room for the copy.
    pub fn copy_of(image: &Path) -> Result<Self, VmError> {
        let mut from = own::open(image).map_err(VmError::at(image, "read"))?;
        Self::filled(|file| io::copy(&mut from, file).map(drop))
            .map_err(VmError::at(image, "copied"))
    }

    /// A disk of zeros, `mib` MiB in size.
    ///
    /// # Errors
    /// If there is no room for a file.
    pub fn empty(mib: u32) -> Result<Self, VmError> {
        Self::filled(|file| file.set_len(u64::from(mib) << 20))
            .map_err(VmError::at(Path::new(PLACE), "written"))
    }

    fn filled(fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<Self> {
        let mut file = tempfile::tempfile_in(PLACE)?;
        fill(&mut file)?;
        // QEMU may run as another user. It is open to nobody else, because it has no name.
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(Self(Arc::new(file)))
    }

    /// A second handle, for a child.
    pub(super) fn clone_handle(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{FileExt as _, MetadataExt as _};

    #[test]
    fn what_is_written_stays_and_the_image_is_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, "before").unwrap();
        let disk = Disk::copy_of(&image).unwrap();
        disk.clone_handle().unwrap().write_all_at(b"AFTER", 0).unwrap();
        let mut found = [0; 6];
        disk.clone().clone_handle().unwrap().read_exact_at(&mut found, 0).unwrap();
        assert_eq!(&found, b"AFTERe");
        assert_eq!(fs::read_to_string(&image).unwrap(), "before");
    }

    #[test]
    fn an_empty_disk_has_its_size() {
        let disk = Disk::empty(3).unwrap();
        assert_eq!(disk.clone_handle().unwrap().metadata().unwrap().len(), 3 << 20);
    }

    #[test]
    fn another_user_may_open_it_and_it_has_no_name() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, "content").unwrap();
        let found = Disk::copy_of(&image).unwrap().clone_handle().unwrap().metadata().unwrap();
        assert_eq!((found.mode() & 0o666, found.nlink()), (0o666, 0));
    }
}
