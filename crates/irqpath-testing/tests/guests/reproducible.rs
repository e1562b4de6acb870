// SPDX-License-Identifier: GPL-2.0-or-later
//! The same sources make the same bytes: of every guest program in two directories with two caches,
//! and, because the digests are in the tree, on every host. On request also of the irqpath kernel.
//!
//! `IRQPATH_BLESS=1 cargo test -p irqpath-testing --test guests guest_programs` rewrites the
//! digests. That is right when a source or the toolchain has changed, and only then.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use irqpath_lab::cache::{hash_file, list_files};
use irqpath_lab::guest::{GuestError, compile_program};
use irqpath_lab::kernel::{Arch, Flavour, Kernel, Toolchain};
use irqpath_lab::{Cache, Lab, Progress, Project};
use irqpath_testing::guests;

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
        for path in list_files(&from).unwrap() {
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
    [&kernel.image, symbols, &exports].map(|path| hash_file(path).unwrap())
}

fn digests(lab: &Lab, arch: Arch) -> Result<String, GuestError> {
    let mut text = String::new();
    for path in list_files(&lab.project.lab().join("guest")).unwrap() {
        if path.extension().is_none_or(|extension| extension != "c") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        let digest = hash_file(&compile_program(lab, arch, &name)?).unwrap();
        writeln!(text, "{digest}  {arch}/{name}").unwrap();
    }
    Ok(text)
}

/// A dynamic program, as the build of a kernel links for the host. A link of the sysroot that leads
/// out of it takes the host's dynamic linker, which fits on one Debian and not on the next.
#[test]
fn programs_are_linked_with_the_toolchain_alone() {
    let lab = guests::open_lab();
    let what = "a program for the host";
    let Some(arch) = Arch::host() else { return println!("skipped: {what}: no such toolchain") };
    let Some(toolchain) = guests::or_skip(what, Toolchain::provide(&lab, arch)) else { return };
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.c"), "int main(void) { return 0; }\n").unwrap();
    let mut gcc = toolchain.compiler_command(directory.path()).unwrap();
    let output = gcc.args(["-Wl,--trace", "a.c", "-o", "a"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let own = fs::canonicalize(toolchain.compiler_path()).unwrap();
    let own = own.ancestors().nth(2).unwrap();
    let traced = String::from_utf8(output.stdout).unwrap();
    let linked: Vec<PathBuf> = traced.lines().filter_map(|l| fs::canonicalize(l).ok()).collect();
    assert!(linked.iter().any(|path| path.to_string_lossy().contains("/ld-linux-")), "{traced}");
    for path in linked.iter().filter(|path| !path.starts_with("/tmp")) {
        assert!(path.starts_with(own), "{} is the host's", path.display());
    }
}

#[test]
fn guest_programs_are_the_same_bytes_everywhere() {
    let lab = guests::open_lab();
    let mut found = String::new();
    for &arch in Arch::ALL {
        let what = format!("programs for {arch}");
        if guests::or_skip(&what, Toolchain::provide(&lab, arch)).is_none() {
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
    let Some((lab, kernel)) = guests::provide_kernel(Flavour::Irqpath, Arch::X86_64) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let lab = elsewhere(&lab, dir.path());
    let other = Kernel::provide(&lab, Flavour::Irqpath, Arch::X86_64);
    let Some(other) = guests::or_skip(what, other) else { return };
    assert_ne!(other.directory, kernel.directory);
    assert_eq!(parts(&other), parts(&kernel));
}
