// SPDX-License-Identifier: GPL-2.0-or-later
//! What a test needs to boot a guest.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, Kernel};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_lab::{Cache, Lab, Progress, Project};

/// A lab, a kernel, and a machine to run it.
pub struct Scene {
    pub lab: Lab,
    pub kernel: Kernel,
    pub machine: Machine,
}

impl Scene {
    /// Debian's 6.12 with PREEMPT_RT in mode exact; `None` after saying why there is none.
    pub fn exact(arch: Arch) -> Option<Self> {
        let found = Self::find(arch);
        if let Err(why) = &found {
            eprintln!("skipped: {why}");
        }
        found.ok()
    }

    fn find(arch: Arch) -> Result<Self, String> {
        let qemu = match arch {
            Arch::X86_64 => "qemu-system-x86_64",
            Arch::Arm64 => "qemu-system-aarch64",
        };
        runs(qemu)?;
        runs(&format!("{}gcc", arch.cross_prefix()))?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let project = Project::at(&root).ok_or("no project")?;
        let cache = Cache::locate().map_err(|e| e.to_string())?;
        let lab = Lab { project, cache, progress: Progress::hidden() };
        // Whether kernels can be provided is tested elsewhere.
        let kernel = Kernel::provide(&lab, Flavour::StockRt, arch).map_err(|e| e.to_string())?;
        let machine = Machine { limit_host: Duration::from_secs(240), ..Machine::exact(&kernel) };
        Ok(Self { lab, kernel, machine })
    }

    pub fn guest(&self) -> Guest {
        Guest::new(&self.kernel)
    }

    pub fn run(&self, guest: &Guest) -> Outcome {
        let initramfs = guest.build(&self.lab).unwrap();
        self.machine.run(&self.lab, &initramfs).unwrap()
    }

    pub fn job(&self, script: &str) -> Outcome {
        self.run(&self.guest().job(script))
    }
}

/// Whether a program is there.
pub fn runs(program: &str) -> Result<(), String> {
    let output = Command::new(program).arg("--version").output();
    output.map(drop).map_err(|e| format!("{program}: {e}"))
}
