// SPDX-License-Identifier: GPL-2.0-or-later
//! Users who undo each change of their own tasks, to keep root from undoing a shield.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use irqpath_model::shield::ObstacleKind;

use super::*;

const JOURNAL: &str = "var/lib/irqpath/shield.journal";

/// A stranger's tasks, which take all CPUs again whenever they were moved.
fn crowd(nr: u32) -> (Fake, FakeAccess) {
    // As long as a line can be made by a name.
    let name = "\u{1}".repeat(15);
    let fake = (0..nr).fold(machine(), |fake, n| fake.with_task(1000 + n, 1, &name, "0-3", 0));
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
    let moves = |w: &&String| w.starts_with("affinity 1000:");
    assert_eq!(access.written.borrow().iter().filter(moves).count(), 1);
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

/// Makes rounds of 300 ms, with a new task in each, and counts them. Tells `begun` of the first.
fn storm(host: &Host, begun: mpsc::Sender<()>) -> (FakeAccess, Rc<Cell<u32>>) {
    let (nr, counted) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let mut access = FakeAccess::for_host(host);
    let (from, count) = (host.path("proc/1000"), counted.clone());
    let round = move || {
        let tid = 2000 + nr.replace(nr.get() + 1);
        let to = from.with_file_name(tid.to_string());
        std::fs::create_dir_all(to.join(format!("task/{tid}"))).unwrap();
        for file in ["stat", "status"] {
            let text =
                std::fs::read_to_string(from.join(file)).unwrap().replace("1000", &tid.to_string());
            // The parent moves alone.
            let text = text.replace("Cpus_allowed_list:\t0-1", "Cpus_allowed_list:\t0-3");
            std::fs::write(to.join(file), &text).unwrap();
            std::fs::write(to.join(format!("task/{tid}/{file}")), text).unwrap();
        }
        count.set(count.get() + 1);
        let _ = begun.send(());
        thread::sleep(Duration::from_millis(300));
    };
    access.at_step = Some(("before the journal", Box::new(round)));
    (access, counted)
}

#[test]
fn a_storm_of_forks_does_not_keep_the_lock_from_a_reset() {
    let fake = machine().with_task(1000, 1, "bomb", "0-3", 0);
    let host = fake.host();
    let (begun, has_begun) = mpsc::channel();
    thread::scope(|scope| {
        let setter = scope.spawn(|| {
            let (access, rounds) = storm(&host, begun);
            (set(&host, &access, &only("2-3", &[Switch::Tasks])).unwrap(), rounds.get())
        });
        has_begun.recv().unwrap();
        let reset = reset(&host, &FakeAccess::for_host(&host)).unwrap();
        assert!(reset.was_set && reset.undone.left.is_empty());
        let (done, rounds) = setter.join().unwrap();
        // 2 s, one for the settings, one that had begun.
        assert!((2..=9).contains(&rounds), "{rounds}");
        let contested = done.obstacles.iter().find(|o| o.kind == ObstacleKind::Contested).unwrap();
        assert!(contested.label.contains("(bomb)"), "{}", contested.label);
    });
    assert_eq!((affinity(&fake, 1000), affinity(&fake, 40)), ("0-3".into(), "0-3".into()));
}

#[test]
fn a_signal_ends_the_rounds() {
    let fake = machine().with_task(1000, 1, "bomb", "0-3", 0);
    let (begun, _has_begun) = mpsc::channel();
    let (access, rounds) = storm(&fake.host(), begun);
    let is_stopped = AtomicBool::new(false);
    let stop = || is_stopped.swap(true, Ordering::Relaxed);
    super::super::set(&fake.host(), &access, &only("2-3", &[Switch::Tasks]), &stop).unwrap();
    // One for the settings; asked before the third, if that is still in time.
    assert!((2..=3).contains(&rounds.get()), "{}", rounds.get());
    assert_eq!(affinity(&fake, 40), "0-1", "the shield stands");
}
