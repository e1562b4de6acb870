// SPDX-License-Identifier: GPL-2.0-or-later
//! Timelines: nesting, PREEMPT_RT, holes, repairs, late and repeated blocks, pruning.

mod common;

use common::{DISK, NIC, block, hardirq, idle, softirq, switch, task, unseen};
use irqpath_analysis::{Occupant, Timeline, Timelines};
use irqpath_model::{
    Occupancy, Origin, SoftirqVec,
    Transition::{self, HardirqExit, NmiEnd, SoftirqExit, Stolen},
};

fn timeline(transitions: &[(u64, Transition)]) -> Timeline {
    let mut timeline = Timeline::default();
    timeline.ingest_block(block(0, transitions));
    timeline
}

/// The occupants of a window as (start, name), for comparison.
fn occupants(timeline: &Timeline, start: u64, end: u64) -> Vec<(u64, String)> {
    timeline
        .segments(start, end, start)
        .iter()
        .map(|segment| (segment.start_ns, name(&segment.occupant())))
        .collect()
}

fn name(occupant: &Occupant) -> String {
    match occupant {
        Occupant::Unknown => "-".to_owned(),
        Occupant::Unseen => "unseen".to_owned(),
        Occupant::Stolen => "stolen".to_owned(),
        Occupant::Nmi => "nmi".to_owned(),
        Occupant::Hardirq(origin) => origin.map_or("hardirq?".to_owned(), Origin::label),
        Occupant::Softirq(vec) => vec.map_or("softirq?".to_owned(), |v| v.name().to_owned()),
        Occupant::Task(task) => task.comm.to_string(),
    }
}

fn check(timeline: &Timeline, start: u64, end: u64, expected: &[(u64, &str)]) {
    let expected: Vec<_> = expected.iter().map(|&(ns, who)| (ns, who.to_owned())).collect();
    assert_eq!(occupants(timeline, start, end), expected);
}

#[test]
fn the_innermost_one_occupies_the_cpu() {
    let timeline = timeline(&[
        (10, switch(task(5, "a", 120))),
        (20, softirq(SoftirqVec::NetRx)),
        (30, hardirq(DISK)),
        (40, hardirq(NIC)),
        (48, NmiEnd { duration_ns: 4 }),
        (50, HardirqExit),
        (60, HardirqExit),
        (70, SoftirqExit),
        (80, switch(idle())),
    ]);
    check(
        &timeline,
        0,
        80,
        &[
            (0, "-"),
            (10, "a"),
            (20, "net_rx"),
            (30, "36"),
            (40, "40"),
            (44, "nmi"),
            (48, "40"),
            (50, "36"),
            (60, "net_rx"),
            (70, "a"),
        ],
    );
}

#[test]
fn on_preempt_rt_a_softirq_leaves_and_returns_with_its_task() {
    let timeline = timeline(&[
        (10, switch(task(5, "irq/36-x", 49))),
        (20, softirq(SoftirqVec::NetRx)),
        (30, switch(task(6, "urgent", 9))),
        (35, softirq(SoftirqVec::Timer)),
        (38, SoftirqExit),
        (40, switch(task(5, "irq/36-x", 49))),
        (50, SoftirqExit),
        (60, switch(idle())),
    ]);
    check(
        &timeline,
        10,
        60,
        &[
            (10, "irq/36-x"),
            (20, "net_rx"),
            (30, "urgent"),
            (35, "timer"),
            (38, "urgent"),
            (40, "net_rx"),
            (50, "irq/36-x"),
        ],
    );
}

#[test]
fn an_exit_without_entry_tells_what_ran_before() {
    // The softirq of task 5 began before the first transition; the hardirq within it is kept.
    let timeline = timeline(&[
        (10, switch(task(5, "a", 49))),
        (20, hardirq(DISK)),
        (30, HardirqExit),
        (40, SoftirqExit),
        (50, HardirqExit),
        (60, switch(idle())),
    ]);
    check(
        &timeline,
        10,
        60,
        &[(10, "softirq?"), (20, "36"), (30, "softirq?"), (40, "hardirq?"), (50, "a")],
    );
}

