// SPDX-License-Identifier: GPL-2.0-or-later
//! Somebody fills the path table: shares, the rows "others", and what always has room.

use std::fmt::Write as _;

use crate::harness::run;

/// Of `bpf/irqpath.h`.
const MAX_PATHS: usize = 1_024;
const USERS_SHARE: usize = 640;
/// What one user takes before another comes: as much as is left then.
const USER_SHARE: usize = USERS_SHARE / 2;
const NAME_SHARE: usize = 128;
const TASK_SHARE: usize = 96;

/// A script, with its own time.
struct Script {
    text: String,
    now: u64,
}

impl Script {
    fn new(settings: &str) -> Self {
        Self { text: format!("config no_user 1\n{settings}\n"), now: 100 }
    }

    /// A path of `irq` to `tid`, which has this name and user.
    fn path(&mut self, irq: u32, tid: u32, comm: &str, uid: u32) {
        self.path_of(irq, tid, comm, &uid.to_string());
    }

    /// The same of a user, and of whom the user belongs to.
    fn path_of(&mut self, irq: u32, tid: u32, comm: &str, user: &str) {
        let (at, end) = (self.now, self.now + 9);
        let _ = write!(
            self.text,
            "task {tid} {comm} fault\nuid {tid} {user}\n0 {at} irq_entry {irq} 1\n\
             0 {at} waking {tid}\n0 {at} irq_exit {irq} 1\n\
             0 {end} switch {tid}\n0 {end} switch 0 1\n"
        );
        self.now += 100;
    }

    /// Rows with their name and how many paths they hold, and how many paths were folded.
    fn rows(&self) -> Option<(Vec<(String, u64)>, u64)> {
        let out = run(&self.text)?;
        let mut rows: Vec<(String, u64)> = Vec::new();
        let mut folded = 0;
        for line in out.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["stat", origin, comm, ..] => rows.push((format!("{origin} {comm}"), 0)),
                ["hist", "total", nr, ..] => {
                    let nr = nr.strip_prefix("nr=").expect("nr").parse().expect("a number");
                    rows.last_mut().expect("a row has its total").1 = nr;
                }
                ["folded", nr] => folded = nr.parse().expect("a number"),
                ["loss", ..] => panic!("nothing is lost: {line}"),
                _ => {}
            }
        }
        Some((rows, folded))
    }
}

fn named(rows: &[(String, u64)], part: &str) -> usize {
    rows.iter().filter(|(name, _)| name.contains(part)).count()
}

#[test]
fn a_task_that_renames_itself_has_its_share_and_the_rest_is_folded() {
    let mut script = Script::new("");
    for nr in 0..1_500 {
        script.path(42, 30, &format!("evil{nr}"), 1_000);
    }
    // The same user's next task, another user's, and root's.
    for (tid, uid) in [(31, 1_000), (32, 1_001), (33, 0)] {
        script.path(42, tid, &format!("good{tid}"), uid);
    }
    let Some((rows, folded)) = script.rows() else { return };
    assert_eq!((named(&rows, "evil"), named(&rows, "good")), (TASK_SHARE, 3));
    assert_eq!(folded, 1_500 - TASK_SHARE as u64);
    let others: Vec<_> = rows.iter().filter(|(name, _)| name.ends_with("(others)")).collect();
    assert_eq!(others, [&("irq:42 (others)".to_owned(), folded)]);
}

#[test]
fn a_user_of_many_tasks_leaves_room_to_others() {
    let mut script = Script::new("");
    for nr in 0..2_000 {
        script.path(42, 10 + nr % 50, &format!("evil{nr}"), 1_000);
    }
    script.path(42, 61, "good", 1_001);
    let Some((rows, _)) = script.rows() else { return };
    assert_eq!((named(&rows, "evil"), named(&rows, "good")), (USER_SHARE, 1));
}

#[test]
fn some_users_together_leave_room_to_another() {
    let mut script = Script::new("");
    for uid in 1_000..1_008 {
        for nr in 0..600 {
            script.path(42, 10 + nr % 50, &format!("e{uid}.{nr}"), uid);
        }
    }
    script.path(42, 61, "good", 2_000);
    let Some((rows, _)) = script.rows() else { return };
    let taken: Vec<usize> = (1_000..1_008).map(|uid| named(&rows, &format!("e{uid}"))).collect();
    assert_eq!(taken, [320, 160, 80, 40, 20, 10, 5, 3]);
    assert_eq!(named(&rows, "good"), 1);
}

#[test]
fn the_users_that_belong_to_one_have_his_share() {
    let mut script = Script::new("");
    for nr in 0..2_000 {
        let (tid, sub_uid) = (10 + nr % 50, 100_000 + nr);
        script.path_of(42, tid, &format!("evil{nr}"), &format!("{sub_uid} 1000"));
    }
    script.path(42, 61, "good", 1_001);
    let Some((rows, _)) = script.rows() else { return };
    assert_eq!((named(&rows, "evil"), named(&rows, "good")), (USER_SHARE, 1));
}

#[test]
fn all_users_together_leave_room_to_root() {
    let mut script = Script::new("");
    for nr in 0..2_000 {
        script.path(42, 10 + nr % 50, &format!("evil{nr}"), 1_000 + nr);
    }
    script.path(42, 61, "late", 4_000);
    script.path(42, 62, "root", 0);
    let Some((rows, _)) = script.rows() else { return };
    assert_eq!(named(&rows, "evil"), USERS_SHARE);
    assert_eq!((named(&rows, "late"), named(&rows, "root")), (0, 1));
}

#[test]
fn every_origin_has_its_row_of_others_when_the_table_is_full() {
    let mut script = Script::new("");
    for nr in 0..1_500 {
        script.path(42, 10 + nr % 50, &format!("r{nr}"), 0);
    }
    for irq in 100..356 {
        script.path(irq, 61, "served", 0);
    }
    let Some((rows, folded)) = script.rows() else { return };
    let others = named(&rows, "(others)");
    assert_eq!((rows.len() - others, others), (MAX_PATHS, 257));
    assert_eq!(rows.iter().map(|(_, nr)| nr).sum::<u64>(), 1_756, "each path is in a row");
    assert_eq!(folded, 1_756 - MAX_PATHS as u64);
}

#[test]
fn a_name_on_256_lines_is_seen_on_all_if_a_filter_names_it() {
    for (filter, want) in [("", NAME_SHARE), ("config comm served", 256)] {
        let mut script = Script::new(filter);
        for nr in 0..500 {
            script.path(42, 30, &format!("evil{nr}"), 1_000);
        }
        for irq in 100..356 {
            // Not one task: that has a share of its own.
            script.path(irq, 40 + irq % 20, "served", 1_000);
        }
        let Some((rows, folded)) = script.rows() else { return };
        assert_eq!(named(&rows, "served"), want, "{filter}");
        assert_eq!(folded == 0, !filter.is_empty(), "{filter}: {folded}");
    }
}
