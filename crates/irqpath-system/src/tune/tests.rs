// SPDX-License-Identifier: GPL-2.0-or-later
//! Priorities on a machine made of files: set, ranked again, taken back, and death between any
//! two steps of that.

use std::collections::BTreeMap;

use irqpath_model::change::LeftReason;
use irqpath_model::tune::{
    Applied, Association, LiveThread, OrdinaryThread, TuneChange, TunePlan, TunedNow,
};

use super::*;
use crate::testing::{Fake, FakeAccess, die_at_each_step};

const KTHREAD: u64 = 0x0020_0000;

/// Root, an interrupt thread of line 5 at FIFO 50, one of line 6, and a FIFO 80 task.
fn machine() -> Fake {
    Fake::new()
        .with_file("proc/self/uid_map", "0 0 4294967295\n")
        .with_file("proc/sys/kernel/random/boot_id", "one\n")
        .with_task(50, 2, "irq/5-dev", "0-1", KTHREAD)
        .with_task(51, 2, "irq/6-dev", "0-1", KTHREAD)
        .with_task(70, 1, "app", "0-1", 0)
        .with_fixed(50, 50)
        .with_fixed(51, 50)
        .with_fixed(70, 80)
}

/// What people would see with `chrt`.
fn priorities(fake: &Fake) -> Vec<String> {
    fake.host().live_threads().iter().map(|t| format!("{}={}", t.id.tid, t.scheduling)).collect()
}

/// A plan that wants 50 at this priority, or, if it is 0, nothing.
fn wants(priority: u8) -> impl Fn(&[LiveThread], &BTreeMap<TaskId, u8>) -> TunePlan {
    move |threads, held| {
        let find = |tid| threads.iter().find(|t| t.id.tid == tid).cloned();
        let (Some(thread), Some(task)) = (find(50), find(70)) else { return TunePlan::default() };
        let mut plan = TunePlan::default();
        if priority == 0 {
            plan.take_back.extend(held.contains_key(&thread.id).then_some(thread));
        } else if thread.scheduling.priority != priority {
            plan.changes.push(TuneChange { thread, priority, task, why: "why".to_owned() });
        }
        plan
    }
}

/// A plan that wants these threads ordinary, and takes others that are ours back.
fn ordinary(wanted: &[u32]) -> impl Fn(&[LiveThread], &BTreeMap<TaskId, u8>) -> TunePlan {
    move |threads, held| {
        let mut plan = TunePlan::default();
        for thread in threads.iter().filter(|thread| thread.kernel) {
            let is_real_time = thread.scheduling.fixed_priority() > 0;
            match wanted.contains(&thread.id.tid) {
                true if is_real_time => plan
                    .ordinary
                    .push(OrdinaryThread { thread: thread.clone(), why: "why".to_owned() }),
                false if held.contains_key(&thread.id) => plan.take_back.push(thread.clone()),
                _ => {}
            }
        }
        plan
    }
}

fn select(fake: &Fake, access: &FakeAccess, wanted: &[u32]) -> Applied {
    apply_plan(&fake.host(), access, &[], &ordinary(wanted), true).unwrap().1
}

fn run(fake: &Fake, access: &FakeAccess, priority: u8) -> Applied {
    apply_plan(&fake.host(), access, &[], &wants(priority), true).unwrap().1
}

fn journal(fake: &Fake) -> bool {
    fake.host().path("var/lib/irqpath/tune.journal").exists()
}

#[test]
fn set_ranked_again_and_put_back() {
    let fake = machine();
    let (access, before) = (FakeAccess::new(&fake), fake.read_all());
    let applied = run(&fake, &access, 81);
    assert_eq!((applied.changed.len(), applied.changed[0].now.as_str()), (1, "f:81"));
    assert_eq!(priorities(&fake), ["50=f:81", "51=f:50", "70=f:80"]);
    assert!(run(&fake, &access, 81).is_nothing());
    run(&fake, &access, 61);
    let status = status(&fake.host(), &access).unwrap();
    let [one] = &status.threads[..] else { panic!("{status:?}") };
    assert_eq!(
        (one.before.as_str(), one.wanted.as_str(), one.state),
        ("f:50", "f:61", TunedNow::Ours)
    );
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.was_tuned, reset.undone.restored), (true, 1));
    assert_eq!(fake.read_all(), before);
    assert!(!journal(&fake));
    assert!(!super::reset(&fake.host(), &access).unwrap().was_tuned);
}

#[test]
fn what_has_no_reason_any_more_is_taken_back_and_nothing_is_left() {
    let fake = machine();
    let (access, before) = (FakeAccess::new(&fake), fake.read_all());
    run(&fake, &access, 81);
    let applied = run(&fake, &access, 0);
    assert_eq!((applied.taken_back.len(), applied.undone.restored), (1, 1));
    assert_eq!(fake.read_all(), before);
    assert!(!journal(&fake) && run(&fake, &access, 0).is_nothing());
}

#[test]
fn what_an_administrator_set_meanwhile_stays() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    run(&fake, &access, 81);
    let fake = fake.with_fixed(50, 90);
    assert!(run(&fake, &access, 0).is_nothing(), "it is not ours any more");
    assert_eq!(status(&fake.host(), &access).unwrap().threads[0].state, TunedNow::ChangedMeanwhile);
    let reset = reset(&fake.host(), &access).unwrap();
    assert!(
        matches!(&reset.undone.left[..], [l] if matches!(l.reason, LeftReason::ChangedMeanwhile { .. }))
    );
    assert_eq!(priorities(&fake)[0], "50=f:90");
}

