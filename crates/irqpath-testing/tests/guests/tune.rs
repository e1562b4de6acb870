// SPDX-License-Identifier: GPL-2.0-or-later
//! `irqpath tune --apply --watch` in an exact guest with Debian's 6.12 and PREEMPT_RT: tasks that
//! come, change and go, a driver that is loaded again, an administrator who interferes, and a watch
//! that is killed. What it gains is measured by the experiment tune-timer.

use irqpath_lab::guest::Guest;
use irqpath_lab::kernel::{Arch, Flavour};
use irqpath_lab::vm::{Machine, Outcome};
use irqpath_testing::cli::release_binary;
use irqpath_testing::guests;
use serde_json::Value;

fn run() -> Option<Outcome> {
    let (lab, kernel) = guests::provide_kernel(Flavour::StockRt, Arch::X86_64)?;
    let intsight = guests::build_intsight(&lab, &kernel)?;
    let guest = Guest::new(&kernel)
        .program_file("irqpath", &release_binary())
        .own_program("waiter")
        .own_program("prio")
        .own_program("netsink")
        .file("/modules/intsight.ko", &intsight, 0o644)
        .job(include_str!("tune.sh"));
    let machine = Machine { limit_host: guests::LIMIT, ..Machine::exact(&kernel) };
    Some(machine.run(&lab, &guest.build(&lab).unwrap()).unwrap().require_success().unwrap())
}

#[test]
fn the_watch_follows_what_happens_and_leaves_what_others_set() {
    let Some(outcome) = run() else { return };
    let text = |name: &str| outcome.results.file_text(name).unwrap_or_else(|e| e.to_string());
    let (said, watch) = (text("said"), text("watch.json"));
    let context = ["watch.err", "packets.txt"].map(text).concat() + &outcome.results.job_log();
    let context = format!("{watch}{context}");
    eprintln!("{said}");
    // Priorities of the threads of intsight0 and intsight1.
    for (when, want) in [
        ("begin", "50 50"),
        ("pinned, no task yet", "50 50"),
        ("unpinned", "50 50"),
        ("pinned at boot", "91 50"),
        ("learned nothing of it", "91 50"),
        ("the pin wins", "91 0"),
        ("no pin", "50 50"),
        ("selective, no task", "0 0"),
        ("selective, a task", "81 0"),
        ("selective, the task is gone", "0 0"),
        ("selective, the driver again", "0 0"),
        ("selective, another task", "81 0"),
        ("selective, reset", "50 50"),
        ("selective, long checks", "0 0"),
        ("selective, at once", "81 0"),
        ("selective, reset again", "50 50"),
        ("the other one by hand", "50 33"),
        ("served", "81 33"),
        ("the task's priority", "76 33"),
        ("the task is gone", "50 33"),
        ("another task", "71 33"),
        ("the driver again", "61 50"),
        ("set by hand", "90 50"),
        ("reset", "90 50"),
        ("a second watch", "81 50"),
        ("the watch was killed", "81 50"),
        ("the next one", "50 50"),
        // Threaded NAPI, and the priority of its thread.
        ("a NIC", "1 0"),
        ("a receiver", "1 61"),
        ("no receiver", "1 0"),
        ("another NIC", "1 0"),
        ("another receiver", "1 61"),
        ("switched back by hand", "0 61"),
        ("NIC, reset", "0 0"),
    ] {
        let line = format!("{when}: {want}");
        assert!(said.lines().any(|l| l == line), "no '{line}' in:\n{said}{context}");
    }
    for name in ["never.txt", "never-still.txt"] {
        let count = text(name).split_whitespace().nth(1).map(str::to_owned);
        assert_eq!(count.as_deref(), Some("0"), "its interrupt came: {}", text(name));
    }
    let selective = text("selective.txt");
    let stays =
        selective.lines().any(|l| l.starts_with("stays real-time: ") && l.contains("pinned"));
    assert!(stays && selective.contains("wakes no real-time task"), "{selective}");
    let documents: Vec<Value> =
        watch.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(documents.len() >= 5, "one for each change: {watch}");
    assert!(documents[0]["learned"]["associations"].is_array());
    let taken = |d: &Value| d["applied"]["taken_back"].as_array().is_some_and(|t| !t.is_empty());
    assert!(documents.iter().any(taken), "{watch}");
    let by_hand = |d: &Value| {
        let left = d["plan"]["left"].as_array().cloned().unwrap_or_default();
        left.iter().any(|l| l["thread"]["priority"] == 33 && l["why"] == "set_by_hand")
    };
    assert!(by_hand(&documents[0]), "what was set by hand is named: {watch}");
    for (name, part) in [
        ("status.txt", "changed by others to f:90"),
        ("reset.txt", "somebody else made it f:90"),
        ("again.txt", "Nothing is tuned"),
    ] {
        assert!(text(name).contains(part), "{name}: {}", text(name));
    }
}
