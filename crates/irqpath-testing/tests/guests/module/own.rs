// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel with our policies, which `irqpath.sh` switches on under the module's device; on two CPUs
//! tasks and interrupts part. And the kernel's own selftests of them, which need no module.

use irqpath_lab::kernel::{Arch, Flavour};

use super::scene::Scene;

#[test]
fn everything_on_irqpath() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.exact(), "EXACT=1 RUNS=100 LOOPS=5");
}

#[test]
fn policies_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    // Switches patch code: virtual CPUs with a thread each may execute the breakpoint meanwhile.
    scene.run(scene.turns(), TWO_CPUS);
}

pub const TWO_CPUS: &str = "TESTS='irqpath_learns irqpath_migrates irqpath_direct \
    irqpath_direct_migrates irqpath_respects_priority irqpath_toggles irqpath_selective_follows \
    irqpath_selective_obeys device_carried device_many_users netprio_off_in_flood kernel_log'";

/// Packets that wait when their device goes, and address spaces that are another CPU's, too. The tests that
/// count what waits are for one CPU: a second one that is free serves it at once, as it should.
pub const PACKETS_AND_MEMORY: &str =
    "TESTS='netprio_unload irqpath_las_memory irqpath_las_swap kernel_log'";

#[test]
fn packets_and_memory_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.turns(), PACKETS_AND_MEMORY);
}

/// The rules that take two CPUs, and that their tests fail without them.
pub const RULES: &str = "TESTS='irqpath_one_runner irqpath_foreign_softirqs irqpath_moved \
    irqpath_needs_runner irqpath_needs_foreign irqpath_needs_affinity kernel_log'";

#[test]
fn rules_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.turns(), RULES);
}

/// The test of shields that needs the module's device.
pub const SHIELDED_LINE: &str = "TESTS='shield_irqs kernel_log'";
/// The selftests of shields.
pub const SHIELDS: &str = "shield.sh";
/// The selftests of what can be switched and set.
pub const CONTROLS: &str = "controls.sh";
/// Those of associations by hand, and of what shows them.
pub const ASSOCIATIONS: &str = "associations.sh";

/// Each shield patches code when it is set and when it is lifted.
#[test]
fn shields_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.selftest(scene.turns().append_parameters("nohz_full=1"), SHIELDS);
}

#[test]
fn a_shielded_line_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.turns(), SHIELDED_LINE);
}

#[test]
fn controls() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.selftest(scene.exact(), CONTROLS);
}

#[test]
fn associations() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.selftest(scene.exact(), ASSOCIATIONS);
}