#[test]
fn the_reasons_are_kept_and_a_reboot_ends_all() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    let reason = Association {
        origin: irqpath_model::Origin::Irq(5),
        line: "5:dev".into(),
        task: TaskId { tid: 70, start_ticks: 70 },
        comm: "app".into(),
        carriers: vec![],
        nr: 3,
        recent: 3.0,
        share: 1.0,
        confidence: 0.4,
        age_ns: 0,
        established: true,
        pinned: false,
    };
    apply_plan(&fake.host(), &access, std::slice::from_ref(&reason), &wants(81), true).unwrap();
    assert_eq!(known_associations(&fake.host()).unwrap(), [reason]);
    let fake = fake.with_file("proc/sys/kernel/random/boot_id", "two\n").with_fixed(50, 50);
    assert_eq!(known_associations(&fake.host()).unwrap(), []);
    assert_eq!(status(&fake.host(), &access).unwrap().threads, []);
    assert!(!reset(&fake.host(), &access).unwrap().was_tuned);
}

#[test]
fn what_the_kernel_refuses_is_told_once() {
    let fake = machine();
    let access = FakeAccess::new(&fake).with_refusal("scheduling/50", 1);
    let again = |retry| apply_plan(&fake.host(), &access, &[], &wants(81), retry).unwrap().1;
    assert_eq!(again(true).refused[0].errno, 1);
    assert!(again(false).is_nothing());
    assert_eq!(priorities(&fake)[0], "50=f:50");
}

#[test]
fn without_the_right_nothing_is_written() {
    let fake = machine().with_file("proc/self/uid_map", "0 1000 1\n");
    let access = FakeAccess::new(&fake);
    let error = apply_plan(&fake.host(), &access, &[], &wants(81), true).unwrap_err().to_string();
    assert!(error.contains("missing CAP_SYS_NICE"), "{error}");
    assert!(!journal(&fake));
}

/// What `run` does dies at each of its steps; a status and a reset follow.
fn die_and_reset(run: impl Fn(&Fake, &FakeAccess)) -> u32 {
    die_at_each_step(machine, FakeAccess::new, run, |host, access| {
        status(host, access).unwrap();
        reset(host, access).unwrap().undone.left
    })
}

#[test]
fn killed_between_any_two_steps_a_reset_finds_the_host_as_it_was() {
    let deaths = die_and_reset(|fake, dying| {
        run(fake, dying, 81);
        run(fake, dying, 91);
        run(fake, dying, 0);
        run(fake, dying, 61);
    });
    assert!(deaths > 15, "{deaths}");
}

#[test]
fn ordinary_threads_come_back_with_their_exact_policy_and_priority() {
    let fake = machine().with_scheduling(51, irqpath_model::Scheduling::rr(33));
    let (access, before) = (FakeAccess::new(&fake), fake.read_all());
    let applied = select(&fake, &access, &[50, 51]);
    assert_eq!(applied.changed.iter().map(|c| c.now.as_str()).collect::<Vec<_>>(), ["o:0"; 2]);
    assert_eq!(priorities(&fake), ["50=o:0", "51=o:0", "70=f:80"]);
    select(&fake, &access, &[51]);
    assert_eq!(priorities(&fake), ["50=f:50", "51=o:0", "70=f:80"]);
    run(&fake, &access, 81);
    select(&fake, &access, &[50, 51]);
    assert_eq!(priorities(&fake), ["50=o:0", "51=o:0", "70=f:80"]);
    assert_eq!(status(&fake.host(), &access).unwrap().threads.len(), 2);
    assert_eq!(reset(&fake.host(), &access).unwrap().undone.restored, 2);
    assert_eq!(fake.read_all(), before);
}

#[test]
fn an_ordinary_thread_that_is_gone_or_was_made_again_is_no_error() {
    let fake = machine();
    let access = FakeAccess::new(&fake);
    select(&fake, &access, &[50, 51]);
    // The driver was unbound and bound: another thread has the number of one, the other is gone.
    std::fs::remove_dir_all(fake.host().path("proc/51")).unwrap();
    for stat in ["proc/50/stat", "proc/50/task/50/stat"].map(|path| fake.host().path(path)) {
        let text = std::fs::read_to_string(&stat).unwrap();
        let mut words: Vec<&str> = text.split(' ').collect();
        words[21] = "4711";
        std::fs::write(&stat, words.join(" ")).unwrap();
    }
    let fake = fake.with_fixed(50, 50);
    assert!(select(&fake, &access, &[51]).is_nothing());
    assert_eq!(select(&fake, &access, &[50]).changed.len(), 1, "the new one is another thread");
    let reset = reset(&fake.host(), &access).unwrap();
    assert_eq!((reset.undone.restored, reset.undone.gone), (1, 2));
    assert_eq!(priorities(&fake), ["50=f:50", "70=f:80"]);
    assert!(!journal(&fake));
}

#[test]
fn killed_between_any_two_steps_ordinary_threads_are_put_back() {
    let deaths = die_and_reset(|fake, dying| {
        select(fake, dying, &[50, 51]);
        select(fake, dying, &[51]);
        run(fake, dying, 81);
        select(fake, dying, &[50]);
    });
    assert!(deaths > 20, "{deaths}");
}
