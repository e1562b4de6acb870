// SPDX-License-Identifier: GPL-2.0-or-later
//! Who executes the guest's instructions in mode smp: KVM if it really runs this kernel.
//!
//! `/dev/kvm` may be there and still not run a stock kernel (a nested one for special guests
//! only), so a guest is booted as a trial. The answer is kept until the host is started again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Accelerator, Devices, Ending, Machine, Mode, VmError, args, jail, run};
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::guest::Guest;
use crate::kernel::Arch;

/// Raise it when the trial becomes another one.
const RECIPE: u32 = 2;
/// A guest that does nothing takes two seconds with KVM.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

/// The accelerator for this machine.
///
/// # Errors
/// If the image cannot be read or the guest for the trial cannot be made.
pub fn choose(lab: &Lab, machine: &Machine) -> Result<Accelerator, VmError> {
    Ok(match machine.mode {
        Mode::Exact => Accelerator::TcgExact,
        // A plugin sees what the translator translates.
        Mode::Smp { .. } if machine.plugin.is_none() && kvm_runs(lab, machine)? => Accelerator::Kvm,
        Mode::Smp { .. } => Accelerator::TcgMulti,
        Mode::Turns { .. } => Accelerator::TcgSingle,
    })
}

fn kvm_runs(lab: &Lab, machine: &Machine) -> Result<bool, VmError> {
    if Arch::host() != Some(machine.arch) || !jail::can_open_kvm() {
        return Ok(false);
    }
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let inputs = Inputs::of("trial of KVM", RECIPE)
        .file("image", &machine.image)?
        .value("host", boot_id.trim())
        .value("qemu", &qemu_version(machine.arch));
    let label = format!("kvm-{}", machine.arch);
    let product = Product { kind: "trial", label, inputs, resumable: false };
    let answer = |directory: &Path| directory.join("works");
    let made = lab.cache.product(&product, &lab.progress, |staging| {
        let works = trial(lab, machine)?;
        let path = answer(&staging.directory);
        fs::write(&path, works.to_string()).map_err(VmError::at(&path, "written"))
    })?;
    Ok(fs::read_to_string(answer(&made)).is_ok_and(|text| text == "true"))
}

fn trial(lab: &Lab, machine: &Machine) -> Result<bool, VmError> {
    lab.progress.note("trying whether KVM runs this kernel");
    let guest = Guest::without_modules(machine.arch).job("true").build(lab)?;
    let machine = Machine {
        append: String::new(),
        plugin: None,
        devices: Devices::default(),
        limit_host: TRIAL_LIMIT,
        ..machine.clone()
    };
    let outcome = run::run(lab, &machine, &guest, Accelerator::Kvm);
    Ok(outcome.is_ok_and(|outcome| outcome.ending == Ending::PoweredOff))
}

/// Whether this QEMU may execute the breakpoint of a patched jump after it was taken out: with
/// several threads, before 8.1 ("accel/tcg: Always lock pages before translation").
pub fn keeps_stale_breakpoints(arch: Arch, accelerator: Accelerator) -> bool {
    accelerator == Accelerator::TcgMulti && is_before_8_1(&qemu_version(arch))
}

fn is_before_8_1(version: &str) -> bool {
    let numbers = version.split_once("version ").map_or("", |(_, rest)| rest);
    let mut numbers = numbers.split(['.', ' ']).map_while(|word| word.parse::<u32>().ok());
    numbers.next().zip(numbers.next()).is_some_and(|numbers| numbers < (8, 1))
}

/// What QEMU says about itself; empty if it is not there.
fn qemu_version(arch: Arch) -> String {
    let output = Command::new(args::program(arch)).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}

#[test]
fn versions_of_qemu() {
    assert!(is_before_8_1("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"));
    assert!(is_before_8_1("QEMU emulator version 8.0.4"));
    assert!(!is_before_8_1("QEMU emulator version 8.1.0\nCopyright"));
    assert!(!is_before_8_1("QEMU emulator version 10.0.2"));
    assert!(!is_before_8_1(""));
}
