// SPDX-License-Identifier: GPL-2.0-or-later
//! The series on today's kernel: what `own.rs` does on 6.12.
//!
//! Its kernel takes 10 minutes to build on two cores, so this is done on request:
//! `IRQPATH_7X=1 cargo test -p irqpath-testing --test guests newest`.

use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::Machine;

use super::own::{
    ASSOCIATIONS, CONTROLS, PACKETS_AND_MEMORY, RULES, SHIELDED_LINE, SHIELDS, TWO_CPUS,
};
use super::scene::Scene;

fn newest(machine: fn(&Scene) -> Machine, variables: &str) {
    let Some(scene) = Scene::with(Flavour::Irqpath7x, Arch::X86_64) else { return };
    scene.run(machine(&scene), variables);
}

fn newest_selftest(machine: fn(&Scene) -> Machine, script: &str) {
    let Some(scene) = Scene::with(Flavour::Irqpath7x, Arch::X86_64) else { return };
    scene.selftest(machine(&scene), script);
}

#[test]
fn newest_exact() {
    newest(Scene::exact, "EXACT=1 RUNS=100 LOOPS=5");
}

#[test]
fn newest_on_two_cpus() {
    newest(Scene::turns, TWO_CPUS);
}

#[test]
fn newest_packets_and_memory() {
    newest(Scene::turns, PACKETS_AND_MEMORY);
}

/// Without the scene that moves an interrupt's thread: 7.2 refuses its affinity to taskset. One run of
/// three failed, in `irqpath_foreign_softirqs`: docs/kernel.md says with what figures.
#[test]
fn newest_rules() {
    newest(Scene::turns, &RULES.replace("irqpath_one_runner ", ""));
}

#[test]
fn newest_shields() {
    newest_selftest(|scene| scene.turns().append_parameters("nohz_full=1"), SHIELDS);
}

#[test]
fn newest_shielded_line() {
    newest(Scene::turns, SHIELDED_LINE);
}

#[test]
fn newest_controls() {
    newest_selftest(Scene::exact, CONTROLS);
}

#[test]
fn newest_associations() {
    newest_selftest(Scene::exact, ASSOCIATIONS);
}
