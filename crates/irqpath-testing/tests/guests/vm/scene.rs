// SPDX-License-Identifier: GPL-2.0-or-later
//! What a test needs to boot a guest.

use irqpath_lab::Lab;
use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, Kernel};
use irqpath_lab::vm::{Machine, Outcome};

use irqpath_testing::guests;

/// A lab, a kernel, and a machine to run it.
pub struct Scene {
    pub lab: Lab,
    pub kernel: Kernel,
    pub machine: Machine,
}

impl Scene {
    /// Debian's 6.12 with PREEMPT_RT in mode exact; `None` after saying why there is none.
    pub fn exact(arch: Arch) -> Option<Self> {
        let (lab, kernel) = guests::provide_kernel(Flavour::StockRt, arch)?;
        let machine = Machine { limit_host: guests::LIMIT, ..Machine::exact(&kernel) };
        Some(Self { lab, kernel, machine })
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
