// SPDX-License-Identifier: GPL-2.0-or-later
//! Debian's kernels: everything on 6.12, on arm64 with PREEMPT_RT only; a selection on arm64 without
//! it, on 6.1, on the newest and on two CPUs.

use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_testing::cli::{is_installed, is_root};

use super::scene::Scene;

/// Something of every part of the module.
const SHORT: &str = "TESTS='only_init_at_first files thesis_script parameters no_delay overflow \
    writers_serialise killed unload_while_running device_names device_waits device_priorities \
    device_wrong_state nic_round_trip nic_unload_while_flying nic_queues kernel_log'";
/// What is about several things at once.
const CONCURRENT: &str = "TESTS='writers_serialise concurrent_writers killed_in_queue \
    reader_stays load_loop device_waits device_close_asleep device_carried device_many_users \
    device_unload_under_reader nic_overflow nic_burst nic_unload_while_flying unload_busy_loop \
    kernel_log' LOOPS=5";

/// In mode exact also the times are checked.
fn exact(flavour: Flavour, arch: Arch, variables: &str) {
    let Some(scene) = Scene::with(flavour, arch) else { return };
    scene.run(scene.exact(), &format!("EXACT=1 RUNS=100 LOOPS=5 {variables}"));
}

#[test]
fn everything_on_stock_rt_x86_64() {
    exact(Flavour::StockRt, Arch::X86_64, "");
}

#[test]
fn everything_on_stock_x86_64() {
    exact(Flavour::Stock, Arch::X86_64, "");
}

#[test]
fn everything_on_stock_rt_arm64() {
    exact(Flavour::StockRt, Arch::Arm64, "");
}

#[test]
fn a_selection_on_stock_arm64() {
    exact(Flavour::Stock, Arch::Arm64, SHORT);
}

#[test]
fn a_selection_on_stock_6_1_rt() {
    exact(Flavour::Stock61Rt, Arch::X86_64, SHORT);
}

#[test]
fn a_selection_on_stock_6_1() {
    exact(Flavour::Stock61, Arch::X86_64, SHORT);
}

/// Its module is built in a Debian of its suite.
#[test]
fn a_selection_on_the_newest_rt() {
    if !is_root("a_selection_on_the_newest_rt") {
        return;
    }
    if !is_installed("debootstrap") {
        println!("skipped: a_selection_on_the_newest_rt: debootstrap is not installed");
        return;
    }
    let scene = Scene::with(Flavour::StockSidRt, Arch::X86_64);
    if scene.is_some_and(|scene| scene.has_module()) {
        exact(Flavour::StockSidRt, Arch::X86_64, SHORT);
    }
}

#[test]
fn what_is_concurrent_on_two_cpus() {
    let Some(scene) = Scene::with(Flavour::StockRt, Arch::X86_64) else { return };
    scene.run(scene.smp().append_parameters("idle=poll"), CONCURRENT);
}

/// A CPU that polls when idle is called without an interrupt.
#[test]
fn a_line_on_a_cpu_that_polls() {
    let Some(scene) = Scene::with(Flavour::StockRt, Arch::X86_64) else { return };
    scene.run(scene.smp().append_parameters("idle=poll"), "TESTS='from_every_cpu kernel_log'");
}
