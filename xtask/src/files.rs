// SPDX-License-Identifier: GPL-2.0-or-later
//! Files are opened and named in one crate, `irqpath-files`, which follows no stranger's link and
//! reads nothing without an end. What opens a file elsewhere stands below, with its reason.

use crate::calls::{self, Ban};
use crate::finding::Finding;
use crate::tree::Tree;

/// Where all of it is done.
const THE_CRATE: &str = "crates/irqpath-files/";

/// What makes a path an open file or a file a name, or changes what a path leads to.
const CALLS: &[&str] = &[
    "File::open",
    "File::create",
    "File::options",
    "OpenOptions",
    "DirBuilder",
    "fs::read(",
    "fs::read_to_string",
    "fs::write",
    "fs::create_dir",
    "fs::rename",
    "fs::copy",
    "fs::hard_link",
    "fs::soft_link",
    "fs::remove_",
    "fs::set_permissions",
    "chown(",
    "symlink(",
    "fs::open(",
    "fs::openat(",
    "openat(",
    "openat2(",
    "mkdirat(",
    "renameat(",
    "renameat_with(",
    "unlinkat(",
    "chmodat(",
];

const BANS: &[Ban] = &[Ban {
    calls: CALLS,
    within: "crates/",
    except: EXCEPTIONS,
    around: "what opens and names files",
    instead: "read with `irqpath_files::input`, write with `irqpath_files::output`",
}];

/// Each is a module that does nothing else, below a directory in which no stranger writes.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/irqpath-lab/src/own.rs", "the one writer of the lab's own files"),
    ("crates/irqpath-lab/src/cache/lock.rs", "locks in a directory of mode 0700"),
    ("crates/irqpath-lab/src/cache/mod.rs", "syncs directories, gives them their names"),
    ("crates/irqpath-lab/src/vm/jail.rs", "tries whether /dev/kvm can be opened"),
    ("crates/irqpath-source/src/intsight/control.rs", "sets parameters of the module in debugfs"),
    ("crates/irqpath-source/src/realtime.rs", "holds /dev/cpu_dma_latency"),
    ("crates/irqpath-source/src/respond/device.rs", "waits for a device"),
    ("crates/irqpath-source/src/respond/hpet.rs", "waits for a device"),
    ("crates/irqpath-source/src/respond/rtc.rs", "waits for a device"),
    ("crates/irqpath-system/src/host.rs", "the one reader of /proc, /sys and /dev"),
    ("crates/irqpath-system/src/change/real.rs", "the one writer of /proc and /sys"),
    ("crates/irqpath-system/src/journal/lock.rs", "the lock in /run/irqpath, mode 0700"),
    ("crates/irqpath-system/src/journal/mod.rs", "replaces and syncs the journal"),
    ("crates/irqpath-system/src/journal/state.rs", "replaces a list of pins beside the journal"),
    ("crates/irqpath-system/src/journal/store.rs", "makes the journal, whatever the umask"),
    ("crates/irqpath-system/src/testing.rs", "machines made of files, for tests"),
];

/// Finds the calls.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = calls::check(tree, BANS);
    findings.retain(|finding| !finding.place.starts_with(THE_CRATE));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_elsewhere_are_found() {
        for (path, text, nr) in [
            ("crates/irqpath/src/a.rs", "let file = File::open(&path)?;\n", 1),
            ("crates/irqpath/src/a.rs", "let file = std::fs::File::create(path)?;\n", 1),
            ("crates/irqpath-lab/src/a.rs", "fs::write(&path, text)?;\nfs::read(&path)?;\n", 2),
            ("crates/irqpath-system/src/a.rs", "std::fs::read_to_string(\"/etc/x\")\n", 1),
            ("crates/irqpath-system/src/a.rs", "OpenOptions::new().append(true).open(p)\n", 1),
            ("crates/irqpath-source/src/a.rs", "rustix::fs::openat(dir, name, flags, mode)\n", 1),
            ("crates/irqpath-lab/src/a.rs", "fs::create_dir_all(&path).and(fs::rename(a, b))\n", 1),
            (
                "crates/irqpath/src/a.rs",
                "std::fs::remove_dir_all(&path)?;\nfs::remove_file(p)?;\n",
                2,
            ),
            ("crates/irqpath/src/a.rs", "fs::set_permissions(&path, mode)?;\n", 1),
            ("crates/irqpath/src/a.rs", "chown(path, None, None)?;\n", 1),
            ("crates/irqpath/src/a.rs", "use std::fs::{read, read_dir};\nread(path)?;\n", 1),
            (
                "crates/irqpath/src/a.rs",
                "use std::{\n    fs::{\n        self, write,\n    },\n};\n",
                1,
            ),
            ("crates/irqpath/src/a.rs", "pub use std::fs::remove_file;\n", 1),
            ("crates/irqpath/src/a.rs", "use std::fs as files;\nfiles::read(path)?;\n", 1),
            ("crates/irqpath/src/a.rs", "use std::fs::{self as files};\n", 1),
            ("crates/irqpath/src/a.rs", "use std::fs::*;\n", 1),
            ("crates/irqpath/src/a.rs", "use std::fs::{File as F, Permissions};\n", 1),
            // Not these.
            ("crates/irqpath/src/a.rs", "use std::fs::{self, File, Permissions, read_dir};\n", 0),
            ("crates/irqpath/src/a.rs", "use std::io::{self, copy, Write as _};\n", 0),
            ("crates/irqpath/src/a.rs", "file.set_permissions(mode)?;\n", 0),
            ("crates/irqpath/src/a.rs", "StagedFile::create(path)?; input::open(path)?;\n", 0),
            ("crates/irqpath/src/a.rs", "fs::read_dir(path)?; fs::metadata(path)?;\n", 0),
            ("crates/irqpath-source/src/a.rs", "    libc::SYS_openat,\n", 0),
            ("crates/irqpath-files/src/a.rs", "openat(directory, name, flags, mode)?;\n", 0),
            ("crates/irqpath-system/src/host.rs", "File::open(self.path(relative))\n", 0),
            ("crates/irqpath/tests/a.rs", "fs::write(&path, text).unwrap();\n", 0),
            ("crates/irqpath/src/a.rs", "#[cfg(test)]\nmod tests { fn a() { fs::write() } }\n", 0),
            // What is compiled for tests alone does not end the product.
            ("crates/irqpath/src/a.rs", "#[cfg(test)]\nuse a::b;\nfn a() { File::open(p) }\n", 1),
        ] {
            assert_eq!(check(&Tree::of(&[(path, text)])).len(), nr, "{path}: {text}");
        }
    }

    #[test]
    fn an_exception_that_opens_nothing_is_found() {
        let tree = Tree::of(&[("crates/irqpath-system/src/host.rs", "fn names() {}\n")]);
        let findings = check(&tree);
        assert_eq!(findings.len(), 1, "{findings:?}");
    }
}
