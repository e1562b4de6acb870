// SPDX-License-Identifier: GPL-2.0-or-later
//! The witness in guests with two CPUs: Linux 6.1 and 6.12 with PREEMPT_RT and without, where
//! irq threads, NAPI threads and kworkers carry paths, and tasks are moved while they wait.
//!
//! With `IRQPATH_RECORDER_LAB=1` only, as a guest takes minutes. Its clock counts instructions, so that
//! a program takes no longer there than on a processor. What is asserted are joins and CPUs.

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::Machine;
use irqpath_testing::guests::{self, PATIENT};

/// True if it was asked for: these guests take minutes.
fn asked(test: &str) -> bool {
    let asked = std::env::var_os("IRQPATH_RECORDER_LAB").is_some();
    if !asked {
        println!("skipped: {test}: IRQPATH_RECORDER_LAB is not set; this guest takes minutes");
    }
    asked
}

/// Paths that each kind of carrier has at least. In two seconds a device's thread and its kworker
/// carry 400 to 700, and the NIC's thread 80 to 500.
const MIN_CARRIED: u64 = 40;

/// The paths in a report of the witness that went through a carrier: `172 via thread @cpu`.
fn nr_carried(report: &str, carrier: &str) -> u64 {
    let paths = report.lines().filter_map(|line| line.trim().split_once(" via "));
    let carried = paths.filter(|(_, via)| via.split(['+', ' ']).any(|word| word == carrier));
    carried.filter_map(|(nr, _)| nr.parse::<u64>().ok()).sum()
}

/// A guest of a kernel. `second` is how the handler of the second device works, and `carrier` what
/// it makes of its paths.
fn compare(flavour: Flavour, second: &str, carrier: &str) {
    if !asked(&format!("the recorder in a guest with {flavour}")) {
        return;
    }
    let Some((lab, kernel)) = guests::provide_kernel(flavour, Arch::X86_64) else { return };
    let Some(intsight) = guests::build_intsight(&lab, &kernel) else { return };
    let mut guest = Guest::new(&kernel).file("/modules/intsight.ko", &intsight, 0o644);
    for name in ["waiter", "netping", "scenes"] {
        guest = guest.own_program(name);
    }
    for name in ["witness", "migration_load"] {
        guest = guest.program_file(name, &guests::example_binary(name));
    }
    let settings = format!("SECONDS_RECORDED=2\nSECOND={second}\n");
    let guest = guest.job(&(settings + include_str!("recorder.sh")));
    // See `scenes online`: Linux 6.1 waits for a second CPU in a way that QEMU 7.2 does not end.
    let append = if flavour == Flavour::Stock61 { "maxcpus=1 " } else { "" }.to_owned() + PATIENT;
    let machine = Machine {
        limit_host: guests::LIMIT,
        ..Machine::counted(&kernel, 2).append_parameters(&append)
    };
    let outcome =
        machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().require_success().unwrap();
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_default();
    let report = format!("{flavour} {second}: {}{}", text("report"), text("errors"));
    println!("{report}");
    assert_eq!(text("code").trim(), "0", "{report}{}", outcome.results.job_log());
    for carrier in [carrier, "napi"] {
        assert!(nr_carried(&report, carrier) >= MIN_CARRIED, "few by {carrier}: {report}");
    }
}

#[test]
fn paths_on_6_12_rt_are_what_was_recorded() {
    compare(Flavour::StockRt, "-T", "thread");
}

#[test]
fn paths_on_6_12_are_what_was_recorded() {
    compare(Flavour::Stock, "-W", "work");
}

#[test]
fn paths_on_6_1_are_what_was_recorded() {
    compare(Flavour::Stock61, "-W", "work");
}
