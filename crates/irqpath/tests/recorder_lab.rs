// SPDX-License-Identifier: GPL-2.0-or-later
//! The witness in guests with two CPUs: Linux 6.1 and 6.12 with PREEMPT_RT and without, where
//! irq threads, NAPI threads and kworkers carry paths, and tasks are moved while they wait.
//!
//! With `IRQPATH_RECORDER_LAB=1` only, as a guest takes minutes. Its clock counts instructions, so that
//! a program takes no longer there than on a processor. What is asserted are joins and CPUs.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic is how a test fails; it says what it skipped

#[path = "../../irqpath-lab/tests/common/mod.rs"]
mod common;

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, module};
use irqpath_lab::vm::Machine;

/// What a guest needs whose host has no time for it: a busy host is not what is tested.
const PATIENT: &str = "no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300";

fn program(guest: Guest, name: &str) -> Guest {
    let test = std::env::current_exe().unwrap();
    let target = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = target.join("examples").join(name);
    assert!(path.exists(), "no {}; run cargo build -p irqpath --examples", path.display());
    guest.program_file(name, &path)
}

/// True if it was asked for: these guests take minutes.
fn asked(test: &str) -> bool {
    let asked = std::env::var_os("IRQPATH_RECORDER_LAB").is_some();
    if !asked {
        println!("skipped: {test}: IRQPATH_RECORDER_LAB is not set; this guest takes minutes");
    }
    asked
}

/// A guest of a kernel. `second` is how the handler of the second device works.
fn compare(flavour: Flavour, second: &str) {
    if !asked(&format!("the recorder in a guest with {flavour}")) {
        return;
    }
    let Some((lab, kernel)) = common::kernel(flavour, Arch::X86_64) else { return };
    let source = lab.project.module("intsight");
    let module = module::build(&lab, &kernel, &source, &[]);
    let Some(intsight) = common::or_skip("intsight", module) else { return };
    let mut guest = Guest::new(&kernel).file("/modules/intsight.ko", &intsight, 0o644);
    for name in ["waiter", "netping", "scenes"] {
        guest = guest.own_program(name);
    }
    for name in ["witness", "migration_load"] {
        guest = program(guest, name);
    }
    let settings = format!("SECONDS_RECORDED=2\nSECOND={second}\n");
    let guest = guest.job(&(settings + include_str!("recorder_lab.sh")));
    // See `scenes online`: Linux 6.1 waits for a second CPU in a way that QEMU 7.2 does not end.
    let append = if flavour == Flavour::Stock61 { "maxcpus=1 " } else { "" }.to_owned() + PATIENT;
    let machine =
        Machine { limit_host: common::LIMIT, ..Machine::counted(&kernel, 2).append(&append) };
    let outcome = machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().checked().unwrap();
    let text = |name: &str| outcome.results.text(name).unwrap_or_default();
    let report = format!("{flavour} {second}: {}{}", text("report"), text("errors"));
    println!("{report}");
    assert_eq!(text("code").trim(), "0", "{report}{}", outcome.results.job_log());
}

#[test]
fn paths_on_6_12_rt_are_what_was_recorded() {
    compare(Flavour::StockRt, "-T");
}

#[test]
fn paths_on_6_12_are_what_was_recorded() {
    compare(Flavour::Stock, "-W");
}

#[test]
fn paths_on_6_1_are_what_was_recorded() {
    compare(Flavour::Stock61, "-W");
}
