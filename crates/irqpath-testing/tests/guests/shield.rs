// SPDX-License-Identifier: GPL-2.0-or-later
//! Shields in guests with four CPUs: after a shield, hotplug, an interrupt that somebody retargets, two
//! at once, and SIGKILL at every `STRIDE`-th write, every value must be as before.
//!
//! `shield.sh` is what runs in the guest; `lab/guest/hoststate.c` compares. With
//! `IRQPATH_SHIELD_STRIDE=1` every single write is tried, on cgroup version 2, version 1 and none, and
//! again in storms of forks, interrupts retargeted and CPUs off and on. Without KVM that takes long,
//! and with `--release` less than half as long.

use std::time::Duration;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_testing::cli::release_binary;
use irqpath_testing::guests::{self, PATIENT};

/// Every how many writes a kill is tried, unless the environment says otherwise.
const STRIDE: u32 = 60;

/// How `set` names the shield of a kernel that has one.
const KERNEL: &str = "the kernel (/proc/shield)";

/// What takes too long for every day. True if it was asked for.
fn asked(test: &str) -> bool {
    let asked = std::env::var_os("IRQPATH_SHIELD_STRIDE").is_some();
    if !asked {
        eprintln!("skipped: {test}: IRQPATH_SHIELD_STRIDE is not set; these guests take minutes");
    }
    asked
}

/// Kill at every `STRIDE`-th write. Each kernel begins elsewhere, so that together they meet more.
fn kills(flavour: Flavour, version: &str, first: u32) -> Option<Outcome> {
    let asked = std::env::var("IRQPATH_SHIELD_STRIDE").ok().and_then(|n| n.parse::<u32>().ok());
    let stride = asked.unwrap_or(STRIDE);
    let first = 1 + first % stride;
    let parameters = if version == "off" { "cgroup_disable=cpuset" } else { "" };
    run(
        flavour,
        parameters,
        &format!("VERSION={version}\nSTRIDE={stride}\nFIRST={first}\nSTORM=0\n"),
    )
}

/// Kill in storms.
fn storms(flavour: Flavour, version: &str) -> Option<Outcome> {
    run(flavour, "", &format!("VERSION={version}\nSTRIDE=0\nSTORM=3\n"))
}

fn run(flavour: Flavour, parameters: &str, settings: &str) -> Option<Outcome> {
    let (lab, kernel) = guests::provide_kernel(flavour, Arch::X86_64)?;
    let guest = Guest::new(&kernel)
        .program_file("irqpath", &release_binary())
        .own_program("killat")
        .own_program("hoststate")
        .own_program("forks")
        .own_program("threads")
        .job(&(settings.to_owned() + include_str!("shield.sh")));
    let long = std::env::var_os("IRQPATH_SHIELD_STRIDE").is_some();
    let limit = |seconds| Duration::from_secs(if long { 7200 } else { seconds });
    let machine = Machine {
        limit_host: limit(1500),
        limit_guest: Some(limit(1200)),
        ..Machine::smp(&kernel, 4).append_parameters(PATIENT).append_parameters(parameters)
    };
    let outcome = machine.run(&lab, &guest.build(&lab).unwrap()).unwrap();
    let said = |name| outcome.results.file_text(name).unwrap_or_default();
    eprintln!("{}{}", said("checks"), said("failures"));
    Some(outcome.require_success().unwrap())
}

/// What must hold on every kernel and every version of cgroups.
fn holds(outcome: &Outcome, mechanism: &str) {
    let text = |name: &str| outcome.results.file_text(name).unwrap();
    assert_eq!(text("failures"), "", "set: {}\nstatus: {}", text("set.txt"), text("status.txt"));
    let checks = text("checks");
    for check in ["refused", "hotplug", "somebody changed", "two at once"] {
        assert!(checks.contains(check), "{checks}");
    }
    let set = text("set.txt");
    assert!(set.starts_with(&format!("Shielded CPU 2-3 by {mechanism}")), "{set}");
    let run = text("run.txt");
    assert!(run.contains("Cpus_allowed_list:\t3\n"), "{run}");
    assert!(run.contains("policy 1 priority 80"), "{run}");
    assert!(!run.contains("VmLck:\t       0 kB"), "{run}");
}