#[test]
fn an_interrupt_between_a_softirqs_time_and_its_number_does_not_delay_it() {
    let overtaken = [
        (10, switch(task(5, "a", 120))),
        // Read at 20 and numbered after two handlers, one of which was nested.
        (40, hardirq(DISK)),
        (50, hardirq(NIC)),
        (55, HardirqExit),
        (60, HardirqExit),
        (20, softirq(SoftirqVec::NetRx)),
        // The same at its end: an interrupt that the softirq's time does not contain.
        (80, Stolen { duration_ns: 3 }),
        (80, hardirq(DISK)),
        (85, HardirqExit),
        (70, SoftirqExit),
        (90, switch(idle())),
    ];
    let want = [
        (10, "a"),
        (20, "net_rx"),
        (40, "36"),
        (50, "40"),
        (55, "36"),
        (60, "net_rx"),
        (70, "a"),
        (77, "stolen"),
        (80, "36"),
        (85, "a"),
    ];
    check(&timeline(&overtaken), 10, 90, &want);

    // The same in pieces, late, and repeated.
    let whole = block(0, &overtaken);
    let mut pieces = Timeline::default();
    for range in [0..4, 7..11, 2..7, 0..11] {
        pieces.ingest_block(whole[range].to_vec());
    }
    check(&pieces, 10, 90, &want);
}

#[test]
fn a_softirq_is_not_delayed_by_a_handler_that_began_a_chunk() {
    let with_restated = |restated| {
        timeline(&[
            (10, switch(task(5, "a", 120))),
            (40, restated),
            (40, hardirq(DISK)),
            (60, HardirqExit),
            (20, softirq(SoftirqVec::NetRx)),
            (70, SoftirqExit),
            (90, switch(idle())),
        ])
    };
    let want = [(10, "a"), (20, "net_rx"), (40, "36"), (60, "net_rx"), (70, "a")];
    check(&with_restated(switch(task(5, "a", 120))), 10, 90, &want);
    // Another task is a real switch, which the softirq did not overtake.
    let other = with_restated(switch(task(6, "b", 120)));
    check(&other, 10, 90, &[(10, "a"), (40, "36"), (60, "net_rx"), (70, "b")]);
}

#[test]
fn no_transition_moves_before_half_a_handler_or_across_a_hole() {
    // The clock cannot have been read inside a handler that had begun; a switch is no handler.
    let half = timeline(&[
        (10, switch(task(5, "a", 120))),
        (20, hardirq(DISK)),
        (40, HardirqExit),
        (30, softirq(SoftirqVec::NetRx)),
        (60, switch(task(6, "b", 120))),
        (50, SoftirqExit),
        (70, switch(idle())),
    ]);
    check(&half, 10, 70, &[(10, "a"), (20, "36"), (40, "net_rx"), (60, "b")]);
    let mut holed = Timeline::default();
    let all = block(
        0,
        &[
            (10, switch(task(5, "a", 120))),
            (15, switch(task(5, "a", 120))),
            (30, hardirq(DISK)),
            (40, HardirqExit),
            (20, softirq(SoftirqVec::NetRx)),
            (50, SoftirqExit),
            (60, switch(idle())),
        ],
    );
    holed.ingest_block(all[..1].to_vec());
    holed.ingest_block(all[3..].to_vec());
    check(&holed, 40, 60, &[(40, "net_rx"), (50, "-")]);
}

