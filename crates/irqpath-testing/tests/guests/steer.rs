// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune --packets --steer` in an exact guest with Debian's 6.12 and PREEMPT_RT, on the test
//! NIC with two receive queues.

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_testing::cli::release_binary;
use irqpath_testing::guests;

fn run() -> Option<Outcome> {
    let (lab, kernel) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64)?;
    let intsight = guests::build_intsight(&lab, &kernel)?;
    let guest = Guest::new(&kernel)
        .program_file("irqpath", &release_binary())
        .own_program("netsink")
        .file("/modules/intsight.ko", &intsight, 0o644)
        .job(include_str!("steer.sh"));
    let machine = Machine { limit_host: guests::LIMIT, ..Machine::exact(&kernel) };
    Some(machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().require_success().unwrap())
}

#[test]
fn each_receiver_of_a_nic_with_two_queues_gets_its_own_and_no_rule_is_left() {
    let Some(outcome) = run() else { return };
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_else(|e| e.to_string());
    let said = text("said");
    let names =
        ["dry", "threads", "steered", "status", "again", "alone", "watch", "reset", "after"];
    let show = |name: &&str| format!("== {name}\n{}", text(&format!("{name}.txt")));
    let context = names.iter().map(show).collect::<Vec<_>>().concat();
    eprintln!("{said}{context}");
    // Priorities of the threads of both queues, and which queues interrupt.
    for (when, want) in [
        ("dry run", "queue0"),
        // One queue has the packets of both, so that its thread is above the urgent one.
        ("threads", "41 0 queue0"),
        ("steered", "21 41 queue0 queue1"),
        ("again", "21 41 queue0 queue1"),
        // Packets for no receiver come by queue 0.
        ("alone", "0 21 queue0 queue1"),
        ("the watch was killed", "21 41 queue0 queue1"),
        ("reset", "0 0 queue0"),
    ] {
        let line = format!("{when}: {want}");
        assert!(said.lines().any(|l| l == line), "no '{line}' in:\n{said}{context}");
    }
    for (name, part) in [
        ("dry.txt", "udp port 5001: would come by queue 1"),
        ("dry.txt", "udp port 5000: would come by queue 0"),
        ("steered.txt", "udp port 5001: comes by queue 1 now"),
        ("status.txt", "udp port 5001 to queue 1"),
        ("again.txt", "udp port 5001: comes by queue 1 already"),
        ("again.txt", "steering of lo: it has no flow rules; ethtool -n lo would say: "),
        ("alone.txt", "no reason any more for: udp port 5001 to queue 1"),
        // A rule that was left would be one by hand.
        ("after.txt", "udp port 5001: would come by queue 1"),
        ("after.txt", "udp port 5000: would come by queue 0"),
        ("nothing.txt", "Nothing is tuned"),
    ] {
        assert!(text(name).contains(part), "{name} has no '{part}': {}", text(name));
    }
}
