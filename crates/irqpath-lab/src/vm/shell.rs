// SPDX-License-Identifier: GPL-2.0-or-later
//! A guest for people: its console on this terminal, a shell instead of the job.
//!
//! QEMU itself puts the terminal into raw mode and back, so that Ctrl-c reaches the guest.

use std::process::Stdio;

use super::inherit::Inherited;
use super::memory::Memory;
use super::run::Qemu;
use super::{Accelerator, Machine, VmError, args, direct, jail, tsc};
use crate::Lab;
use crate::guest::Initramfs;

/// How to leave, for the one who starts it.
pub const HELP: &str = "exit or Ctrl-d switches the guest off, Ctrl-a x ends it at once, \
                        Ctrl-a c is QEMU's monitor";

/// Runs the guest until it is left.
pub fn run_shell(
    lab: &Lab,
    machine: &Machine,
    guest: &Initramfs,
    accelerator: Accelerator,
) -> Result<(), VmError> {
    let kernel = direct::choose_image(lab, machine, accelerator)?;
    let initramfs = Memory::with("initramfs", &guest.bytes)
        .map_err(VmError::at("memory".as_ref(), "reserved"))?;
    let mut inherited = Inherited::default();
    let run = args::Run {
        accelerator,
        kernel: &inherited.add_file(&kernel)?,
        initramfs: &inherited.add_memory(&initramfs)?,
        console: None,
        results: None,
        control: None,
        disk: None,
        plugin: None,
        sandbox: jail::has_sandbox(machine.arch),
        tsc_khz: tsc::known_khz(machine, accelerator),
    };
    lab.progress.print_note(HELP);
    let mut command = jail::qemu_command(machine.arch, accelerator);
    inherited.hand_to(&mut command);
    command.args(args::build_arguments(machine, &run)).stdin(Stdio::inherit());
    let status = Qemu::start(&mut command)?.wait()?;
    if status.success() {
        return Ok(());
    }
    Err(VmError::Qemu { log: format!("{status}; its message is above") })
}
