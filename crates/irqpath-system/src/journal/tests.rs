// SPDX-License-Identifier: GPL-2.0-or-later
//! Journals that were cut off, damaged, left by another boot, or are held by somebody else; and
//! changes that die between any two steps.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use irqpath_model::change::{Form, LeftReason, Undone, Value};

use super::*;
use crate::change::{Access as _, Step, Verdict, apply_steps, undo_changes};
use crate::testing::{Fake, FakeAccess, Killed};

const JOURNAL: &str = "var/lib/irqpath/test.journal";

fn fake() -> Fake {
    Fake::new()
        .with_file("proc/sys/kernel/random/boot_id", "boot-1\n")
        .with_file("proc/irq/1/smp_affinity", "f\n")
        .with_file("proc/irq/2/smp_affinity", "0000000c\n")
        .with_file("proc/irq/3/smp_affinity", "f\n")
        .with_task(40, 1, "worker", "0-3", 0)
}

fn cpus(text: &str) -> Value {
    Value::Cpus(text.parse().unwrap())
}

fn irq(n: u32) -> Target {
    Target::File { path: format!("proc/irq/{n}/smp_affinity"), form: Form::Mask }
}

fn steps(new: &str) -> Vec<Step> {
    let task = irqpath_model::TaskId { tid: 40, start_ticks: 40 };
    [irq(1), irq(2), irq(3), Target::TaskAffinity { task }]
        .into_iter()
        .map(|target| {
            let label = format!("{target:?}");
            Step { target, label, new: cpus(new), pin: false }
        })
        .collect()
}

fn open(fake: &Fake) -> Journal {
    Journal::open(&fake.host(), "test").unwrap()
}

fn reset(fake: &Fake) -> Undone {
    let mut journal = open(fake);
    let undone = undo_changes(&FakeAccess::new(fake), &mut journal, |_| true).unwrap();
    journal.finish().unwrap();
    assert!(!fake.host().path(JOURNAL).exists());
    undone
}

#[test]
fn what_was_changed_comes_back() {
    let fake = fake();
    let before = fake.read_all();
    let access = FakeAccess::new(&fake).with_refusal("proc/irq/3/smp_affinity", 5);
    let mut journal = open(&fake);
    journal.begin_set(&"wish").unwrap();
    let outcomes = apply_steps(&access, &mut journal, steps("2-3")).unwrap();
    let verdicts: Vec<_> = outcomes.iter().map(|o| &o.verdict).collect();
    assert!(matches!(
        verdicts[..],
        [Verdict::Done, Verdict::Already, Verdict::Refused(r), Verdict::Done]
            if r.errno == 5 && r.reason == "Input/output error"
    ));
    drop(journal);
    let content = peek_journal(&fake.host(), "test").unwrap();
    assert_eq!(content.wanted, Some("wish".into()));
    assert_eq!((content.ledger.held().count(), content.ledger.refused().count()), (2, 1));
    let undone = reset(&fake);
    assert_eq!((undone.restored, undone.left.len()), (2, 0));
    assert_eq!(fake.read_all(), before);
}

#[test]
fn killed_between_any_two_steps_everything_comes_back() {
    let mut deaths = 0;
    for kill_at in 0.. {
        let fake = fake();
        let before = fake.read_all();
        let access = FakeAccess::new(&fake);
        access.steps_left.set(Some(kill_at));
        let run = catch_unwind(AssertUnwindSafe(|| {
            let mut journal = open(&fake);
            journal.begin_set(&"wish").unwrap();
            apply_steps(&access, &mut journal, steps("2-3")).unwrap();
            apply_steps(&access, &mut journal, steps("3")).unwrap();
            undo_changes(&access, &mut journal, |_| true).unwrap();
        }));
        let undone = reset(&fake);
        assert_eq!(undone.left, [], "killed at step {kill_at}");
        assert_eq!(fake.read_all(), before, "killed at step {kill_at}");
        match run {
            Ok(()) => break,
            Err(payload) => assert!(payload.is::<Killed>()),
        }
        deaths += 1;
    }
    assert!(deaths > 20, "{deaths}");
}

#[test]
fn a_journal_cut_off_at_any_byte_is_good_up_to_there() {
    let fake = fake();
    let mut journal = open(&fake);
    journal.begin_set(&"wish").unwrap();
    apply_steps(&FakeAccess::new(&fake), &mut journal, steps("2-3")).unwrap();
    drop(journal);
    let path = fake.host().path(JOURNAL);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let content = peek_journal(&fake.host(), "test").unwrap();
        assert_eq!(content.damaged, [0_usize; 0], "{length}");
        let mut journal = open(&fake);
        let lines = String::from_utf8_lossy(&whole[..length]).matches('\n').count();
        assert_eq!(journal.ledger().held().count(), lines.saturating_sub(1), "{length}");
        journal.begin_set(&"more").unwrap();
        drop(journal);
        assert_eq!(peek_journal(&fake.host(), "test").unwrap().wanted, Some("more".into()));
    }
}

#[test]
fn a_damaged_line_is_named_and_the_others_are_undone() {
    let fake = fake();
    let mut journal = open(&fake);
    journal.begin_set(&"wish").unwrap();
    apply_steps(&FakeAccess::new(&fake), &mut journal, steps("2-3")).unwrap();
    drop(journal);
    let path = fake.host().path(JOURNAL);
    let text = fs::read_to_string(&path).unwrap().replacen("irq/1/", "irq/9/", 1);
    fs::write(&path, text).unwrap();
    assert_eq!(peek_journal(&fake.host(), "test").unwrap().damaged, [2]);
    assert_eq!(reset(&fake).restored, 2);
    assert!(fake.host().path("var/lib/irqpath/test.damaged").exists());
}

