// SPDX-License-Identifier: GPL-2.0-or-later
//! The kernel with our policies, which `irqpath.sh` switches on under the module's device; on two CPUs
//! tasks and interrupts part. On request as `debug` is, which also has the faults that these lack.

use irqpath_lab::kernel::{Arch, Flavour};

use crate::scene::Scene;

#[test]
fn everything_on_irqpath() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.exact(), "EXACT=1 RUNS=100 LOOPS=5");
}

#[test]
fn policies_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    // Without irqpath_toggles: each switch patches code, and QEMU before 8.1 with several threads may
    // execute the breakpoint that stands there meanwhile.
    let tests = "irqpath_learns irqpath_respects_priority irqpath_selective_follows \
        irqpath_selective_obeys device_many_users kernel_log";
    scene.run(scene.smp(), &format!("TESTS='{tests}'"));
}

/// The tests of shield.sh.
pub const SHIELDS: &str = "TESTS='shield_files shield_tasks shield_moves shield_forks \
    shield_setaffinity shield_hotplug shield_storm shield_cpuset shield_irqs shield_ltmrs kernel_log'";

/// Each shield patches code when it is set and when it is lifted.
#[test]
fn shields_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::Irqpath, Arch::X86_64) else { return };
    scene.run(scene.turns().append("nohz_full=1"), SHIELDS);
}
