// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath respond` beside cyclictest, and `irqpath jitter` beside oslat and sysjitter, on this
//! machine. On request (`IRQPATH_LIVE_PEERS=1`): a quiet one is needed, which a machine that builds
//! and tests is not. In an exact guest, `guests/respond.rs` of irqpath-testing compares them. Each program runs for a second in turn, several times; the medians of their medians are
//! compared, and only if the peer's own ones lie close together. One test at a time: all use the
//! same CPU with the same priority.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a panic fails a test, which says what it skips

use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use irqpath_testing::cli::{irqpath, is_installed, is_root};
use irqpath_testing::peers::{
    INTERVAL_US, cyclictest, cyclictest_median, median, oslat_over, sysjitter_count,
};
use serde_json::Value;

/// Turns of each program.
const NR_TURNS: usize = 7;

/// Asks for these tests.
const ASKED: &str = "IRQPATH_LIVE_PEERS";

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The machine for one test; `None`, said aloud, where that cannot be.
fn quiet_machine(test: &str, peer: &str) -> Option<MutexGuard<'static, ()>> {
    if std::env::var_os(ASKED).is_none() {
        println!("skipped: {test} needs a quiet machine: set {ASKED}=1 on one");
        return None;
    }
    if !is_root(test) {
        return None;
    }
    if !is_installed(peer) {
        println!("skipped: {peer} is not installed");
        return None;
    }
    Some(ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// The CPU that `irqpath` chooses by itself: the last one.
fn chosen_cpu() -> String {
    let output = irqpath().args(["respond", "-d", "50ms", "--json"]).output().unwrap();
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    all["summary"]["response"][0]["cpu"].to_string()
}

fn run_for_stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The middle half of them lies within this.
fn middle_spread(all: &[u64]) -> u64 {
    let mut all = all.to_vec();
    all.sort_unstable();
    all[all.len() * 3 / 4] - all[all.len() / 4]
}

#[test]
fn respond_and_cyclictest_agree_within_a_microsecond() {
    let Some(_machine) = quiet_machine("respond_and_cyclictest_agree", "cyclictest") else {
        return;
    };
    let cpu = chosen_cpu();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let hz = (1_000_000 / INTERVAL_US).to_string();
    for _ in 0..NR_TURNS {
        theirs.push(cyclictest_median(&run_for_stdout(
            Command::new("sh").arg("-c").arg(cyclictest(&cpu, 1)),
        )));
        let arguments = ["respond", "-f", &hz, "-d", "1s", "--cpus", &cpu, "--json"];
        let output = irqpath().args(arguments).output().unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        ours.push(all["summary"]["response"][0]["quantiles"]["q50_ns"].as_u64().unwrap());
    }
    println!("medians, ns: respond {ours:?}, cyclictest {theirs:?}");
    let noise = middle_spread(&theirs).max(middle_spread(&ours));
    if noise > 500 {
        println!(
            "skipped: this machine is too busy, medians differ by {noise} ns from turn to turn"
        );
        return;
    }
    let apart = median(ours).abs_diff(median(theirs));
    assert!(apart <= 1_000, "{apart} ns apart");
}

/// Interruptions of this length and more are counted, us.
const LEAST_US: u64 = 10;

/// Counts those of a second by `irqpath jitter` and by a peer in turn, and
/// compares the medians where the peer agrees with itself.
fn jitter_counts_as(peer: &str, command: &mut Command, cpu: &str, count: impl Fn(&str) -> u64) {
    let threshold = LEAST_US.to_string();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..NR_TURNS {
        theirs.push(count(&run_for_stdout(command)));
        let arguments = ["jitter", "--continuous", "--no-causes", "-d", "1s", "-T", &threshold];
        let output = irqpath().args(arguments).args(["--cpus", cpu, "--json"]).output().unwrap();
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        let n = &all["summary"]["jitter"][0]["interruptions"]["quantiles"]["n"];
        ours.push(n.as_u64().unwrap());
    }
    println!(
        "interruptions of {LEAST_US} us and more in a second: jitter {ours:?}, {peer} {theirs:?}"
    );
    let noise = middle_spread(&theirs);
    let (ours, theirs) = (median(ours), median(theirs));
    if noise * 3 > theirs || theirs < 20 {
        println!("skipped: this machine is too busy, or too quiet: {peer} differs by {noise}");
        return;
    }
    assert!(ours * 2 >= theirs && ours <= theirs * 2, "jitter {ours}, {peer} {theirs} a second");
}

#[test]
fn jitter_and_oslat_count_the_same_interruptions() {
    let Some(_machine) = quiet_machine("jitter_and_oslat_count", "oslat") else { return };
    let cpu = chosen_cpu();
    let mut oslat = Command::new("oslat");
    oslat.args(["--cpu-list", &cpu, "--rtprio", "80", "-D", "1s", "-b", "32"]);
    jitter_counts_as("oslat", &mut oslat, &cpu, |text| oslat_over(text, LEAST_US));
}

/// sysjitter is in no distribution: <https://github.com/Xilinx-CNS/cns-sysjitter>, in the `PATH`.
/// It runs as an ordinary task: under FIFO its thread and the one that waits for it never end.
#[test]
fn jitter_and_sysjitter_count_the_same_interruptions() {
    let Some(_machine) = quiet_machine("jitter_and_sysjitter_count", "sysjitter") else { return };
    let cpu = chosen_cpu();
    let threshold_ns = (LEAST_US * 1000).to_string();
    let mut sysjitter = Command::new("sysjitter");
    sysjitter.args(["--runtime", "1", "--cores", &cpu, &threshold_ns]);
    jitter_counts_as("sysjitter", &mut sysjitter, &cpu, sysjitter_count);
}