#[test]
fn a_hole_is_not_explained_and_nothing_is_known_after_it() {
    let mut all = block(
        0,
        &[
            (10, switch(task(5, "a", 49))),
            (20, softirq(SoftirqVec::NetRx)),
            (30, SoftirqExit),
            (40, hardirq(DISK)),
            (50, HardirqExit),
            (60, switch(idle())),
            (70, hardirq(DISK)),
        ],
    );
    let lost = all.remove(2);
    let mut timeline = Timeline::default();
    timeline.ingest_block(all);
    check(&timeline, 10, 70, &[(10, "a"), (20, "-"), (40, "36"), (50, "-"), (60, "swapper/0")]);
    assert!(!timeline.covers_window(15, 65));
    assert!(timeline.covers_window(45, 65));
    timeline.ingest_block([lost]);
    check(
        &timeline,
        10,
        70,
        &[(10, "a"), (20, "net_rx"), (30, "a"), (40, "36"), (50, "a"), (60, "swapper/0")],
    );
    assert!(timeline.covers_window(15, 65));
    assert!(!timeline.covers_window(15, 71), "nothing later has arrived");
    assert!(!timeline.covers_window(5, 65), "the start is not known");
}

#[test]
fn only_a_recent_state_lasts_on() {
    let timeline = timeline(&[(10, switch(idle()))]);
    check(&timeline, 5, 30, &[(5, "-"), (10, "swapper/0")]);
    check(&timeline, 20, 30, &[(20, "-")]);
}

#[test]
fn windows_without_length_have_no_segments() {
    let mut timelines = Timelines::new();
    assert!(timelines.segments(3, 10, 10, 0).is_empty());
    timelines
        .ingest_block(block(3, &[(10, switch(idle())), (10, hardirq(DISK)), (10, HardirqExit)]));
    assert!(timelines.segments(3, 10, 10, 0).is_empty());
    assert_eq!(timelines.segments(3, 10, 11, 0).len(), 1);
    assert_eq!(timelines.segments(4, 10, 11, 0).len(), 1);
}

#[test]
fn many_late_and_repeated_blocks_end_in_the_same_timeline() {
    let transitions: Vec<(u64, Transition)> = (0..20_000u64)
        .map(|i| {
            let what = match i % 5 {
                0 => switch(task(i as u32 % 7, "t", 120)),
                1 => hardirq(DISK),
                2 => HardirqExit,
                3 => softirq(SoftirqVec::Timer),
                _ => SoftirqExit,
            };
            (i * 10, what)
        })
        .collect();
    let all = block(0, &transitions);
    let mut ordered = Timeline::default();
    ordered.ingest_block(all.clone());
    let mut mixed = Timeline::default();
    let blocks: Vec<&[Occupancy]> = all.chunks(100).collect();
    for pair in blocks.chunks(3) {
        for block in pair.iter().rev() {
            mixed.ingest_block(block.to_vec());
        }
        mixed.ingest_block(pair[0].to_vec());
    }
    assert_eq!(mixed.len(), ordered.len());
    assert_eq!(mixed.segments(0, 200_000, 0), ordered.segments(0, 200_000, 0));
}

#[test]
fn the_cap_takes_the_oldest_of_the_busiest_cpu() {
    let busy: Vec<_> = (0..1000).map(|i| (i * 10, switch(task(i as u32 % 3, "t", 120)))).collect();
    let mut timelines = Timelines::new();
    timelines.ingest_block(block(0, &busy));
    timelines.ingest_block(block(1, &busy[..100]));
    assert_eq!(timelines.shrink_to(2000), 0);
    assert_eq!(timelines.shrink_to(1000), 250);
    assert_eq!(timelines.len(), 850);
    assert_eq!(timelines.cpu(1).map(Timeline::len), Some(100));
    assert_eq!(timelines.shrink_to(0), 850);
    assert!(timelines.is_empty());
}

#[test]
fn around_a_switch_that_was_not_seen_no_task_is_named() {
    // Interrupts are known all the same, and so is the task that is found there.
    let timeline = timeline(&[
        (10, switch(task(5, "before", 120))),
        (20, switch(task(1, "init", 120))),
        (30, hardirq(DISK)),
        (40, HardirqExit),
        (50, unseen(task(6, "found", 120))),
        (50, hardirq(DISK)),
        (60, HardirqExit),
        (70, unseen(task(6, "found", 120))),
        (80, switch(idle())),
    ]);
    let want =
        [(10, "before"), (20, "unseen"), (30, "36"), (40, "unseen"), (50, "36"), (60, "found")];
    let got = occupants(&timeline, 10, 80);
    let merged: Vec<_> =
        got.iter().filter(|(ns, _)| *ns != 70).map(|(ns, w)| (*ns, w.as_str())).collect();
    assert_eq!(merged, want);
}

