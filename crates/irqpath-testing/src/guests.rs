// SPDX-License-Identifier: GPL-2.0-or-later
//! Guests: the project's lab, its kernels, and irqpath as it runs in them.
//!
//! A test is skipped where a program, the archive or the network is missing. Anything else that
//! goes wrong fails it.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use irqpath_lab::kernel::{Arch, Flavour, Kernel, KernelError, module};
use irqpath_lab::{Cache, Lab, Progress, Project};

use crate::cli::{is_installed, project_root, target_directory};

/// For a guest that takes seconds on two quiet cores, and much longer beside other suites.
pub const LIMIT: Duration = Duration::from_secs(1500);

/// Kernel parameters for a guest whose host has no time for it: a busy host is not what is tested.
pub const PATIENT: &str = "no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300";

/// Set to 0 it leaves out the tests for which a kernel of ours would have to be built.
const OWN_KERNEL: &str = "IRQPATH_OWN_KERNEL";

/// The project's lab, with the cache of this user.
pub fn open_lab() -> Lab {
    Lab {
        project: Project::at(&project_root()).unwrap(),
        cache: Cache::locate().unwrap(),
        progress: Progress::hidden(),
    }
}

/// The lab and a kernel for guests; `None` after saying why there is none.
pub fn provide_kernel(flavour: Flavour, arch: Arch) -> Option<(Lab, Kernel)> {
    let what = format!("guests with {flavour} for {arch}");
    if !flavour.is_stock() && env::var_os(OWN_KERNEL).is_some_and(|value| value == "0") {
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
    let lab = open_lab();
    let kernel = or_skip(&what, Kernel::provide(&lab, flavour, arch))?;
    Some((lab, kernel))
}

/// The module intsight for this kernel.
pub fn build_intsight(lab: &Lab, kernel: &Kernel) -> Option<PathBuf> {
    or_skip(
        "intsight",
        module::build_module(lab, kernel, &lab.project.module_source("intsight"), &[]),
    )
}

/// An example of the crate irqpath, for guests.
pub fn example_binary(name: &str) -> PathBuf {
    let path = target_directory().join("debug/examples").join(name);
    assert!(path.exists(), "no {}; run cargo build -p irqpath --examples", path.display());
    path
}

/// The result; `None`, said aloud, where this machine cannot have it.
pub fn or_skip<T>(what: &str, result: Result<T, KernelError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(
            error @ (KernelError::NoApt { .. }
            | KernelError::MissingProgram { .. }
            | KernelError::NoMirror { .. }
            | KernelError::NoBuildRoot { .. }),
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
