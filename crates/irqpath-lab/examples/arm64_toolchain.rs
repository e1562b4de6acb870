// SPDX-License-Identifier: GPL-2.0-or-later
//! A Rust compiler for arm64 guests, for hosts that have none: Debian's newest, unpacked into the
//! lab's cache and started by its own loader, so that nothing of the host changes. Prints the
//! directory: `rustc`, `include` and `lib` (libelf and zlib). `scripts/arm64.sh` builds with it.

#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use irqpath_lab::cache::{Inputs, Product};
use irqpath_lab::kernel::{Apt, Arch};
use irqpath_lab::{Cache, Lab, Progress, Project};

/// Version of what is written below.
const RECIPE: u32 = 1;
/// Its libraries fit the C library of the cross compilers of Debian 12 and 13.
const LIBRARIES: &str = "bookworm";
const X86: &str = "x86_64-linux-gnu";
const ARM: &str = "aarch64-linux-gnu";

fn main() -> Result<(), Box<dyn Error>> {
    if Arch::host() != Some(Arch::X86_64) {
        return Err("this builds on x86-64 for arm64 only; on arm64 use cargo build".into());
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lab = Lab {
        project: Project::at(&root).ok_or("no lab beside this program's source")?,
        cache: Cache::locate()?,
        progress: Progress::stderr(),
    };
    println!("{}", make_toolchain(&lab)?.display());
    Ok(())
}

fn make_toolchain(lab: &Lab) -> Result<PathBuf, Box<dyn Error>> {
    let sid = Apt::open(lab, "sid")?;
    let version = sid.find_package("rustc", Arch::X86_64, None)?.version;
    let programs = with_libraries(&sid, &version)?;
    let standard = |arch| sid.provide_unpacked("libstd-rust-dev", arch, Some(&version));
    let standard = [("x86_64", standard(Arch::X86_64)?), ("aarch64", standard(Arch::Arm64)?)];
    let suite = Apt::open(lab, LIBRARIES)?;
    let libraries = ["libelf-dev", "zlib1g-dev"].map(|name| of_suite(&suite, name));
    let libraries = libraries.into_iter().collect::<Result<Vec<_>, _>>()?;
    let all = programs.values().chain(standard.iter().map(|(_, path)| path)).chain(&libraries);
    let inputs = all.fold(Inputs::new("toolchain", RECIPE), |inputs, path| {
        inputs.value("package", &path.to_string_lossy())
    });
    let label = "rust-arm64".to_owned();
    let product = Product { kind: "toolchains", label, inputs, resumable: false };
    Ok(lab.cache.provide_product(&product, &lab.progress, |staging| {
        let to = staging.directory.as_path();
        let written = write_directory(to, &staging.destination, &programs, &standard, &libraries);
        written.map_err(|source| irqpath_lab::CacheError::Io {
            path: to.to_owned(),
            action: "write",
            source,
        })
    })?)
}

/// The suite's own version of a library, unpacked; newer ones are backports, whose libelf.a needs
/// more libraries.
fn of_suite(suite: &Apt<'_>, name: &str) -> Result<PathBuf, Box<dyn Error>> {
    suite.find_package(name, Arch::Arm64, None)?;
    let oldest =
        suite.list_versions(name, Arch::Arm64)?.pop().ok_or("it was there a moment ago")?;
    Ok(suite.provide_unpacked(name, Arch::Arm64, Some(&oldest.version))?)
}

/// The compiler and the shared libraries that it needs, unpacked. Compilers of C, which it needs
/// as well, are the host's.
fn with_libraries(
    apt: &Apt<'_>,
    version: &str,
) -> Result<BTreeMap<String, PathBuf>, Box<dyn Error>> {
    let mut unpacked = BTreeMap::new();
    // Its own libraries are those of the standard library.
    let mut wanted =
        ["rustc", "libstd-rust-dev"].map(|name| (name.to_owned(), Some(version))).to_vec();
    while let Some((name, version)) = wanted.pop() {
        if unpacked.contains_key(&name) {
            continue;
        }
        let package = apt.find_package(&name, Arch::X86_64, version)?;
        let is_library = |name: &&String| {
            (name.starts_with("lib") || name.starts_with("zlib")) && !name.ends_with("-dev")
        };
        wanted.extend(package.depends.iter().filter(is_library).map(|name| (name.clone(), None)));
        unpacked.insert(
            name.clone(),
            apt.provide_unpacked(&name, Arch::X86_64, Some(&package.version))?,
        );
    }
    Ok(unpacked)
}

/// Writes the directory; `destination` is what it will be called.
fn write_directory(
    to: &Path,
    destination: &Path,
    programs: &BTreeMap<String, PathBuf>,
    standard: &[(&str, PathBuf)],
    libraries: &[PathBuf],
) -> std::io::Result<()> {
    let rustlib = to.join("sysroot/lib/rustlib");
    fs::create_dir_all(&rustlib)?;
    for (arch, package) in standard {
        let name = format!("{arch}-unknown-linux-gnu");
        symlink(package.join("usr/lib/rustlib").join(&name), rustlib.join(&name))?;
    }
    let include = to.join("include");
    let lib = to.join("lib");
    for (from, to) in [("usr/include", &include), (&format!("usr/include/{ARM}"), &include)] {
        libraries.iter().try_for_each(|package| link_all(&package.join(from), to))?;
    }
    libraries.iter().try_for_each(|package| link_all(&package.join("usr/lib").join(ARM), &lib))?;
    let places = programs.values().map(|package| package.join("usr/lib").join(X86));
    let places: Vec<String> = places.map(|place| place.display().to_string()).collect();
    let script = format!(
        "#!/bin/sh\nexec {}/usr/lib/{X86}/ld-linux-x86-64.so.2 --library-path {} \
         {}/usr/bin/rustc --sysroot {}/sysroot \"$@\"\n",
        programs["libc6"].display(),
        places.join(":"),
        programs["rustc"].display(),
        destination.display()
    );
    fs::write(to.join("rustc"), script)?;
    fs::set_permissions(to.join("rustc"), fs::Permissions::from_mode(0o755))
}

/// Links the files of a directory that are there; those to shared libraries lead nowhere in a
/// package for development.
fn link_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().exists() && !target.exists() {
            symlink(entry.path(), target)?;
        }
    }
    Ok(())
}
