// SPDX-License-Identifier: GPL-2.0-or-later
//! Writes the archive that the kernel unpacks as its first root: cpio in the "newc" form.
//!
//! Same entries, same bytes: sorted by path, owned by root, dated 1970, numbered in order. Two
//! runs can only be identical when their initramfs is. The format is described in the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.

use std::collections::BTreeMap;

const MAGIC: &str = "070701";
const TRAILER: &str = "TRAILER!!!";
const TYPE_DIRECTORY: u32 = 0o040_000;
const TYPE_FILE: u32 = 0o100_000;
const TYPE_LINK: u32 = 0o120_000;
const TYPE_CHARACTER_DEVICE: u32 = 0o020_000;

/// What lies at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A directory.
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
    pub fn put(&mut self, path: &str, node: Node) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for depth in 1..parts.len() {
            self.nodes.entry(parts[..depth].join("/")).or_insert(Node::Directory);
        }
        self.nodes.insert(parts.join("/"), node);
    }

    /// Whether something lies at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.nodes.contains_key(path.trim_start_matches('/'))
    }

    /// The archive.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((path, node), inode) in self.nodes.iter().zip(1..) {
            entry(&mut out, inode, path, node);
        }
        record(&mut out, &Head::default(), TRAILER, &[]);
        out
    }
}

/// The fields of a header that are not zero for everything.
#[derive(Default)]
struct Head {
    inode: u32,
    mode: u32,
    nr_links: u32,
    device: (u32, u32),
}

fn entry(out: &mut Vec<u8>, inode: u32, path: &str, node: &Node) {
    let head = |mode, nr_links| Head { inode, mode, nr_links, device: (0, 0) };
    match node {
        Node::Directory => record(out, &head(TYPE_DIRECTORY | 0o755, 2), path, &[]),
        Node::File(mode, data) => record(out, &head(TYPE_FILE | mode, 1), path, data),
        Node::Link(target) => record(out, &head(TYPE_LINK | 0o777, 1), path, target.as_bytes()),
        Node::Device(major, minor) => {
            let mode = TYPE_CHARACTER_DEVICE | 0o600;
            record(out, &Head { device: (*major, *minor), ..head(mode, 1) }, path, &[]);
        }
    }
}

fn record(out: &mut Vec<u8>, head: &Head, name: &str, data: &[u8]) {
    let (major, minor) = head.device;
    let fields = [
        head.inode,
        head.mode,
        0, // user
        0, // group
        head.nr_links,
        0, // modified
        data.len() as u32,
        0, // device of the file system, major
        0, // minor
        major,
        minor,
        name.len() as u32 + 1,
        0, // checksum, not used in this form
    ];
    out.extend_from_slice(MAGIC.as_bytes());
    for field in fields {
        out.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    align(out);
    out.extend_from_slice(data);
    align(out);
}

fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, Stdio};

    /// Runs the real `cpio` over an archive; `None` where there is none.
    fn cpio(archive: &[u8], arguments: &[&str], directory: &Path) -> Option<String> {
        let child = Command::new("cpio")
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("skipped: no cpio");
            return None;
        };
        child.stdin.take().unwrap().write_all(archive).unwrap();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn cpio_extracts_what_was_put() {
        let mut archive = Archive::default();
        archive.put("/usr/bin/tool", Node::File(0o755, b"#!/bin/sh\n".to_vec()));
        archive.put("etc/odd", Node::File(0o600, vec![7; 5]));
        archive.put("/bin/sh", Node::Link("busybox".into()));
        archive.put("empty", Node::Directory);
        let dir = tempfile::tempdir().unwrap();
        if cpio(&archive.bytes(), &["-i", "-d", "--quiet"], dir.path()).is_none() {
            return;
        }
        let at = |path: &str| dir.path().join(path);
        assert_eq!(fs::read(at("usr/bin/tool")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::read(at("etc/odd")).unwrap(), [7; 5]);
        assert_eq!(fs::metadata(at("etc/odd")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(at("bin/sh")).unwrap(), Path::new("busybox"));
        assert!(at("empty").is_dir());
    }

    #[test]
    fn devices_are_listed_with_their_numbers() {
        let mut archive = Archive::default();
        archive.put("dev/console", Node::Device(5, 1));
        let listing = cpio(&archive.bytes(), &["-i", "-t", "-v", "--quiet"], Path::new("/"));
        let Some(listing) = listing else { return };
        let device = listing.lines().find(|line| line.ends_with("dev/console")).unwrap();
        let words: Vec<&str> = device.split_whitespace().collect();
        assert!(words[0].starts_with("crw-------"), "{device}");
        assert_eq!(words[4..6], ["5,", "1"], "{device}");
    }

    proptest! {
        /// In whatever order things are put, the bytes are the same and `cpio` lists them all.
        #[test]
        fn any_archive_is_listed_completely(
            files in proptest::collection::btree_map("[a-z]{1,9}(/[a-z][a-z.-]{0,30}){0,3}x", 0..300usize, 0..12)
        ) {
            let mut forward = Archive::default();
            let mut backward = Archive::default();
            for (path, len) in &files {
                forward.put(path, Node::File(0o644, vec![1; *len]));
            }
            for (path, len) in files.iter().rev() {
                backward.put(path, Node::File(0o644, vec![1; *len]));
            }
            // A file that is also somebody's parent has no meaning.
            let is_parent = |a: &String| files.keys().any(|b| b.starts_with(&format!("{a}/")));
            prop_assume!(!files.keys().any(is_parent));
            prop_assert_eq!(forward.bytes(), backward.bytes());
            if let Some(listing) = cpio(&forward.bytes(), &["-i", "-t", "--quiet"], Path::new("/")) {
                let listed: Vec<&str> = listing.lines().collect();
                prop_assert!(files.keys().all(|path| listed.contains(&path.as_str())));
                prop_assert!(forward.nodes.len() == listed.len());
            }
        }
    }
}
