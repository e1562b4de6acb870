// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath lab shell`: a shell in a guest, with intsight and our programs in it.

use std::process::ExitCode;

use irqpath_lab::Lab;
use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Kernel, module};
use irqpath_lab::vm::Machine;

use super::args::LabShell;
use super::common::explain_kernel;
use crate::output::console;

/// Programs of `lab/guest` that are always there.
const OWN: &[&str] = &["hog", "prio", "truth", "waiter"];

pub fn run(lab: &Lab, arguments: &LabShell) -> anyhow::Result<ExitCode> {
    let kernel = Kernel::provide(lab, arguments.flavour, arguments.arch).map_err(explain_kernel)?;
    let source = lab.project.kernel().join("module/intsight");
    let module = module::build_module(lab, &kernel, &source, &[]).map_err(explain_kernel)?;
    let mut guest = Guest::new(&kernel).file("/modules/intsight.ko", &module, 0o644);
    for name in OWN {
        guest = guest.own_program(name);
    }
    for name in &arguments.programs {
        guest = guest.program(name);
    }
    let machine = match arguments.cpus {
        Some(cpus) => Machine::smp(&kernel, cpus),
        None => Machine::exact(&kernel),
    };
    lab.progress.clear_line();
    console::print_note("the module is /modules/intsight.ko; poweroff or ctrl-a x ends the guest");
    machine.run_shell(lab, &guest.build(lab)?)?;
    Ok(ExitCode::SUCCESS)
}
