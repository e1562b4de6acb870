// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything, and loading and unloading twenty times, on the kernel that checks itself: lockdep,
//! KASAN, sleeping in atomic context, object debugging, kmemleak.
//!
//! Its kernel takes 10 to 20 minutes to build on two cores and checks everything it does, so this
//! is done on request: `IRQPATH_DEBUG=1 cargo test -p irqpath-testing --test guests debug`.

use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::Machine;

use super::own::{ASSOCIATIONS, CONTROLS, PACKETS_AND_MEMORY, RULES, SHIELDED_LINE, SHIELDS};
use super::scene::Scene;

/// The scene, and its machine with more memory: KASAN takes a share of it.
fn scene(machine: fn(&Scene) -> Machine) -> Option<(Scene, Machine)> {
    let scene = Scene::with(Flavour::Debug, Arch::X86_64)?;
    let machine = Machine { memory_mib: 2048, ..machine(&scene) };
    Some((scene, machine))
}

fn debug(machine: fn(&Scene) -> Machine, variables: &str) {
    let Some((scene, machine)) = scene(machine) else { return };
    scene.run(machine, variables);
}

fn debug_selftest(machine: fn(&Scene) -> Machine, script: &str) {
    let Some((scene, machine)) = scene(machine) else { return };
    scene.selftest(machine, script);
}

const EVERYTHING: &str = "LOOPS=20 RUNS=20 PPS=100 RTT=20000 SHIELD=no";

#[test]
fn debug_exact() {
    debug(Scene::exact, EVERYTHING);
}

/// Leaks do not depend on the number of CPUs, and looking for them makes every allocation slow.
#[test]
fn debug_smp() {
    debug(|scene| scene.smp().append_parameters("kmemleak=off"), EVERYTHING);
}

#[test]
fn debug_shields() {
    debug_selftest(|scene| scene.turns().append_parameters("kmemleak=off"), SHIELDS);
}

#[test]
fn debug_shielded_line() {
    debug(|scene| scene.turns().append_parameters("kmemleak=off"), SHIELDED_LINE);
}

#[test]
fn debug_controls() {
    debug_selftest(Scene::exact, CONTROLS);
}

#[test]
fn debug_associations() {
    debug_selftest(Scene::exact, ASSOCIATIONS);
}

#[test]
fn debug_packets_and_memory() {
    debug(|scene| scene.turns().append_parameters("kmemleak=off"), PACKETS_AND_MEMORY);
}

#[test]
fn debug_rules() {
    debug(|scene| scene.turns().append_parameters("kmemleak=off"), RULES);
}

/// A task that waits with a lock that its handler takes is found before it ever runs that handler.
#[test]
fn debug_inversion() {
    let Some((scene, machine)) = scene(Scene::exact) else { return };
    scene.run_into("possible circular locking dependency", machine, "TESTS=irqpath_inversion");
}

/// An offer that did not go with its action names what was freed.
#[test]
fn debug_withdraw() {
    let Some((scene, machine)) = scene(Scene::exact) else { return };
    scene.run_into("KASAN: slab-use-after-free", machine, "TESTS=irqpath_needs_withdraw");
}
