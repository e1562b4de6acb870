// SPDX-License-Identifier: GPL-2.0-or-later
//! The oldest and the newest kernel that Debian has, with PREEMPT_RT and without: every program loads
//! and attaches, paths are joined, `tune` learns, a shield is set and undone.
//!
//! `kernels.sh` is what runs in a guest with two CPUs. For arm64 `scripts/arm64.sh` builds the binary.

use std::path::Path;

use irqpath_lab::Lab;
use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour, Kernel};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_model::{Origin, Point, Summary, Vector};
use irqpath_testing::cli::{release_binary, target_directory};
use irqpath_testing::guests::{self, PATIENT};

fn run(lab: &Lab, kernel: &Kernel, binary: &Path) -> Option<Outcome> {
    let mut guest = Guest::new(kernel)
        .program_file("irqpath", binary)
        .own_program("waiter")
        .own_program("hoststate")
        .job(include_str!("kernels.sh"));
    if kernel.build.is_some() {
        let intsight = guests::build_intsight(lab, kernel)?;
        guest = guest.module_file(&intsight, "nr_devices=1");
    }
    let machine =
        Machine { limit_host: guests::LIMIT, ..Machine::smp(kernel, 2).append_parameters(PATIENT) };
    Some(machine.run(lab, &guest.build(lab).unwrap()).unwrap().require_success().unwrap())
}

/// What must hold on every kernel; `missing` are the tracepoints that it lacks.
fn holds(kernel: &Kernel, outcome: &Outcome, missing: &[&str]) {
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_default();
    let all = ["trace", "tune", "check", "failures"].map(text).join("\n");
    let context = format!("{}\n{all}\n{}", kernel.release, outcome.results.job_log());
    assert_eq!(text("failures"), "", "{context}");
    let summary: Summary = serde_json::from_str(&text("summary.json")).expect(&context);
    let lacks: Vec<&str> = summary.missing.iter().map(|m| m.what.as_str()).collect();
    assert_eq!(lacks, missing, "{context}");
    let timer = |origin: Origin| match kernel.arch {
        Arch::X86_64 => origin == Origin::Vector(Vector::LocalTimer),
        Arch::Arm64 => matches!(origin, Origin::Irq(_)),
    };
    let joined = |target: &str, origin: &dyn Fn(Origin) -> bool| {
        summary.traced().paths.iter().any(|path| {
            let stages = path.stages.iter().map(|s| s.stage);
            path.key.comm.to_string() == target
                && origin(path.key.origin)
                && stages.clone().any(|s| s == Point::Waking)
                && stages.clone().any(|s| s == Point::User)
        })
    };
    assert!(joined("irqpath", &timer), "no timer is joined to the task it wakes: {context}");
    let names = if kernel.build.is_some() {
        let device = |origin| matches!(origin, Origin::Irq(_));
        assert!(joined("waiter", &device), "no line is joined to the task it wakes: {context}");
        ["irqpath", "waiter"].as_slice()
    } else {
        &["irqpath"]
    };
    for name in names {
        assert!(text("tune").contains(name), "tune did not learn {name}: {context}");
    }
    assert!(text("check").contains("virtual machine (QEMU)"), "{context}");
    eprintln!("{}: {} paths, missing {lacks:?}", kernel.release, summary.traced().paths.len());
}

fn on(flavour: Flavour, missing: &[&str]) {
    let Some((lab, kernel)) = guests::provide_kernel(flavour, Arch::X86_64) else { return };
    if let Some(outcome) = run(&lab, &kernel, &release_binary()) {
        holds(&kernel, &outcome, missing);
    }
}

/// The same on arm64, with a binary for it that links its libraries statically.
fn on_arm64(flavour: Flavour) {
    let binary = target_directory().join("aarch64-unknown-linux-gnu/debug/irqpath");
    if !binary.is_file() {
        println!(
            "skipped: guests with {flavour} for arm64: scripts/arm64.sh has built no irqpath for them"
        );
        return;
    }
    let Some((lab, kernel)) = guests::provide_kernel(flavour, Arch::Arm64) else { return };
    if let Some(outcome) = run(&lab, &kernel, &binary) {
        holds(&kernel, &outcome, &[]);
    }
}

/// Linux 6.4 has it.
const OLD: [&str; 1] = ["tracepoint ipi_send_cpu"];

#[test]
fn the_oldest() {
    on(Flavour::Stock61, &OLD);
}

#[test]
fn the_oldest_with_preempt_rt() {
    on(Flavour::Stock61Rt, &OLD);
}

#[test]
fn the_one_of_debian_12_and_13() {
    on(Flavour::Stock, &[]);
}

#[test]
fn the_one_of_debian_12_and_13_with_preempt_rt() {
    on(Flavour::StockRt, &[]);
}

#[test]
fn the_newest() {
    on(Flavour::StockSid, &[]);
}

#[test]
fn the_newest_with_preempt_rt() {
    on(Flavour::StockSidRt, &[]);
}

#[test]
fn arm64_with_preempt_rt() {
    on_arm64(Flavour::StockRt);
}

#[test]
fn arm64_the_newest_with_preempt_rt() {
    on_arm64(Flavour::StockSidRt);
}