#[test]
fn a_chunk_that_begins_with_an_unseen_task_does_not_vouch_for_the_one_before() {
    let timeline = timeline(&[
        (20, switch(task(1, "init", 120))),
        (50, unseen(idle())),
        (50, unseen(idle())),
        (60, switch(task(5, "after", 120))),
        (70, switch(idle())),
    ]);
    check(&timeline, 20, 70, &[(20, "unseen"), (50, "swapper/0"), (60, "after")]);
}

#[test]
fn an_unseen_switch_in_a_late_block_is_found_all_the_same() {
    let all = block(
        0,
        &[
            (20, switch(task(1, "init", 120))),
            (30, hardirq(DISK)),
            (40, HardirqExit),
            (50, unseen(task(6, "found", 120))),
            (60, switch(idle())),
            (70, switch(task(5, "after", 120))),
        ],
    );
    let mut timeline = Timeline::default();
    timeline.ingest_block(all[..2].to_vec());
    timeline.ingest_block(all[4..].to_vec());
    check(&timeline, 20, 40, &[(20, "init"), (30, "-")]);
    timeline.ingest_block(all[2..4].to_vec());
    let want = [(20, "unseen"), (30, "36"), (40, "unseen"), (50, "found"), (60, "swapper/0")];
    check(&timeline, 20, 70, &want);
}

#[test]
fn stolen_time_is_the_last_part_before_the_transition_that_tells_it() {
    let timeline = timeline(&[
        (10, switch(task(5, "a", 120))),
        (40, Stolen { duration_ns: 25 }),
        (40, hardirq(DISK)),
        (50, Stolen { duration_ns: 4 }),
        (50, HardirqExit),
        (60, switch(idle())),
    ]);
    let want = [(10, "a"), (15, "stolen"), (40, "36"), (46, "stolen"), (50, "a")];
    check(&timeline, 10, 60, &want);
    check(&timeline, 20, 30, &[(20, "stolen")]);
    // A chunk restates the task at the very time at which the stolen time is told.
    let restated = block(
        0,
        &[
            (10, switch(task(5, "a", 120))),
            (40, switch(task(5, "a", 120))),
            (40, Stolen { duration_ns: 25 }),
            (60, switch(idle())),
        ],
    );
    let mut timeline = Timeline::default();
    timeline.ingest_block(restated);
    check(&timeline, 10, 60, &[(10, "a"), (15, "stolen"), (40, "a")]);
}

#[test]
fn stolen_time_says_nothing_about_the_layers_below_it() {
    // Of the hardirq only the exit was seen: it ran since the switch, while the CPU was there.
    let timeline = timeline(&[
        (10, switch(task(5, "a", 49))),
        (30, Stolen { duration_ns: 10 }),
        (30, HardirqExit),
        (40, softirq(SoftirqVec::NetRx)),
        (50, hardirq(NIC)),
        (70, Stolen { duration_ns: 15 }),
        (70, HardirqExit),
        (80, SoftirqExit),
        (90, switch(idle())),
    ]);
    let want = [
        (10, "hardirq?"),
        (20, "stolen"),
        (30, "a"),
        (40, "net_rx"),
        (50, "40"),
        (55, "stolen"),
        (70, "net_rx"),
        (80, "a"),
    ];
    check(&timeline, 10, 90, &want);
}

#[test]
fn stolen_time_is_forgotten_with_its_transition() {
    let mut timeline = timeline(&[
        (10, switch(task(5, "a", 120))),
        (40, Stolen { duration_ns: 20 }),
        (50, hardirq(DISK)),
        (60, Stolen { duration_ns: 5 }),
        (60, HardirqExit),
        (70, switch(idle())),
    ]);
    timeline.drop_front(2);
    check(&timeline, 10, 70, &[(10, "-"), (50, "36"), (55, "stolen"), (60, "a")]);
}
