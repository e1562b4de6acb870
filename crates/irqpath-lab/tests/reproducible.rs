// SPDX-License-Identifier: GPL-2.0-or-later
//! The same sources make the same bytes: of every guest program in two directories with two caches,
//! and, because the digests are in the tree, on every host. On request also of the irqpath kernel.
//!
//! `IRQPATH_BLESS=1 cargo test -p irqpath-lab --test reproducible` rewrites the digests. That is right
//! when a source or the toolchain has changed, and only then.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use irqpath_lab::cache::{files, sha256};
use irqpath_lab::guest::{GuestError, compile_program};
use irqpath_lab::kernel::{Arch, Flavour, Kernel, Toolchain};
use irqpath_lab::{Cache, Lab, Progress, Project};

/// In the format of sha256sum.
fn blessed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest-programs.sha256")
}

/// A copy of what the lab compiles, with a cache of its own. Only the packages, which are
/// identified by their exact versions, are those of the first cache.
fn elsewhere(lab: &Lab, root: &Path) -> Lab {
    let project = root.join("a directory with a long name/project");
    for part in ["lab/guest", "lab/archive", "kernel"] {
        let from = lab.project.root().join(part);
        for path in files(&from).unwrap() {
            let to = project.join(part).join(path.strip_prefix(&from).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
    }
    fs::copy(lab.project.kernels_toml(), project.join("lab/kernels.toml")).unwrap();
    let cache = root.join("cache");
    fs::create_dir_all(&cache).unwrap();
    symlink(lab.cache.root().join("packages"), cache.join("packages")).unwrap();
    let project = Project::at(&project).unwrap();
    Lab { project, cache: Cache::at(cache), progress: Progress::hidden() }
}

/// Image, symbols, and what modules are checked against.
fn parts(kernel: &Kernel) -> [String; 3] {
    let symbols = kernel.system_map.as_ref().unwrap();
    let exports = kernel.build.as_ref().unwrap().join("Module.symvers");
    [&kernel.image, symbols, &exports].map(|path| sha256(path).unwrap())
}

fn digests(lab: &Lab, arch: Arch) -> Result<String, GuestError> {
    let mut text = String::new();
    for path in files(&lab.project.lab().join("guest")).unwrap() {
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        let digest = sha256(&compile_program(lab, arch, &name)?).unwrap();
        writeln!(text, "{digest}  {arch}/{name}").unwrap();
    }
    Ok(text)
}

#[test]
fn guest_programs_are_the_same_bytes_everywhere() {
    let lab = common::lab();
    let mut found = String::new();
    for arch in Arch::ALL {
        let what = format!("programs for {arch}");
        if common::or_skip(&what, Toolchain::provide(&lab, arch)).is_none() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let there = digests(&elsewhere(&lab, dir.path()), arch).unwrap();
        assert_eq!(digests(&lab, arch).unwrap(), there, "the directory got into a program");
        found.push_str(&there);
    }
    if std::env::var_os("IRQPATH_BLESS").is_some() {
        fs::write(blessed(), &found).unwrap();
    }
    let expected = fs::read_to_string(blessed()).unwrap();
    assert_eq!(found, expected, "IRQPATH_BLESS=1 accepts what a changed source makes");
}

#[test]
fn the_irqpath_kernel_is_the_same_bytes_everywhere() {
    let what = "the irqpath kernel in another directory";
    if std::env::var_os("IRQPATH_REBUILD_KERNEL").is_none() {
        println!("skipped: {what}: it takes ten minutes; IRQPATH_REBUILD_KERNEL=1 builds it");
        return;
    }
    let Some((lab, kernel)) = common::kernel(Flavour::Irqpath, Arch::X86_64) else { return };
    let dir = tempfile::tempdir().unwrap();
    let lab = elsewhere(&lab, dir.path());
    let other = Kernel::provide(&lab, Flavour::Irqpath, Arch::X86_64);
    let Some(other) = common::or_skip(what, other) else { return };
    assert_ne!(other.directory, kernel.directory);
    assert_eq!(parts(&other), parts(&kernel));
}
