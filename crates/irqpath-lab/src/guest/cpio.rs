// SPDX-License-Identifier: GPL-2.0-or-later
//! The archive that the kernel unpacks as its first root: cpio in the "newc" form.
//!
//! Same entries, same bytes: sorted by path, owned by root, dated 1970, numbered in order. Two
//! runs can only be identical when their initramfs is. The crate `cpio` writes the headers; the
//! kernel's `Documentation/driver-api/early-userspace/buffer-format.rst` describes them.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use cpio::newc::{Builder, ModeFileType, trailer};

/// What lies at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory that everybody may enter and root may change.
    Directory,
    /// A file: permission bits and content.
    File(u32, Vec<u8>),
    /// A symbolic link and its target.
    Link(String),
    /// A character device: major and minor number.
    Device(u32, u32),
}

/// A tree of files to be written; parents come by themselves.
#[derive(Debug, Default)]
pub struct Archive {
    nodes: BTreeMap<String, Node>,
}

impl Archive {
    /// Puts `node` at `path`, which is taken from the root with or without a leading slash.
    /// What lay there before is replaced.
    pub fn put_node(&mut self, path: &str, node: Node) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for depth in 1..parts.len() {
            self.nodes.entry(parts[..depth].join("/")).or_insert(Node::Directory);
        }
        self.nodes.insert(parts.join("/"), node);
    }

    /// Whether something lies at `path`.
    pub fn has_path(&self, path: &str) -> bool {
        self.nodes.contains_key(path.trim_start_matches('/'))
    }

    /// Writes the archive into memory.
    ///
    /// # Errors
    /// If a file has 4 GiB or more, which newc cannot express.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        for ((path, node), inode) in self.nodes.iter().zip(1..) {
            let (entry, data) = node.complete_header(Builder::new(path).ino(inode));
            let size = u32::try_from(data.len()).map_err(io::Error::other)?;
            let mut writer = entry.write(out, size);
            writer.write_all(data)?;
            out = writer.finish()?;
        }
        trailer(out)
    }
}

impl Node {
    /// Completes an entry's header, and says what follows it.
    fn complete_header(&self, entry: Builder) -> (Builder, &[u8]) {
        let typed = |mode, kind| entry.mode(mode).set_mode_file_type(kind);
        match self {
            Self::Directory => (typed(0o755, ModeFileType::Directory).nlink(2), &[]),
            Self::File(mode, data) => (typed(*mode, ModeFileType::Regular), data),
            Self::Link(target) => (typed(0o777, ModeFileType::Symlink), target.as_bytes()),
            Self::Device(major, minor) => {
                let device = typed(0o600, ModeFileType::Char);
                (device.rdev_major(*major).rdev_minor(*minor), &[])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::{Entry, Reader};
    use proptest::prelude::*;
    use std::io::Read as _;

    /// What an archive has before its trailer, in order.
    fn read_back(archive: &Archive) -> Vec<(Entry, Vec<u8>)> {
        let bytes = archive.to_bytes().unwrap();
        let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
        loop {
            let mut reader = Reader::new(rest).unwrap();
            let (entry, mut data) = (reader.entry().clone(), Vec::new());
            if entry.is_trailer() {
                return found;
            }
            reader.read_to_end(&mut data).unwrap();
            rest = reader.finish().unwrap();
            found.push((entry, data));
        }
    }

    #[test]
    fn an_archive_has_what_was_put_with_its_mode_and_the_parents() {
        let mut archive = Archive::default();
        archive.put_node("/usr/bin/tool", Node::File(0o755, b"#!/bin/sh\n".to_vec()));
        archive.put_node("etc/odd", Node::File(0o600, vec![7; 5]));
        archive.put_node("/bin/sh", Node::Link("busybox".into()));
        archive.put_node("dev/console", Node::Device(5, 1));
        let found = read_back(&archive);
        let found: Vec<(&str, u32, &[u8])> =
            found.iter().map(|(e, data)| (e.name(), e.mode(), data.as_slice())).collect();
        let expected: [(&str, u32, &[u8]); 9] = [
            ("bin", 0o040_755, b""),
            ("bin/sh", 0o120_777, b"busybox"),
            ("dev", 0o040_755, b""),
            ("dev/console", 0o020_600, b""),
            ("etc", 0o040_755, b""),
            ("etc/odd", 0o100_600, &[7; 5]),
            ("usr", 0o040_755, b""),
            ("usr/bin", 0o040_755, b""),
            ("usr/bin/tool", 0o100_755, b"#!/bin/sh\n"),
        ];
        assert_eq!(found, expected);
        let console = &read_back(&archive)[3].0;
        assert_eq!((console.rdev_major(), console.rdev_minor()), (5, 1));
    }

    /// Another byte here is another initramfs in every guest.
    #[test]
    fn nothing_of_the_host_is_in_an_entry() {
        let mut archive = Archive::default();
        archive.put_node("a", Node::File(0o644, b"x".to_vec()));
        let number = |n: u32| format!("{n:08x}");
        let header = |fields: [u32; 13]| fields.map(number).concat();
        let file = header([1, 0o100_644, 0, 0, 1, 0, 1, 0, 0, 0, 0, 2, 0]);
        let end = header([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 11, 0]);
        let expected = format!("070701{file}a\0x\0\0\0070701{end}TRAILER!!!\0\0\0\0");
        assert_eq!(String::from_utf8(archive.to_bytes().unwrap()).unwrap(), expected);
    }

    proptest! {
        /// In whatever order things are put, the bytes are the same and nothing is missing.
        #[test]
        fn any_archive_is_read_back_completely(
            files in proptest::collection::btree_map("[a-z]{1,9}(/[a-z][a-z.-]{0,30}){0,3}x", 0..300usize, 0..12)
        ) {
            let mut forward = Archive::default();
            let mut backward = Archive::default();
            for (path, len) in &files {
                forward.put_node(path, Node::File(0o644, vec![1; *len]));
            }
            for (path, len) in files.iter().rev() {
                backward.put_node(path, Node::File(0o644, vec![1; *len]));
            }
            // A file that is also somebody's parent has no meaning.
            let is_parent = |a: &String| files.keys().any(|b| b.starts_with(&format!("{a}/")));
            prop_assume!(!files.keys().any(is_parent));
            prop_assert_eq!(forward.to_bytes().unwrap(), backward.to_bytes().unwrap());
            let found = read_back(&forward);
            prop_assert!(found.iter().map(|(entry, _)| entry.name()).eq(forward.nodes.keys()));
            for (entry, data) in &found {
                prop_assert_eq!(files.get(entry.name()).copied().unwrap_or(0), data.len());
            }
        }
    }
}
