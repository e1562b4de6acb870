// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's shell and small commands: the static busybox of Debian's package for its machine, in
//! the version that `lab/kernels.toml` lists. The host's own, of whatever version, is not taken.

use std::path::{Path, PathBuf};

use super::programs::System;
use super::{GuestError, elf};
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::kernel::{Apt, Arch, BUSYBOX, Pins, TOOLCHAIN_SUITE};
use crate::own;

/// Raise it when the package or the file in it becomes another.
const RECIPE: u32 = 2;

/// A busybox for `arch`.
///
/// # Errors
/// [`GuestError::NoBusybox`], or what prevents the package from being fetched.
pub fn provide_busybox(lab: &Lab, arch: Arch) -> Result<PathBuf, GuestError> {
    let pins = Pins::read(&lab.project)?;
    let version = pins.busybox.get(&arch).ok_or(GuestError::NoBusybox { arch })?;
    let inputs =
        Inputs::new("busybox", RECIPE).value("arch", arch.name()).value("version", version);
    let product =
        Product { kind: "guest", label: format!("busybox-{arch}"), inputs, resumable: false };
    let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
        let apt = Apt::open(lab, TOOLCHAIN_SUITE)?;
        let package = apt.provide_unpacked(BUSYBOX, arch, Some(version))?;
        let from = find_in_package(&package, arch)?;
        let to = staging.directory.join("busybox");
        own::copy(&from, &to).map(drop).map_err(GuestError::at(&from, "copy"))
    })?;
    Ok(made.join("busybox"))
}

fn find_in_package(root: &Path, arch: Arch) -> Result<PathBuf, GuestError> {
    let found = System::at(root, arch).find_program("busybox").ok();
    found.filter(|path| is_static(path, arch)).ok_or(GuestError::NoBusybox { arch })
}

fn is_static(path: &Path, arch: Arch) -> bool {
    let program = own::read(path).ok().and_then(|data| elf::parse_program(&data));
    program.is_some_and(|p| p.arch == Some(arch) && p.interpreter.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_dynamic_program_is_not_taken() {
        let Some(arch) = Arch::host() else { return };
        assert!(!is_static(&std::env::current_exe().unwrap(), arch));
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::copy(std::env::current_exe().unwrap(), bin.join("busybox")).unwrap();
        let error = find_in_package(dir.path(), arch).unwrap_err().to_string();
        assert!(error.contains("kernels.toml"), "{error}");
    }
}
