// SPDX-License-Identifier: GPL-2.0-or-later
//! Shields in guests with four CPUs: after a shield, hotplug, an interrupt that somebody retargets, two
//! at once, and SIGKILL at every `STRIDE`-th write, every value must be as before.
//!
//! `shield_lab.sh` is what runs in the guest; `lab/guest/hoststate.c` compares. With
//! `IRQPATH_SHIELD_STRIDE=1` every single write is tried, on cgroup version 2, version 1 and none, and
//! again in storms of forks, interrupts retargeted and CPUs off and on; without KVM that takes long.

#![allow(clippy::unwrap_used)] // a panic is how a test fails

#[path = "../../irqpath-lab/tests/common/mod.rs"]
mod common;

use std::time::Duration;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Machine, Outcome};

/// Every how many writes a kill is tried, unless the environment says otherwise.
const STRIDE: u32 = 60;

/// How `set` names the shield of a kernel that has one.
const KERNEL: &str = "the kernel (/proc/shield)";

/// What a guest needs whose host has no time for it: a busy host is not what is tested.
const PATIENT: &str = "no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300";

/// What takes too long for every day. True if it was asked for.
fn asked(test: &str) -> bool {
    let asked = std::env::var_os("IRQPATH_SHIELD_STRIDE").is_some();
    if !asked {
        eprintln!("skipped: {test}: IRQPATH_SHIELD_STRIDE is not set; these guests take minutes");
    }
    asked
}

fn run(flavour: Flavour, version: &str, first: u32) -> Option<Outcome> {
    let (lab, kernel) = common::kernel(flavour, Arch::X86_64)?;
    let all = std::env::var("IRQPATH_SHIELD_STRIDE").ok().and_then(|n| n.parse::<u32>().ok());
    let (stride, storms) = all.map_or((STRIDE, 0), |stride| (stride, 3));
    // Each kernel begins elsewhere, so that together they meet more of the writes.
    let settings = format!(
        "VERSION={version}\nSTRIDE={stride}\nFIRST={}\nLAST=100000\nSTORM={storms}\n",
        1 + first % stride
    );
    let guest = Guest::new(&kernel)
        .program_file("irqpath", &assert_cmd::cargo::cargo_bin("irqpath"))
        .own_program("killat")
        .own_program("hoststate")
        .own_program("forks")
        .job(&(settings + include_str!("shield_lab.sh")));
    let limit = |seconds| Duration::from_secs(if all.is_some() { 7200 } else { seconds });
    let machine = Machine {
        limit_host: limit(1500),
        limit_guest: Some(limit(1200)),
        ..Machine::smp(&kernel, 4).append(PATIENT)
    };
    let outcome = machine.run(&lab, &guest.build(&lab).unwrap()).unwrap();
    let said = |name| outcome.results.text(name).unwrap_or_default();
    eprintln!("{}{}", said("checks"), said("failures"));
    Some(outcome.checked().unwrap())
}

/// What must hold on every kernel and every version of cgroups.
fn holds(outcome: &Outcome, mechanism: &str) {
    let text = |name: &str| outcome.results.text(name).unwrap();
    let number = |name: &str| text(name).trim().parse::<u32>().unwrap();
    assert_eq!(text("failures"), "", "set: {}\nstatus: {}", text("set.txt"), text("status.txt"));
    let checks = text("checks");
    for check in ["hotplug", "somebody changed", "two at once", "of set", "of reset"] {
        assert!(checks.contains(check), "{checks}");
    }
    let writes = text("writes");
    eprintln!("{} tasks, killed {} times\n{writes}", number("nr_tasks"), number("kills"));
    // Who kills needs seccomp, which our own kernel is built without.
    assert!(mechanism == KERNEL || number("kills") >= 4, "{checks}");
    let storms = outcome.results.text("forked").unwrap_or_default();
    for forked in storms.lines() {
        let (nr, ms) = forked.split_once(' ').unwrap();
        let rate = nr.parse::<u64>().unwrap() * 1_000 / ms.parse::<u64>().unwrap();
        let nr_hotplugs = outcome.results.text("hotplugs").unwrap_or_default().lines().count();
        eprintln!(
            "storm: {rate} forks per second for {ms} ms, a CPU off and on {nr_hotplugs} times"
        );
    }
    let set = text("set.txt");
    assert!(set.starts_with(&format!("Shielded CPU 2-3 by {mechanism}")), "{set}");
    let run = text("run.txt");
    assert!(run.contains("Cpus_allowed_list:\t3\n"), "{run}");
    assert!(run.contains("policy 1 priority 80"), "{run}");
    assert!(!run.contains("VmLck:\t       0 kB"), "{run}");
}

#[test]
fn version_2() {
    let Some(outcome) = run(Flavour::Stock, "v2", 1) else { return };
    holds(&outcome, "cgroup partition");
    let run = outcome.results.text("run.txt").unwrap();
    assert!(run.contains("0::/irqpath.shield/run"), "{run}");
}

#[test]
fn version_2_without_the_controller() {
    if !asked("shields on version 2 without the controller") {
        return;
    }
    let Some(outcome) = run(Flavour::StockRt, "bare", 12) else { return };
    holds(&outcome, "cgroup partition");
}

#[test]
fn version_1() {
    if !asked("shields on version 1") {
        return;
    }
    // Debian's 6.12 has no cpusets of version 1; its 6.1 has.
    let Some(outcome) = run(Flavour::Stock61Rt, "v1", 24) else { return };
    holds(&outcome, "affinities");
}

#[test]
fn no_cgroups() {
    if !asked("shields without cgroups") {
        return;
    }
    let Some(outcome) = run(Flavour::Stock, "none", 36) else { return };
    holds(&outcome, "affinities");
}

#[test]
fn the_kernels_own() {
    if !asked("shields of the kernel") {
        return;
    }
    let Some(outcome) = run(Flavour::Irqpath, "kernel", 48) else { return };
    holds(&outcome, KERNEL);
}
