// SPDX-License-Identifier: GPL-2.0-or-later
//! The guest's shell and small commands: a static busybox, of this system where it has one for
//! the guest's machine, else from Debian's package for that machine.

use std::path::{Path, PathBuf};

use super::programs::System;
use super::{GuestError, elf};
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::kernel::{Apt, Arch};
use crate::own;

/// Raise it when the package or the file in it becomes another.
const RECIPE: u32 = 1;
const PACKAGE: &str = "busybox-static";

/// A busybox for `arch`.
///
/// # Errors
/// [`GuestError::NoBusybox`], or what prevents the package from being fetched.
pub fn find(lab: &Lab, arch: Arch) -> Result<PathBuf, GuestError> {
    if Arch::host() == Some(arch) {
        return of_system(Path::new("/"), arch);
    }
    let inputs = Inputs::of("busybox", RECIPE).value("arch", arch.name());
    let product =
        Product { kind: "guest", label: format!("busybox-{arch}"), inputs, resumable: false };
    let made = lab.cache.product(&product, &lab.progress, |staging| {
        let apt = Apt::open(lab, "bookworm")?;
        let package = apt.unpacked(PACKAGE, arch, None)?;
        let from = of_system(&package, arch)?;
        let to = staging.directory.join("busybox");
        own::copy(&from, &to).map(drop).map_err(GuestError::at(&from, "copied"))
    })?;
    Ok(made.join("busybox"))
}

fn of_system(root: &Path, arch: Arch) -> Result<PathBuf, GuestError> {
    let found = System::at(root, arch).find("busybox").ok();
    found.filter(|path| is_static(path, arch)).ok_or(GuestError::NoBusybox { arch })
}

fn is_static(path: &Path, arch: Arch) -> bool {
    let program = own::read(path).ok().and_then(|data| elf::program(&data));
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
        let error = of_system(dir.path(), arch).unwrap_err().to_string();
        assert!(error.contains("busybox-static"), "{error}");
    }
}