#[test]
fn after_a_reboot_nothing_is_held() {
    let fake = fake();
    let mut journal = open(&fake);
    journal.begin_set(&"wish").unwrap();
    apply_steps(&FakeAccess::new(&fake), &mut journal, steps("2-3")).unwrap();
    drop(journal);
    let fake = fake.with_file("proc/sys/kernel/random/boot_id", "boot-2\n");
    let content = peek_journal(&fake.host(), "test").unwrap();
    assert_eq!((content.gone_with_boot, &content.wanted), (3, &None));
    assert!(content.is_empty());
    assert_eq!(reset(&fake).restored, 0);
}

#[test]
fn a_value_that_somebody_else_changed_is_left_and_reported() {
    let fake = fake();
    let access = FakeAccess::new(&fake);
    let mut journal = open(&fake);
    apply_steps(&access, &mut journal, steps("2-3")).unwrap();
    access.write("proc/irq/1/smp_affinity", "1\n").unwrap();
    drop(journal);
    let undone = reset(&fake);
    assert_eq!((undone.restored, undone.left.len()), (2, 1));
    assert_eq!(
        undone.left[0].reason,
        LeftReason::ChangedMeanwhile { found: cpus("0"), ours: cpus("2-3") }
    );
    assert_eq!(access.get_for_test(&irq(1)), Some(cpus("0")));
}

#[test]
fn a_value_repaired_after_somebody_changed_it_returns_to_theirs() {
    let fake = fake();
    let access = FakeAccess::new(&fake);
    let mut journal = open(&fake);
    for somebody in ["f", "7"] {
        apply_steps(&access, &mut journal, steps("2-3")).unwrap();
        access.write("proc/irq/1/smp_affinity", somebody).unwrap();
    }
    apply_steps(&access, &mut journal, steps("2-3")).unwrap();
    drop(journal);
    assert_eq!(reset(&fake).restored, 3);
    assert_eq!(access.get_for_test(&irq(1)), Some(cpus("0-2")));
}

#[test]
fn what_cannot_be_put_back_is_tried_again() {
    let fake = fake();
    let mut journal = open(&fake);
    apply_steps(&FakeAccess::new(&fake), &mut journal, steps("2-3")).unwrap();
    let access = FakeAccess::new(&fake).with_refusal("affinity/40", 22);
    let undone = undo_changes(&access, &mut journal, |_| true).unwrap();
    assert!(undone.is_unfinished());
    assert_eq!(journal.ledger().held().count(), 1);
    drop(journal);
    assert_eq!(reset(&fake).restored, 1);
}

#[test]
fn there_is_one_lock() {
    let fake = fake();
    let journal = open(&fake);
    let path = fake.host().path("run/irqpath");
    let error = Lock::take_within(&path, Duration::from_millis(50)).unwrap_err();
    let want = format!("another irqpath (process {}) is changing", std::process::id());
    assert!(error.to_string().starts_with(&want), "{error}");
    drop(journal);
    Lock::take_within(&path, Duration::ZERO).unwrap();
}

/// Somebody undoes each change of a value, and each is written down again.
#[test]
fn a_journal_that_only_grew_is_read_and_undone() {
    const BYTES: u64 = 100 << 20;
    let fake = fake();
    let path = fake.host().path(JOURNAL);
    apply_steps(&FakeAccess::new(&fake), &mut open(&fake), steps("2-3")).unwrap();
    let mut file = File::options().append(true).open(&path).unwrap();
    let again = |n: usize| Intent {
        target: irq(3),
        label: "x".repeat(1000),
        before: cpus("0-3"),
        new: cpus(["2-3", "3"][n % 2]),
    };
    let some = (0..1000).map(|n| lines::format_line(&Record::Intend(again(n))).unwrap());
    let some = some.collect::<String>();
    while file.metadata().unwrap().len() < BYTES {
        file.write_all(some.as_bytes()).unwrap();
    }
    assert_eq!(peek_journal(&fake.host(), "test").unwrap().ledger.held().count(), 3);
    assert_eq!(reset(&fake).restored, 3);
}

#[test]
fn a_journal_that_would_grow_too_long_is_not_written_and_can_be_undone() {
    let fake = fake();
    let mut journal = open(&fake);
    apply_steps(&FakeAccess::new(&fake), &mut journal, steps("2-3")).unwrap();
    let of_task = |tid: u32| Intent {
        target: Target::TaskAffinity { task: irqpath_model::TaskId { tid, start_ticks: 1 } },
        label: "x".repeat(1 << 20),
        before: cpus("0-3"),
        new: cpus("2-3"),
    };
    let error = (100..140).find_map(|tid| journal.write_intents(&[of_task(tid)]).err());
    let error = error.unwrap().to_string();
    assert!(error.contains("would pass 33554432 bytes"), "{error}");
    let length = fs::metadata(fake.host().path(JOURNAL)).unwrap().len();
    assert!((31 << 20..=32 << 20).contains(&length), "{length}");
    drop(journal);
    let undone = reset(&fake);
    assert_eq!((undone.restored, undone.gone), (3, 31));
}

#[test]
fn a_newer_journal_is_refused_and_kept() {
    let fake = fake();
    let path = fake.host().path(JOURNAL);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let record =
        Record::Begin { version: 9, boot_id: String::new(), at_unix_s: 0, wanted: "x".into() };
    let line = lines::format_line(&record).unwrap();
    fs::write(&path, &line).unwrap();
    let error = Journal::open(&fake.host(), "test").unwrap_err().to_string();
    assert!(error.contains("format 9") && error.contains("reads up to 2"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), line);
}
