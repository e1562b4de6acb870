// SPDX-License-Identifier: GPL-2.0-or-later
//! The ring of transitions: restated, gapless, delivered when a path needs it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::harness::{check, run};
use crate::output::{Chunk, chunks, heads};

/// Every transition that was delivered or is still in the ring, by CPU and number. Panics where
/// one number stands for two different transitions.
pub fn transitions(out: &str) -> BTreeMap<(u32, u64), String> {
    let mut all = BTreeMap::new();
    for Chunk { cpu, seq, entries } in chunks(out, "occ").into_iter().chain(chunks(out, "left")) {
        for (nr, entry) in (seq..).zip(entries) {
            let old = all.insert((cpu, nr), entry.clone());
            assert!(old.is_none_or(|old| old == entry), "CPU {cpu}, transition {nr}: {entry}");
        }
    }
    all
}

/// Asserts that nothing is missing and that each chunk begins with the running task.
pub fn complete(out: &str) {
    let all = transitions(out);
    for (cpu, head) in heads(out) {
        let mut last = 0;
        for nr in 0..head {
            let entry = all.get(&(cpu, nr)).unwrap_or_else(|| panic!("CPU {cpu} lacks {nr}"));
            let words: Vec<&str> = entry.split(':').collect();
            let ns: u64 = words[0].parse().expect("a time");
            assert!(ns >= last, "CPU {cpu}, transition {nr} goes back: {entry}");
            let tells_task = ["5", "6"].contains(&words[1]);
            assert!(nr % 64 != 0 || tells_task, "CPU {cpu}, {nr} restates no task: {entry}");
            last = ns;
        }
    }
}

/// `nr` hardirqs on CPU 0, two transitions each.
fn hardirqs(nr: u64) -> String {
    let one =
        |i| format!("0 {} irq_entry 7 1\n0 {} irq_exit 7 1\n", 1_000 + i * 10, 1_005 + i * 10);
    (0..nr).map(one).collect()
}

#[test]
fn every_kind_of_transition() {
    check(
        "0 100 irq_entry 42 1
         0 110 irq_exit 42 1
         0 115 vector_entry irq_work
         0 116 vector_exit irq_work
         0 120 softirq_entry 3
         0 130 softirq_exit 3
         0 140 switch 10",
        &["left"],
        "left 0 0 100 100:5:0:0:120:swapper/0 100:1:1:42 110:2:0:0 115:1:2:4 116:2:0:0 120:3:0:3 130:4:0:3 140:5:0:10:20:app",
    );
}

#[test]
fn without_a_path_nothing_is_delivered() {
    let Some(out) = run(&hardirqs(200)) else { return };
    assert!(chunks(&out, "occ").is_empty());
    complete(&out);
}

#[test]
fn when_recording_full_chunks_are_delivered_once() {
    let Some(out) = run(&format!("config record_all 1\n{}", hardirqs(200))) else { return };
    let delivered = chunks(&out, "occ");
    // 400 transitions; a task is restated at the start of each of the seven chunks, and in six of them a
    // hardirq that ends there.
    assert_eq!(delivered.iter().map(|c| c.seq).collect::<Vec<_>>(), [0, 64, 128, 192, 256, 320]);
    assert!(delivered.iter().all(|c| c.entries.len() == 64));
    assert_eq!(heads(&out)[&0], 413);
    complete(&out);
}

#[test]
fn a_chunk_restates_the_task_and_the_softirq() {
    let script = format!("0 900 switch 10\n0 950 softirq_entry 3\n{}", hardirqs(40));
    let Some(out) = run(&script) else { return };
    let left = chunks(&out, "left");
    assert_eq!(left[0].entries[..3], ["900:5:0:0:120:swapper/0", "900:5:0:10:20:app", "950:3:0:3"]);
    let begin: Vec<_> = left[1].entries[..2].iter().map(|e| e.split_once(':').unwrap().1).collect();
    assert_eq!(begin, ["5:0:10:20:app", "3:0:3"]);
    complete(&out);
}

