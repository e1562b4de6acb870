// SPDX-License-Identifier: GPL-2.0-or-later
//! Who executes the guest's instructions in mode smp: KVM if it really runs this kernel.
//!
//! `/dev/kvm` may be there and still not run a stock kernel (a nested one for special guests
//! only), so a guest is booted as a trial. The answer is kept until the host is started again.

use std::path::Path;
use std::time::Duration;

use super::version;
use super::{Accelerator, Devices, Ending, Machine, Mode, VmError, jail, run};
use crate::Lab;
use crate::cache::{Inputs, Product};
use crate::guest::Guest;
use crate::kernel::Arch;
use crate::own;

/// Raise it when the trial becomes another one.
const RECIPE: u32 = 2;
/// A guest that does nothing takes two seconds with KVM.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

/// The accelerator for this machine.
///
/// # Errors
/// If the image cannot be read or the guest for the trial cannot be made.
pub fn choose_accelerator(lab: &Lab, machine: &Machine) -> Result<Accelerator, VmError> {
    Ok(match machine.mode {
        Mode::Exact => Accelerator::TcgExact,
        // A plugin sees what the translator translates.
        Mode::Smp { .. } if machine.plugin.is_none() && kvm_runs(lab, machine)? => Accelerator::Kvm,
        Mode::Smp { .. } => Accelerator::TcgMulti,
        Mode::Turns { .. } => Accelerator::TcgSingle,
        Mode::Counted { .. } => Accelerator::TcgCounted,
    })
}

fn kvm_runs(lab: &Lab, machine: &Machine) -> Result<bool, VmError> {
    if Arch::host() != Some(machine.arch) || !jail::can_open_kvm() {
        return Ok(false);
    }
    let boot_id = own::read_text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let inputs = Inputs::new("trial of KVM", RECIPE)
        .file("image", &machine.image)?
        .value("host", boot_id.trim())
        .value("qemu", &version::query_text(machine.arch));
    let label = format!("kvm-{}", machine.arch);
    let product = Product { kind: "trial", label, inputs, resumable: false };
    let answer = |directory: &Path| directory.join("works");
    let made = lab.cache.provide_product(&product, &lab.progress, |staging| {
        let works = try_kvm(lab, machine)?;
        let path = answer(&staging.directory);
        own::write(&path, works.to_string()).map_err(VmError::at(&path, "write"))
    })?;
    Ok(own::read_text(answer(&made)).is_ok_and(|text| text == "true"))
}

fn try_kvm(lab: &Lab, machine: &Machine) -> Result<bool, VmError> {
    lab.progress.print_note("trying whether KVM runs this kernel");
    let guest = Guest::without_modules(machine.arch).job("true").build(lab)?;
    let machine = Machine {
        append: String::new(),
        plugin: None,
        devices: Devices::default(),
        limit_host: TRIAL_LIMIT,
        ..machine.clone()
    };
    let outcome = run::run_guest(lab, &machine, &guest, Accelerator::Kvm);
    Ok(outcome.is_ok_and(|outcome| outcome.ending == Ending::PoweredOff))
}
