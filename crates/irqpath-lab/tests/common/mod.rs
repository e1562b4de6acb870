// SPDX-License-Identifier: GPL-2.0-or-later
//! What tests with guests share: the project's lab, and what to do where there is none.
//!
//! A test is skipped, and says why, where a program, the archive or the network is missing.
//! Anything else that goes wrong fails it.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)] // each test uses a part

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use irqpath_lab::kernel::{Arch, Flavour, Kernel, KernelError};
use irqpath_lab::{Cache, Lab, Progress, Project};

/// For a guest that takes seconds on two quiet cores, and much longer beside other suites.
pub const LIMIT: Duration = Duration::from_secs(1500);

/// Set to 0 it leaves out the tests for which a kernel of ours would have to be built.
const OWN_KERNEL: &str = "IRQPATH_OWN_KERNEL";

/// The project's lab, with the cache of this user.
pub fn lab() -> Lab {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Lab {
        project: Project::at(&root).unwrap(),
        cache: Cache::locate().unwrap(),
        progress: Progress::hidden(),
    }
}

/// The lab and a kernel for guests; `None` after saying why there is none.
pub fn kernel(flavour: Flavour, arch: Arch) -> Option<(Lab, Kernel)> {
    let what = format!("guests with {flavour} for {arch}");
    if !flavour.is_stock() && std::env::var_os(OWN_KERNEL).is_some_and(|value| value == "0") {
        println!("skipped: {what}: {OWN_KERNEL}=0");
        return None;
    }
    let qemu = match arch {
        Arch::X86_64 => "qemu-system-x86_64",
        Arch::Arm64 => "qemu-system-aarch64",
    };
    if let Some(missing) = [qemu, "gcc"].into_iter().find(|program| !is_installed(program)) {
        println!("skipped: {what}: {missing} is not installed");
        return None;
    }
    let lab = lab();
    let kernel = or_skip(&what, Kernel::provide(&lab, flavour, arch))?;
    Some((lab, kernel))
}

/// Whether a program is there.
pub fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// The result; `None`, said aloud, where this machine cannot have it.
pub fn or_skip<T>(what: &str, result: Result<T, KernelError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            error @ (KernelError::NoApt { .. }
            | KernelError::MissingProgram { .. }
            | KernelError::NoMirror { .. }),
        ) => {
            println!("skipped: {what}: {error}");
            None
        }
        Err(KernelError::Failed { what: step, reason, .. })
            if step.starts_with("apt-get update") || step.starts_with("downloading") =>
        {
            println!("skipped: {what}: {step}: {reason}");
            None
        }
        Err(error) => panic!("{error}\n{}", error.log()),
    }
}