/// The same after every kill.
fn holds_killed(outcome: &Outcome, mechanism: &str) {
    holds(outcome, mechanism);
    let text = |name: &str| outcome.results.file_text(name).unwrap();
    let number = |name: &str| text(name).trim().parse::<u32>().unwrap();
    let checks = text("checks");
    assert!(checks.contains("of set") && checks.contains("of reset"), "{checks}");
    eprintln!("{} tasks, killed {} times\n{}", number("nr_tasks"), number("kills"), text("writes"));
    assert!(number("kills") >= 4, "{checks}");
}

/// The same after every storm.
fn holds_storms(outcome: &Outcome, mechanism: &str) {
    holds(outcome, mechanism);
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_default();
    assert!(text("checks").contains("after storm 3"), "{}", text("checks"));
    let nr_hotplugs = text("hotplugs").lines().count();
    for forked in text("forked").lines() {
        let (nr, ms) = forked.split_once(' ').unwrap();
        let rate = nr.parse::<u64>().unwrap() * 1_000 / ms.parse::<u64>().unwrap();
        eprintln!("storm: {rate} forks per second for {ms} ms");
    }
    eprintln!("a CPU off and on {nr_hotplugs} times");
}

#[test]
fn version_2() {
    let Some(outcome) = kills(Flavour::Stock, "v2", 1) else { return };
    holds_killed(&outcome, "cgroup partition");
    let text = |name: &str| outcome.results.file_text(name).unwrap();
    assert!(text("run.txt").contains("0::/irqpath.shield/run"), "{}", text("run.txt"));
    assert!(text("checks").contains("after an attached unit"), "{}", text("checks"));
    assert!(
        text("attached.txt").contains("/system.slice/motor.service"),
        "{}",
        text("attached.txt")
    );
    let threads = text("threads.txt");
    assert!(threads.contains("irqpath.cpu3 with task"), "{threads}");
    assert!(text("checks").contains("after the process of a thread ended"), "{}", text("checks"));
}

#[test]
fn storms_on_version_2() {
    if !asked("storms on version 2") {
        return;
    }
    let Some(outcome) = storms(Flavour::Stock, "v2") else { return };
    holds_storms(&outcome, "cgroup partition");
}

#[test]
fn version_2_with_the_controller_off() {
    if !asked("shields on version 2 with the controller off") {
        return;
    }
    let Some(outcome) = kills(Flavour::StockRt, "bare", 12) else { return };
    holds_killed(&outcome, "cgroup partition");
}

#[test]
fn version_2_without_the_controller() {
    if !asked("shields on version 2 without the controller") {
        return;
    }
    let Some(outcome) = kills(Flavour::Stock, "off", 12) else { return };
    holds_killed(&outcome, "affinities");
}

#[test]
fn version_1() {
    if !asked("shields on version 1") {
        return;
    }
    // Debian's 6.12 has no cpusets of version 1; its 6.1 has.
    let Some(outcome) = kills(Flavour::Stock61Rt, "v1", 24) else { return };
    holds_killed(&outcome, "affinities");
}

#[test]
fn storms_on_version_1() {
    if !asked("storms on version 1") {
        return;
    }
    let Some(outcome) = storms(Flavour::Stock61Rt, "v1") else { return };
    holds_storms(&outcome, "affinities");
}

#[test]
fn no_cgroups() {
    if !asked("shields without cgroups") {
        return;
    }
    let Some(outcome) = kills(Flavour::Stock, "none", 36) else { return };
    holds_killed(&outcome, "affinities");
}

#[test]
fn storms_without_cgroups() {
    if !asked("storms without cgroups") {
        return;
    }
    let Some(outcome) = storms(Flavour::Stock, "none") else { return };
    holds_storms(&outcome, "affinities");
}

#[test]
fn the_kernels_own() {
    if !asked("shields of the kernel") {
        return;
    }
    let Some(outcome) = kills(Flavour::Irqpath, "kernel", 48) else { return };
    holds_killed(&outcome, KERNEL);
}

#[test]
fn storms_on_the_kernels_own() {
    if !asked("storms on the kernel's own shield") {
        return;
    }
    let Some(outcome) = storms(Flavour::Irqpath, "kernel") else { return };
    holds_storms(&outcome, KERNEL);
}