#[test]
fn a_chunk_restates_the_hardirqs_that_it_begins_in() {
    for (nr, begin) in [
        // Begins with the exit of the innermost, and with the entry of the second.
        (30, &["5:0:0:120:swapper/0", "1:1:7", "1:1:8", "1:1:9", "2:0:0"][..]),
        (31, &["5:0:0:120:swapper/0", "1:1:7", "1:1:8"]),
    ] {
        let nested = "0 9000 irq_entry 7 1\n0 9001 irq_entry 8 1\n0 9002 irq_entry 9 1
            0 9003 irq_exit 9 1\n0 9004 irq_exit 8 1\n0 9005 irq_exit 7 1";
        let Some(out) = run(&format!("{}{nested}", hardirqs(nr))) else { return };
        let left = chunks(&out, "left");
        let second = left.iter().find(|chunk| chunk.seq == 64).unwrap();
        let entries = second.entries.iter().map(|e| e.split_once(':').unwrap().1);
        assert_eq!(entries.take(begin.len()).collect::<Vec<_>>(), begin, "{nr}");
        complete(&out);
    }
}

/// As a switch it would say that the task before ran until then.
#[test]
fn a_chunk_restates_an_unseen_task_as_unseen() {
    let hidden = "0 9000 switch 13\n0 9100 hidden 10\n0 9200 irq_entry 42 1\n0 9201 irq_exit 42 1";
    let Some(out) = run(&format!("{}{hidden}", hardirqs(31))) else { return };
    let left = chunks(&out, "left");
    let second = left.iter().find(|chunk| chunk.seq == 64).unwrap();
    assert_eq!(second.entries[..3], ["9200:6:0:10:20:app", "9200:6:0:10:20:app", "9200:1:1:42"]);
    complete(&out);
}

#[test]
fn a_ring_that_wraps_keeps_the_newest() {
    let Some(out) = run(&format!("config max_chunks 2\n{}", hardirqs(400))) else { return };
    let left: Vec<_> = chunks(&out, "left").iter().map(|c| c.seq).collect();
    assert_eq!((heads(&out)[&0], left), (825, vec![768, 704]));
}

#[test]
fn a_slow_path_brings_its_transitions_along() {
    let path = "
        0 50000 irq_entry 42 1
        0 50001 waking 12
        0 50002 irq_exit 42 1
        0 50010 switch 12";
    let script = format!("config threshold_ns 5\n{}{path}", hardirqs(10));
    let Some(out) = run(&script) else { return };
    let delivered = chunks(&out, "occ");
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].entries.last().unwrap(), "50010:5:0:12:120:faulter");
    let order: Vec<_> = out.lines().map(|l| l.split(' ').next().unwrap()).take(2).collect();
    assert_eq!(order, ["occ", "path"]);
}

#[test]
fn another_cpu_delivers_at_its_next_transition() {
    let mut script = String::from("config threshold_ns 5\n");
    let _ = write!(
        script,
        "0 100 irq_entry 42 1
         0 101 waking 12
         0 102 irq_exit 42 1
         1 110 switch 12
         0 200 switch 10
         0 210 switch 0 1
         0 220 switch 10"
    );
    let Some(out) = run(&script) else { return };
    let delivered = chunks(&out, "occ");
    assert_eq!(delivered.iter().map(|c| c.cpu).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(delivered[1].entries.last().unwrap(), "200:5:0:10:20:app");
    assert_eq!(delivered[1].entries.len(), 4);
}

#[test]
fn the_return_to_user_space_is_the_last_that_is_known() {
    let script = "
        config threshold_ns 5
        0 100 irq_entry 42 1
        0 101 waking 10
        0 102 irq_exit 42 1
        0 110 switch 10
        0 150 sys_exit";
    let Some(out) = run(script) else { return };
    let delivered = chunks(&out, "occ");
    assert_eq!(delivered[0].entries.last().unwrap(), "150:5:0:10:20:app");
}

#[test]
fn at_most_four_chunks_go_with_a_path() {
    let script = format!(
        "config threshold_ns 5
         0 100 irq_entry 42 1
         0 101 waking 12
         0 102 irq_exit 42 1
         {}0 99000 switch 12",
        hardirqs(400)
    );
    let Some(out) = run(&script) else { return };
    assert_eq!(chunks(&out, "occ").len(), 4);
    complete(&out);
}

#[test]
fn of_two_requests_at_once_the_earlier_is_kept() {
    let Some(out) = run("0 1 race_ask 100000\n") else { return };
    let line = out.lines().find(|l| l.starts_with("race ")).expect("a race");
    assert_eq!(line, "race kept=100000");
}
