// SPDX-License-Identifier: GPL-2.0-or-later
//! Absolute links of packages that are unpacked and not installed. In a sysroot
//! `lib64/ld-linux-x86-64.so.2` leads to `/lib/...`: out of it, to the dynamic linker of the host,
//! which on another Debian lacks what the sysroot's C library wants of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::own;

/// Make every absolute link below `root` a relative one that stays there.
pub(super) fn keep_inside(root: &Path) -> io::Result<()> {
    // Directories, each with the way from there to the root.
    let mut pending = vec![(root.to_owned(), PathBuf::new())];
    while let Some((directory, up)) = pending.pop() {
        for entry in fs::read_dir(directory)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                pending.push((path, up.join("..")));
            } else if kind.is_symlink()
                && let Ok(inside) = fs::read_link(&path)?.strip_prefix("/")
            {
                own::replace_link(&path, up.join(inside))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn absolute_links_lead_into_the_tree_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("sysroot");
        fs::create_dir_all(root.join("usr/lib")).unwrap();
        fs::create_dir_all(root.join("lib64")).unwrap();
        fs::write(root.join("usr/lib/ld.so"), "the sysroot's").unwrap();
        for (target, link) in [
            ("/usr/lib/ld.so", "lib64/ld.so"),
            ("/usr/lib/ld.so", "ld.so"),
            ("/usr/lib/ld.so", "usr/lib/ld-2.so"),
            ("../usr/lib/ld.so", "lib64/relative.so"),
            ("/nowhere", "lib64/dangling.so"),
            ("/usr/lib", "usr/lib64"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        keep_inside(&root).unwrap();
        for link in ["lib64/ld.so", "ld.so", "usr/lib/ld-2.so", "lib64/relative.so"] {
            assert_eq!(fs::read_to_string(root.join(link)).unwrap(), "the sysroot's", "{link}");
        }
        let leads_to = |link: &str| fs::read_link(root.join(link)).unwrap();
        assert_eq!(leads_to("lib64/relative.so"), Path::new("../usr/lib/ld.so"));
        assert_eq!(leads_to("lib64/dangling.so"), Path::new("../nowhere"));
        assert_eq!(leads_to("usr/lib64"), Path::new("../usr/lib"));
    }
}
