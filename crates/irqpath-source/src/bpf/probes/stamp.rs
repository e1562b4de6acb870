// SPDX-License-Identifier: GPL-2.0-or-later
//! Whether a file is what it was: its size and its times, which the file system keeps.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What the file system said of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    id: (u64, u64),
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
    nr_names: u64,
}

impl FileStamp {
    /// As it is now.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            nr_names: metadata.nlink(),
        }
    }

    /// True if the open file was written to since, or may have been; else this is its stamp of now.
    ///
    /// A new, lost or other name changes `ctime` as well, and the content stays: so it is when a
    /// package manager keeps the old binary until the new one has its name. A `ctime` that no name
    /// explains is taken for a write whose `mtime` was set back, as some copying tools do.
    pub fn notice_write(&mut self, file: &File, path: &Path) -> bool {
        let Ok(metadata) = file.metadata() else { return true };
        let now = Self::of(&metadata);
        if now == *self {
            return false;
        }
        let has_same_content = (now.size, now.modified) == (self.size, self.modified);
        let has_other_name = now.nr_names != self.nr_names || !leads_to(path, &now);
        if has_same_content && has_other_name {
            *self = now;
            return false;
        }
        true
    }
}

/// True if the name leads to this file.
pub fn leads_to(path: &Path, stamp: &FileStamp) -> bool {
    path.metadata().is_ok_and(|now| (now.dev(), now.ino()) == stamp.id)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, FileTimes};
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    /// Longer than the clock of any file system stands still.
    const TICK: Duration = Duration::from_millis(20);

    struct Case {
        root: tempfile::TempDir,
        file: File,
        stamp: FileStamp,
    }

    impl Case {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::write(root.path().join("app"), "old").unwrap();
            let file = File::open(root.path().join("app")).unwrap();
            let stamp = FileStamp::of(&file.metadata().unwrap());
            sleep(TICK);
            Self { root, file, stamp }
        }

        fn is_written(&mut self) -> bool {
            self.stamp.notice_write(&self.file, &self.root.path().join("app"))
        }
    }

    #[test]
    fn a_write_in_place_is_noticed_whatever_its_size_and_its_mtime() {
        for text in ["new", "newer"] {
            let mut case = Case::new();
            assert!(!case.is_written());
            fs::write(case.root.path().join("app"), text).unwrap();
            assert!(case.is_written(), "{text}");
            assert!(leads_to(&case.root.path().join("app"), &case.stamp), "{text}: no replacement");
        }
        let mut case = Case::new();
        let modified = case.file.metadata().unwrap().modified().unwrap();
        let path = case.root.path().join("app");
        fs::write(&path, "new").unwrap();
        let times = FileTimes::new().set_modified(modified);
        File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
        assert!(case.is_written(), "mtime was set back");
    }

    #[test]
    fn names_that_come_and_go_are_no_write() {
        let mut case = Case::new();
        let (path, kept) = (case.root.path().join("app"), case.root.path().join("app.old"));
        fs::hard_link(&path, &kept).unwrap();
        assert!(!case.is_written());
        sleep(TICK);
        fs::write(case.root.path().join("app.new"), "new").unwrap();
        fs::rename(case.root.path().join("app.new"), &path).unwrap();
        assert!(!case.is_written());
        assert!(!leads_to(&path, &case.stamp));
        sleep(TICK);
        fs::remove_file(&kept).unwrap();
        assert!(!case.is_written());
        // The old file is still watched: it may be written to by a name that it has elsewhere.
        sleep(TICK);
        fs::write(format!("/proc/self/fd/{}", raw(&case.file)), "other").unwrap();
        assert!(case.is_written());
    }

    fn raw(file: &File) -> i32 {
        use std::os::fd::AsRawFd as _;
        file.as_raw_fd()
    }
}
