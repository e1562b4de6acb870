// SPDX-License-Identifier: GPL-2.0-or-later
//! Users who undo each change of their own tasks, to keep root from undoing a shield.

use super::*;

const JOURNAL: &str = "var/lib/irqpath/shield.journal";

/// A stranger's tasks, which take all CPUs again whenever they were moved.
fn crowd(nr: u32) -> (Fake, FakeAccess) {
    // As long as a line can be made by a name.
    let name = "\u{1}".repeat(15);
    let fake = (0..nr).fold(machine(), |fake, n| fake.task(1000 + n, 1, &name, "0-3", 0));
    let mut access = FakeAccess::new(&fake);
    access.restless = (0..nr).map(|n| (1000 + n, "0-3")).collect();
    (fake, access)
}

fn journal_bytes(fake: &Fake) -> u64 {
    std::fs::metadata(fake.host().path(JOURNAL)).unwrap().len()
}

#[test]
fn a_crowd_that_undoes_each_move_neither_fills_the_journal_nor_keeps_root_from_a_reset() {
    const CROWD: u32 = 2000;
    let (fake, access) = crowd(CROWD);
    let host = fake.host();
    let done = set(&host, &access, &only("2-3", &[Switch::Tasks])).unwrap();
    let contested = done.obstacles.iter().find(|o| o.kind == ObstacleKind::Contested).unwrap();
    assert!(contested.label.ends_with(" and 1999 other tasks"), "{}", contested.label);
    // What one line for each task takes.
    let least = u64::from(CROWD) * 250;
    let after_set = journal_bytes(&fake);
    for _ in 0..3 {
        repair(&host, &access).unwrap().unwrap();
    }
    let after_repairs = journal_bytes(&fake);
    assert!(after_set < 4 * least && after_repairs < 4 * least, "{after_set} {after_repairs}");
    let reset = reset(&host, &access).unwrap();
    assert!(reset.was_set && reset.undone.left.is_empty(), "{:?}", reset.undone.left.len());
    assert!(!host.path(JOURNAL).exists());
    assert_eq!((affinity(&fake, 1000), affinity(&fake, 40)), ("0-3".into(), "0-3".into()));
}

#[test]
fn tasks_that_ended_are_forgotten_before_they_fill_the_journal() {
    let (fake, mut access) = crowd(1200);
    let (host, wanted) = (fake.host(), only("2-3", &[Switch::Tasks]));
    access.restless.clear();
    set(&host, &access, &wanted).unwrap();
    assert!(status(&host, &access).unwrap().held > 1200);
    for tid in 1000..2200 {
        std::fs::remove_dir_all(host.path(format!("proc/{tid}"))).unwrap();
    }
    repair(&host, &access).unwrap().unwrap();
    let held = status(&host, &access).unwrap().held;
    assert!((1..100).contains(&held), "{held}");
    // Those who live are still known.
    reset(&host, &access).unwrap();
    assert_eq!(affinity(&fake, 40), "0-3");
}
